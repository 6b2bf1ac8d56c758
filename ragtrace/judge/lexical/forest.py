"""Sum monotone decision trees: from features to the log-odds that a claim is supported."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

Node = tuple[int, float, int, int] | tuple[float]
"""A split (feature, threshold, child where at most it, child where above) or a leaf (value,)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forest:
    """Trees over named features."""

    features: tuple[str, ...]
    trees: tuple[tuple[Node, ...], ...]

    def log_odds(self, values: Sequence[float]) -> float:
        """Return the sum over all trees for values in the order of `features`."""
        return sum(_leaf(tree, values) for tree in self.trees)


def _leaf(tree: tuple[Node, ...], values: Sequence[float]) -> float:
    node = tree[0]
    while len(node) == 4:
        feature, threshold, low, high = node
        node = tree[low if values[feature] <= threshold else high]
    return node[0]


def load_forest(name: str) -> tuple[Forest, bytes]:
    """Return a forest shipped with the package and the bytes it was read from, for a fingerprint."""
    content = (files(__package__) / name).read_bytes()
    stored = json.loads(content)
    trees = tuple(tuple(tuple(node) for node in tree) for tree in stored["trees"])
    return Forest(features=tuple(stored["features"]), trees=trees), content


def probability(log_odds: float) -> float:
    """Return the probability of log-odds, exact at both ends."""
    if log_odds >= 0:
        return 1 / (1 + math.exp(-log_odds))
    return math.exp(log_odds) / (1 + math.exp(log_odds))
