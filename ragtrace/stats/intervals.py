"""Turn a value and its variance into a confidence interval."""

import math

from ragtrace.stats.quantiles import clopper_pearson, t_quantile

_NOTHING = 1e-20
"""A variance below this is what rounding leaves of none."""


def student(value: float, variance: float, *, effective_n: float, confidence: float) -> tuple[float, float]:
    """Return value ± t·√variance, with one degree of freedom less than effective draws."""
    reach = t_quantile(confidence, effective_n - 1) * math.sqrt(variance)
    return value - reach, value + reach


def korn_graubard(
    value: float, variance: float, *, n: int, effective_n: float, confidence: float
) -> tuple[float, float]:
    """Return Clopper and Pearson's interval of as many draws as would have this variance (Korn and Graubard 1998).

    Fewer draws are taken for the uncertainty of the variance itself: (t of n − 1 / t of effective_n − 1)² times as
    many. Where nothing varied, as many draws as are effective.

    Args:
        value: A share, 0–1.
        variance: Of the share, 0 where all draws were alike.
        n: Draws.
        effective_n: Draws of equal weight that would say as much, at most `n`.
        confidence: Share of such intervals that hold the true share.
    """
    draws = value * (1 - value) / variance if variance > _NOTHING else effective_n
    fewer = (t_quantile(confidence, n - 1) / t_quantile(confidence, effective_n - 1)) ** 2
    return clopper_pearson(draws * fewer * value, draws * fewer, confidence=confidence)


def wilson(value: float, variance: float, *, effective_n: float, confidence: float) -> tuple[float, float]:
    """Return Wilson's interval (1927) of as many draws as would have this variance, with Student's t for the normal.

    Nearer to its confidence than `korn_graubard`, which never covers less, where the variance is above 0.
    """
    t = t_quantile(confidence, effective_n - 1)
    draws = max(1.0, value * (1 - value) / variance) if variance > _NOTHING else effective_n
    narrowing = 1 + t * t / draws
    centre = (value + t * t / (2 * draws)) / narrowing
    reach = t / narrowing * math.sqrt(value * (1 - value) / draws + (t / (2 * draws)) ** 2)
    return max(0.0, centre - reach), min(1.0, centre + reach)
