"""Measure how far two judges, two runs of one, or a judge and people agree."""

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import NormalDist, fmean
from typing import Final

_NORMAL: Final = NormalDist()
_FEWEST_PAIRS: Final = 4
"""Fisher's transformation needs more than three pairs."""
_NEARLY_ONE: Final = 1 - 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Correlation:
    """A rank correlation with its uncertainty."""

    rho: float
    """Spearman's, -1–1."""
    low: float
    high: float
    """Ends of the confidence interval, by Bonett and Wright."""
    p: float
    """Probability of a correlation at least this far from 0 if there were none; below 1 − `confidence` exactly where
    the interval leaves out 0."""
    pairs: int

    @property
    def includes_zero(self) -> bool:
        """The pairs are too few to tell the correlation from none."""
        return self.low <= 0 <= self.high


def balanced_accuracy(predicted: Sequence[bool], actual: Sequence[bool]) -> float | None:
    """Return the mean of the shares found among true and among false ones; None where either kind is missing."""
    if len(set(actual)) < 2:
        return None
    pairs = list(zip(predicted, actual, strict=True))
    return fmean(fmean(p == kind for p, a in pairs if a == kind) for kind in (True, False))


def auroc(scores: Sequence[float], actual: Sequence[bool]) -> float | None:
    """Return the probability that a true one scores above a false one, ties half; None where either is missing."""
    positives = sum(actual)
    negatives = len(actual) - positives
    if not positives or not negatives:
        return None
    above = sum(rank for rank, is_true in zip(_ranks(scores), actual, strict=True) if is_true)
    return (above - positives * (positives + 1) / 2) / (positives * negatives)


def spearman(one: Sequence[float], other: Sequence[float], *, confidence: float = 0.95) -> Correlation | None:
    """Return the rank correlation; None with fewer than four pairs, or where one side is all the same."""
    pairs = len(one)
    rho = _pearson(_ranks(one), _ranks(other)) if pairs >= _FEWEST_PAIRS else None
    if rho is None:
        return None
    bounded = max(-_NEARLY_ONE, min(_NEARLY_ONE, rho))
    error = math.sqrt((1 + bounded**2 / 2) / (pairs - 3))
    reach = _NORMAL.inv_cdf((1 + confidence) / 2) * error
    centre = math.atanh(bounded)
    return Correlation(
        rho=rho,
        low=math.tanh(centre - reach),
        high=math.tanh(centre + reach),
        p=math.erfc(abs(centre) / error / math.sqrt(2)),
        pairs=pairs,
    )


def share_of_ties(values: Sequence[Hashable]) -> float:
    """Return the share of rows that have the commonest value; a rank correlation says little where it is large."""
    return Counter(values).most_common(1)[0][1] / len(values) if values else 0.0


def _ranks(values: Sequence[float]) -> list[float]:
    """Return ranks from 1; equal values share the mean of theirs."""
    ranks = [0.0] * len(values)
    first = 1
    for _, group in groupby(sorted(range(len(values)), key=values.__getitem__), key=values.__getitem__):
        members = list(group)
        for member in members:
            ranks[member] = first + (len(members) - 1) / 2
        first += len(members)
    return ranks


def _pearson(one: Sequence[float], other: Sequence[float]) -> float | None:
    mean_one, mean_other = fmean(one), fmean(other)
    spread = math.sqrt(sum((a - mean_one) ** 2 for a in one) * sum((b - mean_other) ** 2 for b in other))
    if not spread:
        return None
    return sum((a - mean_one) * (b - mean_other) for a, b in zip(one, other, strict=True)) / spread
