"""Place a judge's threshold where a few dozen labels of people say."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from ragtrace.errors import ConfigError
from ragtrace.stats.agreement import balanced_accuracy

FEWEST_LABELS: Final = 30
"""With fewer, a threshold moves about as much by chance as by what the labels say."""
_PRIOR_LABELS: Final = 20
"""The threshold in use, 0, counts as much as this many labels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """Where support begins, on the scale of log-odds."""

    log_odds: float
    labels: int
    """How many labels placed it."""
    balanced_accuracy: float
    """On these labels, 0–1; on others it is somewhat lower."""
    before: float
    """The same with the threshold at 0."""


def place_threshold(log_odds: Sequence[float], is_supported: Sequence[bool]) -> Threshold:
    """Return the threshold with the best balanced accuracy on the labels, drawn towards 0 where they are few.

    Args:
        log_odds: The judge's log-odds of support, one a label.
        is_supported: What people said.

    Raises:
        ConfigError: fewer than 30 labels, or all of them say the same.
    """
    if len(log_odds) < FEWEST_LABELS:
        raise ConfigError(f"{len(log_odds)} labels: expected at least {FEWEST_LABELS}, better 60, to place a threshold")
    before = _accuracy(log_odds, is_supported, 0.0)
    if before is None:
        raise ConfigError("all labels say the same: a threshold needs both supported and unsupported claims")
    weight = len(log_odds) / (len(log_odds) + _PRIOR_LABELS)
    threshold = round(weight * _best(log_odds, is_supported), 4)
    after = _accuracy(log_odds, is_supported, threshold) or 0.0
    return Threshold(
        log_odds=threshold, labels=len(log_odds), balanced_accuracy=round(after, 4), before=round(before, 4)
    )


def _best(log_odds: Sequence[float], is_supported: Sequence[bool]) -> float:
    """Return the threshold between two values that does best; of equals, the one nearest to 0."""
    marks = sorted({*log_odds, 0.0})
    between = [0.0, *((low + high) / 2 for low, high in pairwise(marks))]
    return max(between, key=lambda mark: (_accuracy(log_odds, is_supported, mark) or 0.0, -abs(mark)))


def _accuracy(log_odds: Sequence[float], is_supported: Sequence[bool], threshold: float) -> float | None:
    return balanced_accuracy([value >= threshold for value in log_odds], is_supported)
