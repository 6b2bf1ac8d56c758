"""Krippendorff's alpha with its interval: agreement beyond what chance would bring."""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Generic, TypeVar

from ragtrace.stats.intervals import korn_graubard

_Rating = TypeVar("_Rating")


@dataclass(frozen=True, slots=True, kw_only=True)
class Alpha:
    """Krippendorff's alpha (2004): 1 is full agreement, 0 what chance would bring."""

    value: float
    low: float
    high: float
    """Ends of the interval; covers what it says from about 50 units on (clusters, where there are any)."""
    units: int
    """Units with at least two ratings."""


def alpha_of_categories(
    units: Sequence[Sequence[Hashable]], clusters: Sequence[Hashable] | None = None, *, confidence: float = 0.95
) -> Alpha | None:
    """Return alpha of categories; None with ratings of fewer than two clusters, or where all are the same.

    Args:
        units: Ratings of each unit; units with one rating have no part in it.
        clusters: What each unit is no independent draw of, e.g. the call of a sentence; each by itself if not given.
        confidence: Share of such intervals that hold the true alpha.
    """
    paired = _by_cluster(units, clusters)
    counts = Counter(value for cluster in paired for unit in cluster for value in unit)
    total = counts.total()
    return _estimate(
        paired,
        _Measure(
            within=lambda values: len(values) ** 2 - sum(count**2 for count in Counter(values).values()),
            to_all=lambda value: total - counts[value],
        ),
        confidence=confidence,
    )


def alpha_of_numbers(
    units: Sequence[Sequence[float]], clusters: Sequence[Hashable] | None = None, *, confidence: float = 0.95
) -> Alpha | None:
    """Return alpha of numbers by their squared difference; otherwise as `alpha_of_categories`."""
    paired = _by_cluster(units, clusters)
    every = [value for cluster in paired for unit in cluster for value in unit]
    # Alpha does not depend on the scale; the interval wants disagreements of at most 1.
    scale = (max(every, default=0.0) - min(every, default=0.0)) ** 2 or 1.0
    mean = fmean(every) if every else 0.0
    squares = sum((value - mean) ** 2 for value in every)
    return _estimate(
        paired,
        _Measure(
            within=lambda values: _squared_differences(values) / scale,
            to_all=lambda value: (len(every) * (value - mean) ** 2 + squares) / scale,
        ),
        confidence=confidence,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measure(Generic[_Rating]):
    """How far ratings differ, 0–1 a pair."""

    within: Callable[[Sequence[_Rating]], float]
    """Sum over the ordered pairs of some values."""
    to_all: Callable[[_Rating], float]
    """Sum over a value's pairs with all values."""


def _by_cluster(
    units: Sequence[Sequence[_Rating]], clusters: Sequence[Hashable] | None
) -> list[list[Sequence[_Rating]]]:
    paired: defaultdict[Hashable, list[Sequence[_Rating]]] = defaultdict(list)
    for unit, cluster in zip(units, range(len(units)) if clusters is None else clusters, strict=True):
        if len(unit) > 1:
            paired[cluster].append(unit)
    return list(paired.values())


def _squared_differences(values: Sequence[float]) -> float:
    mean = fmean(values)
    return 2 * len(values) * sum((value - mean) ** 2 for value in values)


def _estimate(
    clusters: Sequence[Sequence[Sequence[_Rating]]], measure: _Measure[_Rating], *, confidence: float
) -> Alpha | None:
    """Compare disagreement within units with that among all values.

    The interval is Korn and Graubard's of the observed disagreement, which lies in 0–1, with the jackknife's variance
    over clusters of its ratio to the expected one. It has a width even where no unit disagrees, which the usual
    bootstrap (Zapf, Castell, Morawietz and Karch 2016) has not.
    """
    values = [[value for unit in cluster for value in unit] for cluster in clusters]
    n = sum(map(len, values))
    to_all = [sum(map(measure.to_all, cluster)) for cluster in values]
    among = sum(to_all)
    if len(clusters) < 2 or not among:
        return None
    inside = [sum(measure.within(unit) / (len(unit) - 1) for unit in cluster) for cluster in clusters]
    within = sum(inside)
    observed, expected = within / n, among / (n * (n - 1))
    without = [
        _ratio(within - own, among - 2 * shared + measure.within(cluster), n=n - len(cluster))
        for cluster, own, shared in zip(values, inside, to_all, strict=True)
    ]
    centre = fmean(without)
    variance = sum((ratio - centre) ** 2 for ratio in without) * (len(clusters) - 1) / len(clusters)
    low, high = korn_graubard(
        observed,
        variance * expected**2 if observed else 0.0,
        n=len(clusters),
        effective_n=len(clusters),
        confidence=confidence,
    )
    return Alpha(
        value=1 - observed / expected,
        low=max(-1.0, 1 - high / expected),
        high=1 - low / expected,
        units=sum(map(len, clusters)),
    )


def _ratio(within: float, among: float, *, n: int) -> float:
    """Return observed over expected disagreement; 0 where none was to be expected."""
    return within * (n - 1) / among if among > 0 else 0.0
