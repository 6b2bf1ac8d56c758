"""Sum a weighted sample up by cluster: the value, how far clusters lie from it, and what they weigh."""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A ratio of weighted totals, linearised: what an interval is made of."""

    value: float
    """Σwu / Σwm over the calls: Hájek's mean where each m is 1."""
    variance: float
    """Of the value, by linearisation over clusters (Särndal, Swensson and Wretman 1992, 5.6 and 5.7)."""
    spread: float
    """Weighted variance of the clusters' own values around the value."""
    n: int
    effective_n: float

    @property
    def cautious_variance(self) -> float:
        """At least what so many independent effective calls would have.

        Where events are few and weights differ, the linearised variance is too small just when the heavy calls
        happen to have none.
        """
        return max(self.variance, self.spread / self.effective_n)


def sum_up(
    numerators: Sequence[float],
    denominators: Sequence[float],
    *,
    probabilities: Sequence[float] | None,
    clusters: Sequence[Hashable] | None,
) -> Sample | None:
    """Return the sample; None where the denominators are all 0.

    Raises:
        ValueError: the sequences differ in length, or a probability is not above 0 and at most 1.
    """
    totals = _cluster_totals(
        numerators,
        denominators,
        weights=_weights(probabilities, len(numerators)),
        clusters=range(len(numerators)) if clusters is None else clusters,
    )
    size = sum(below for _, below in totals)
    if not size:
        return None
    value = sum(above for above, _ in totals) / size
    squares = [(above - value * below) ** 2 for above, below in totals]
    known = len(totals)
    return Sample(
        value=value,
        variance=sum(squares) / size**2 * (known / (known - 1) if known > 1 else 1.0),
        spread=sum(square / below for square, (_, below) in zip(squares, totals, strict=True)) / size,
        n=sum(below > 0 for below in denominators),
        effective_n=size**2 / sum(below**2 for _, below in totals),
    )


def _weights(probabilities: Sequence[float] | None, n: int) -> Sequence[float]:
    if probabilities is None:
        return [1.0] * n
    for probability in probabilities:
        if not 0 < probability <= 1:
            raise ValueError(f"inclusion probability {probability!r}: expected a number above 0 and at most 1")
    return [1 / probability for probability in probabilities]


def _cluster_totals(
    numerators: Sequence[float],
    denominators: Sequence[float],
    *,
    weights: Sequence[float],
    clusters: Sequence[Hashable],
) -> list[tuple[float, float]]:
    """Return the weighted totals of each cluster that has a denominator."""
    above: defaultdict[Hashable, float] = defaultdict(float)
    below: defaultdict[Hashable, float] = defaultdict(float)
    for numerator, denominator, weight, cluster in zip(numerators, denominators, weights, clusters, strict=True):
        above[cluster] += weight * numerator
        below[cluster] += weight * denominator
    return [(above[cluster], size) for cluster, size in below.items() if size > 0]
