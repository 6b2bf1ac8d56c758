"""Estimate how far two rates lie apart: of different calls, or of the same calls before and after."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ragtrace.stats.estimate import Estimate, refused
from ragtrace.stats.rates import mean, mean_of_any

_MANY_CHANGES: Final = 20
"""Pairs that must differ before Student's t is trusted for the mean of their differences."""


def difference(a: Estimate, b: Estimate) -> Estimate:
    """Return a − b of two independent samples; none where either has no number.

    The interval is put together from both intervals and keeps their asymmetry (MOVER: Zou and Donner 2008, after
    Newcombe 1998). Both need the same confidence.
    """
    n, effective_n = a.n + b.n, min(a.effective_n, b.effective_n)
    if a.value is None or a.low is None or a.high is None or b.value is None or b.low is None or b.high is None:
        return refused(n, effective_n)
    value = a.value - b.value
    return Estimate(
        value=value,
        low=value - math.hypot(a.value - a.low, b.high - b.value),
        high=value + math.hypot(a.high - a.value, b.value - b.low),
        n=n,
        effective_n=effective_n,
        quality="low" if "low" in (a.quality, b.quality) else "ok",
        method="mover",
    )


def paired_difference(before: Sequence[float], after: Sequence[float], *, confidence: float = 0.95) -> Estimate:
    """Return the mean of after − before over the same calls; both lists in the same order.

    Student's t where at least 20 pairs differ. Where fewer do, and no change is beyond 1, rises and falls are
    estimated as shares and put together as in `difference`: pairs that all agree are no proof that none ever differs.
    """
    changes = [new - old for old, new in zip(before, after, strict=True)]
    is_rare = sum(change != 0 for change in changes) < _MANY_CHANGES
    if not is_rare or any(abs(change) > 1 for change in changes):
        return mean_of_any(changes, confidence=confidence)
    rises = mean([max(0.0, change) for change in changes], confidence=confidence)
    falls = mean([max(0.0, -change) for change in changes], confidence=confidence)
    return replace(difference(rises, falls), n=len(changes))
