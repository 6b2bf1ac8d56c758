"""Notice that a rate has left its baseline, with a stated rate of false alarms however often somebody looks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_BETS: Final = (0.05, 0.1, 0.2, 0.4)
"""Shares of the largest bet that the baseline allows; small ones see small changes, large ones large changes soon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A rate that has left its baseline."""

    began_at: int
    """Index of the call at which the change most likely began."""
    noticed_at: int
    """Index of the call that made it certain enough."""


def detect_rise(
    values: Sequence[float],
    probabilities: Sequence[float] | None = None,
    *,
    baseline: float,
    calls_per_false_alarm: float = 10_000,
) -> Change | None:
    """Return the first moment at which values in 0–1 have risen above their baseline for certain enough.

    The Shiryaev–Roberts e-detector of Shin, Ramdas and Rinaldo (2023), mixed over several bets: as long as the rate is
    at most `baseline`, the mean number of judged calls to an alarm is at least `calls_per_false_alarm`. A baseline
    from few calls is uncertain itself: take the upper end of its interval.

    Args:
        values: Of the judged calls in the order in which the calls were made.
        probabilities: With which each was to be judged; all alike if not given.
        baseline: The rate that is no cause for alarm, above 0 and below 1.
        calls_per_false_alarm: Judged calls that a false alarm may cost, on average.

    Raises:
        ValueError: a value is outside 0–1, or the baseline is not between 0 and 1.
    """
    if not 0 < baseline < 1:
        raise ValueError(f"baseline {baseline!r}: expected a number between 0 and 1")
    weights = _relative_weights(values, probabilities)
    evidence = [0.0] * len(_BETS)
    since_start = [1.0] * len(_BETS)
    started_at = [0] * len(_BETS)
    for index, (value, weight) in enumerate(zip(values, weights, strict=True)):
        if not 0 <= value <= 1:
            raise ValueError(f"value {value!r}: expected a number from 0 to 1")
        for which, bet in enumerate(_BETS):
            factor = 1 + bet / baseline * weight * (value - baseline)
            evidence[which] = (evidence[which] + 1) * factor
            if since_start[which] <= 1:
                since_start[which], started_at[which] = 1.0, index
            since_start[which] *= factor
        if sum(evidence) / len(_BETS) >= calls_per_false_alarm:
            strongest = max(range(len(_BETS)), key=evidence.__getitem__)
            return Change(began_at=started_at[strongest], noticed_at=index)
    return None


def detect_fall(
    values: Sequence[float],
    probabilities: Sequence[float] | None = None,
    *,
    baseline: float,
    calls_per_false_alarm: float = 10_000,
) -> Change | None:
    """Return the first moment at which values in 0–1 have fallen below their baseline; otherwise as `detect_rise`."""
    return detect_rise(
        [1 - value for value in values],
        probabilities,
        baseline=1 - baseline,
        calls_per_false_alarm=calls_per_false_alarm,
    )


def _relative_weights(values: Sequence[float], probabilities: Sequence[float] | None) -> Sequence[float]:
    """Weigh each call by one over its probability, the heaviest by 1: then no bet can lose more than all."""
    if not probabilities:
        return [1.0] * len(values)
    least = min(probabilities)
    return [least / probability for probability in probabilities]
