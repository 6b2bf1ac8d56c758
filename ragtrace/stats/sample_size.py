"""How many calls to judge for a number that is sharp enough."""

import math
from statistics import NormalDist
from typing import Final

from ragtrace.errors import ConfigError
from ragtrace.stats.quantiles import clopper_pearson, normal_quantile
from ragtrace.stats.rates import MANY_CALLS, MANY_EVENTS

_NORMAL: Final = NormalDist()


def calls_for_rate(rate: float, halfwidth: float, *, confidence: float = 0.95, design_effect: float = 1.0) -> int:
    """Return how many calls to judge so that the interval of a rate reaches about `halfwidth` to each side.

    z² p(1 − p) / h² (Cochran 1977, 4.4), or as many as Clopper and Pearson's interval needs where events are few, since
    `mean` uses it there.

    Args:
        rate: As expected, between 0 and 1; 0.5 asks for most.
        halfwidth: Half the width of the interval.
        confidence: Of the interval.
        design_effect: How many times as many calls unequal weights or repeated questions ask for: 1 + (m − 1)ρ.

    Raises:
        ConfigError: the rate, the half-width or the confidence is not between 0 and 1.
    """
    for name, number in (("rate", rate), ("halfwidth", halfwidth), ("confidence", confidence)):
        if not 0 < number < 1:
            raise ConfigError(f"{name} {number!r}: expected a number between 0 and 1")
    calls = math.ceil(normal_quantile(confidence) ** 2 * rate * (1 - rate) / halfwidth**2)
    if calls < MANY_CALLS or calls * min(rate, 1 - rate) < MANY_EVENTS:
        calls = _exact(rate, halfwidth, confidence=confidence)
    return math.ceil(calls * design_effect)


def calls_for_change(rate: float, other: float, *, confidence: float = 0.95, power: float = 0.8) -> int:
    """Return how many calls to judge in each of two windows to tell one rate from another (Fleiss 1981, 3.2).

    Args:
        rate: Before, between 0 and 1.
        other: After; not the same.
        confidence: One less the probability of finding a change where there is none.
        power: Probability of finding it.

    Raises:
        ConfigError: the rates are the same, or not between 0 and 1.
    """
    if not (0 < rate < 1 and 0 < other < 1 and rate != other):
        raise ConfigError(f"rates {rate!r} and {other!r}: expected two different numbers between 0 and 1")
    pooled = (rate + other) / 2
    by_chance = normal_quantile(confidence) * math.sqrt(2 * pooled * (1 - pooled))
    by_change = _NORMAL.inv_cdf(power) * math.sqrt(rate * (1 - rate) + other * (1 - other))
    return math.ceil(((by_chance + by_change) / (rate - other)) ** 2)


def _exact(rate: float, halfwidth: float, *, confidence: float) -> int:
    """Return the fewest calls for which Clopper and Pearson's interval is narrow enough, by bisection."""
    low, high = 1, 2
    while _halfwidth(rate, high, confidence) > halfwidth:
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _halfwidth(rate, middle, confidence) > halfwidth else (low, middle)
    return high


def _halfwidth(rate: float, calls: int, confidence: float) -> float:
    low, high = clopper_pearson(rate * calls, calls, confidence=confidence)
    return (high - low) / 2
