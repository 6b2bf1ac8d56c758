"""Turn features into the log-odds that passages support a claim, by the weights in `model.json`."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files

from ragtrace.judge.lexical.features import Comparison

Node = tuple[int, float, int, int] | tuple[float]
"""A split (feature, threshold, child where at most it, child where above) or a leaf (value,)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """Monotone trees for support; weights for conflicts, and for short answers to their question."""

    features: tuple[str, ...]
    """What the trees look at, by index."""
    trees: tuple[tuple[Node, ...], ...]
    conflict_weights: Mapping[str, float]
    """Log-odds that each full conflict takes away."""
    conflict_from: float
    """Weight of conflicts from which support counts no more than `conflict_cap`."""
    conflict_cap: float
    """However well the rest of a claim is supported, it does not outweigh a conflict."""
    answer_weights: Mapping[str, float]
    answer_bias: float
    fingerprint: str
    """Hash of the file."""

    def log_odds(self, comparison: Comparison) -> float:
        """Return the log-odds of support: from the trees and conflicts, or from where a short answer stands."""
        values = comparison.values
        if comparison.is_answer:
            return self.answer_bias + sum(weight * values[name] for name, weight in self.answer_weights.items())
        support = self._support([values[name] for name in self.features])
        conflict = sum(weight * values[name] for name, weight in self.conflict_weights.items())
        return (min(support, self.conflict_cap) if conflict >= self.conflict_from else support) - conflict

    def _support(self, values: Sequence[float]) -> float:
        return sum(_leaf(tree, values) for tree in self.trees)


def _leaf(tree: tuple[Node, ...], values: Sequence[float]) -> float:
    node = tree[0]
    while len(node) == 4:
        feature, threshold, low, high = node
        node = tree[low if values[feature] <= threshold else high]
    return node[0]


def load_model() -> Model:
    """Read the model that ships with the package."""
    content = (files(__package__) / "model.json").read_bytes()
    stored = json.loads(content)
    return Model(
        features=tuple(stored["features"]),
        trees=tuple(tuple(tuple(node) for node in tree) for tree in stored["trees"]),
        conflict_weights=stored["conflicts"]["weights"],
        conflict_from=stored["conflicts"]["from"],
        conflict_cap=stored["conflicts"]["cap"],
        answer_weights=stored["answers"]["weights"],
        answer_bias=stored["answers"]["bias"],
        fingerprint=sha256(content).hexdigest(),
    )


def probability(log_odds: float) -> float:
    """Return the probability of log-odds, without overflow at either end."""
    if log_odds >= 0:
        return 1 / (1 + math.exp(-log_odds))
    return math.exp(log_odds) / (1 + math.exp(log_odds))
