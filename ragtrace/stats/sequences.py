"""Confidence sequences: intervals that hold at every moment at once, however often somebody looks."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_MOST_BET: Final = 0.5
"""λ is capped here, so that 1 − λ stays away from 0."""
_FIRST: Final = 100
"""Effective calls from which the asymptotic sequence is used: started at 50, more than 5 % ever missed (7.5 %)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The estimate after so many calls, with bounds that hold for all such moments together."""

    n: int
    """Calls seen so far."""
    value: float
    low: float
    high: float


def strict_sequence(values: Sequence[float], *, confidence: float = 0.95) -> tuple[Bounds, ...]:
    """Return bounds of the mean after each call: exact, for values in 0–1 that all had the same probability.

    The predictable plug-in empirical-Bernstein sequence (Waudby-Smith and Ramdas 2024, Theorem 2), each bound as tight
    as any before it.

    Raises:
        ValueError: a value lies outside 0–1.
    """
    log_term = math.log(2 / (1 - confidence))
    bets = bet_values = penalty = 0.0
    mean, variance = 0.5, 0.25
    sum_values, sum_squares = 0.5, 0.25
    low, high = 0.0, 1.0
    sequence = []
    for n, value in enumerate(values, 1):
        if not 0 <= value <= 1:
            raise ValueError(f"value {value!r}: expected a number from 0 to 1")
        bet = min(_MOST_BET, math.sqrt(2 * log_term / (variance * n * math.log(1 + n))))
        bets += bet
        bet_values += bet * value
        penalty += (value - mean) ** 2 * (-math.log1p(-bet) - bet)
        sum_values += value
        mean = sum_values / (n + 1)
        sum_squares += (value - mean) ** 2
        variance = sum_squares / (n + 1)
        reach = (log_term + penalty) / bets
        centre = bet_values / bets
        low, high = max(low, centre - reach), min(high, centre + reach)
        sequence.append(Bounds(n=n, value=centre, low=low, high=high))
    return tuple(sequence)


def weighted_sequence(
    values: Sequence[float],
    probabilities: Sequence[float],
    *,
    confidence: float = 0.95,
    tightest_at: int = 500,
) -> tuple[Bounds, ...]:
    """Return bounds of Hájek's mean after each call, from the hundredth effective one on.

    The asymptotic sequence (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas 2024, Theorem 2.2) on the linearised
    values; about 1.6 times as wide as an interval that may be looked at once.

    Args:
        values: In the order in which the calls were made.
        probabilities: With which each was to be judged, above 0.
        confidence: Share of sequences that hold the true mean at all moments.
        tightest_at: Effective calls at which the bounds are to be tightest.
    """
    missing = 1 - confidence
    rho2 = (-2 * math.log(missing) + math.log(1 - 2 * math.log(missing))) / tightest_at
    w = wf = ww = wwf = wwff = 0.0
    sequence = []
    for n, (value, probability) in enumerate(zip(values, probabilities, strict=True), 1):
        weight = 1 / probability
        w, wf = w + weight, wf + weight * value
        ww, wwf, wwff = ww + weight**2, wwf + weight**2 * value, wwff + (weight * value) ** 2
        effective = w * w / ww
        if effective < _FIRST:
            continue
        mean = wf / w
        # Of Hájek's mean, Σw²(f − mean)² / (Σw)², in running sums.
        variance = max(0.0, wwff - 2 * mean * wwf + mean**2 * ww) / w**2
        scale = effective * rho2 + 1
        reach = math.sqrt(variance * 2 * scale / (effective * rho2) * math.log(math.sqrt(scale) / missing))
        sequence.append(Bounds(n=n, value=mean, low=mean - reach, high=mean + reach))
    return tuple(sequence)
