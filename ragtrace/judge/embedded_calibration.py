"""Keep where a team's own labels placed the embedded judge's threshold, in a small JSON file."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from ragtrace import files
from ragtrace.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Where support begins, found from labels of people."""

    judge: str
    """Name of the judge that the labels were held against."""
    weights: str
    """Fingerprint of that judge without a calibration; the threshold of other weights says nothing."""
    log_odds: float
    """From here on a claim counts as supported; 0 is where the judge ships."""
    labels: int
    balanced_accuracy: float
    """On these labels, 0–1; on others it is somewhat lower."""
    before: float
    """The same at the shipped threshold."""


def save_calibration(calibration: Calibration, path: Path) -> None:
    """Write the file that the setting `judge_calibration` names.

    Raises:
        ConfigError: it cannot be written.
    """
    files.write_text(path, json.dumps(asdict(calibration), indent=2) + "\n", named=str(path))


def load_calibration(path: Path) -> Calibration:
    """Read a file that `ragtrace calibrate` wrote.

    Raises:
        ConfigError: there is no such file, or it is something else.
    """
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        calibration = Calibration(**stored)
        return Calibration(**(asdict(calibration) | {"log_odds": float(calibration.log_odds)}))
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such file; `ragtrace calibrate` makes one") from None
    except (OSError, TypeError, ValueError) as exc:
        raise ConfigError(f"{path}: not a calibration ({exc}); `ragtrace calibrate` makes one") from None
