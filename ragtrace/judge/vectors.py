"""Arithmetic of embedding vectors."""

import math
from collections.abc import Sequence
from operator import mul


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the cosine of the angle between two vectors of one length, -1 to 1; 0 where one of them is zero."""
    length = math.hypot(*one) * math.hypot(*other)
    return sum(map(mul, one, other)) / length if length else 0.0
