"""Estimate means and rates of all calls from those that were judged, each weighing one over its probability."""

import math
from collections.abc import Hashable, Sequence
from typing import Final

from ragtrace.stats.estimate import Estimate, quality_of, refused
from ragtrace.stats.quantiles import clopper_pearson, t_quantile
from ragtrace.stats.sample import Sample, sum_up

_MANY: Final = 100
"""Effective calls from which Student's t is trusted for a share."""
_MANY_EVENTS: Final = 20
"""Effective calls that must weigh on either side of a share, too: the mean of few events is skewed."""


def mean(
    values: Sequence[float],
    probabilities: Sequence[float] | None = None,
    *,
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """Return Hájek's mean Σ(f/π) / Σ(1/π) (Hájek 1971) with an interval by size.

    Values in 0–1 have Korn and Graubard's interval (1998) up to 100 effective calls or near 0 and 1, else Student's t.

    Args:
        values: One a judged call, e.g. its faithfulness.
        probabilities: With which each was to be judged, above 0; all alike if not given.
        clusters: What calls are no independent draws of, e.g. their trace ids; each call by itself if not given.
        confidence: Share of such intervals that hold the true mean.
    """
    sample = sum_up(values, [1.0] * len(values), probabilities=probabilities, clusters=clusters)
    return _estimate(sample, confidence=confidence, is_share=all(0 <= value <= 1 for value in values))


def mean_of_any(values: Sequence[float], *, confidence: float = 0.95) -> Estimate:
    """Return the mean of numbers that are no shares, even where all happen to lie in 0–1."""
    sample = sum_up(values, [1.0] * len(values), probabilities=None, clusters=None)
    return _estimate(sample, confidence=confidence, is_share=False)


def ratio(
    numerators: Sequence[float],
    denominators: Sequence[float],
    probabilities: Sequence[float] | None = None,
    *,
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """Return the rate over all sentences, Σ(u/π) / Σ(m/π), with the call as the cluster of its sentences.

    The sentences of an answer are right or wrong together, so an interval that took them for independent draws would
    be up to twice too narrow. Särndal, Swensson and Wretman 1992, 5.6; the interval is that of `mean`.

    Args:
        numerators: Of each judged call, e.g. its unsupported sentences.
        denominators: Of each, e.g. all its sentences; calls with 0 have no part in it.
        probabilities: As in `mean`.
        clusters: Larger ones than calls, e.g. sessions.
        confidence: As in `mean`.
    """
    sample = sum_up(numerators, denominators, probabilities=probabilities, clusters=clusters)
    is_share = all(0 <= above <= below for above, below in zip(numerators, denominators, strict=True))
    return _estimate(sample, confidence=confidence, is_share=is_share)


def _estimate(sample: Sample | None, *, confidence: float, is_share: bool) -> Estimate:
    if sample is None:
        return refused(0, 0.0)
    quality = quality_of(sample.effective_n)
    if quality == "none":
        return refused(sample.n, sample.effective_n)
    is_exact = is_share and not _is_symmetric(sample)
    low, high = _korn_graubard(sample, confidence) if is_exact else _student(sample, confidence)
    return Estimate(
        value=sample.value,
        low=max(0.0, low) if is_share else low,
        high=min(1.0, high) if is_share else high,
        n=sample.n,
        effective_n=sample.effective_n,
        quality=quality,
        method="korn-graubard" if is_exact else "student-t",
    )


def _is_symmetric(sample: Sample) -> bool:
    rarer = min(sample.value, 1 - sample.value)
    return sample.effective_n >= _MANY and sample.effective_n * rarer >= _MANY_EVENTS


def _student(sample: Sample, confidence: float) -> tuple[float, float]:
    reach = t_quantile(confidence, sample.effective_n - 1) * math.sqrt(sample.variance)
    return sample.value - reach, sample.value + reach


def _korn_graubard(sample: Sample, confidence: float) -> tuple[float, float]:
    """Return Clopper and Pearson's interval of as many draws as would have the sample's variance."""
    value = min(1.0, max(0.0, sample.value))
    variance = sample.cautious_variance
    draws = value * (1 - value) / variance if variance else sample.effective_n
    fewer = (t_quantile(confidence, sample.n - 1) / t_quantile(confidence, sample.effective_n - 1)) ** 2
    low, high = clopper_pearson(draws * fewer * value, draws * fewer, confidence=confidence)
    return min(low, value), max(high, value)
