"""What `ragtrace calibrate` does: labels of people in, the embedded judge's threshold out."""

import math
from pathlib import Path
from typing import Final

from ragtrace.errors import ConfigError
from ragtrace.judge.embedded import EmbeddedJudge
from ragtrace.judge.embedded_calibration import Calibration, save_calibration
from ragtrace.scorer.labels import judge_labels, read_labels
from ragtrace.stats.threshold import place_threshold

_NEARLY_SURE: Final = 1e-6
"""Probabilities are kept this far from 0 and 1, so that they have log-odds."""


async def run_calibrate(labels: Path, out: Path) -> Calibration:
    """Place the threshold by the labels of a file, and write it to another.

    Raises:
        ConfigError: a file cannot be read or written, or the labels are too few or all the same.
    """
    judge = EmbeddedJudge()
    judged = await judge_labels(judge, read_labels(labels), concurrency=1)
    known = [(one.support, one.label.is_supported) for one in judged if one.support is not None]
    if not known:
        raise ConfigError(f"{labels}: no claim that could be judged: see docs/agreement.md for the format")
    placed = place_threshold([_log_odds(support) for support, _ in known], [label for _, label in known])
    calibration = Calibration(
        judge=judge.model,
        weights=judge.fingerprint,
        log_odds=placed.log_odds,
        labels=placed.labels,
        balanced_accuracy=placed.balanced_accuracy,
        before=placed.before,
    )
    save_calibration(calibration, out)
    return calibration


def _log_odds(probability: float) -> float:
    bounded = min(1 - _NEARLY_SURE, max(_NEARLY_SURE, probability))
    return math.log(bounded / (1 - bounded))
