"""Estimate means and rates of all calls from those that were judged, each weighing one over its probability."""

from collections.abc import Hashable, Sequence
from typing import Final

from ragtrace.stats.estimate import Estimate, quality_of, refused
from ragtrace.stats.intervals import korn_graubard, student
from ragtrace.stats.sample import Sample, sum_up

MANY_CALLS: Final = 100
"""Effective calls from which Student's t is trusted for a share."""
MANY_EVENTS: Final = 20
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
    is_exact = is_share and not _is_symmetric(sample.value, sample.effective_n)
    low, high = (
        korn_graubard(
            min(1.0, sample.value),
            sample.cautious_variance,
            n=sample.n,
            effective_n=sample.effective_n,
            confidence=confidence,
        )
        if is_exact
        else student(sample.value, sample.variance, effective_n=sample.effective_n, confidence=confidence)
    )
    return Estimate(
        value=sample.value,
        low=low,
        high=high,
        n=sample.n,
        effective_n=sample.effective_n,
        quality=quality,
        method="korn-graubard" if is_exact else "student-t",
    )


def _is_symmetric(share: float, effective_n: float) -> bool:
    """Say whether a share is far enough from 0 and 1 for Student's t, given so many effective calls."""
    return effective_n >= MANY_CALLS and effective_n * min(share, 1 - share) >= MANY_EVENTS
