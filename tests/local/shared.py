"""Find the material that is shared between checkouts and not part of this repository."""

import os
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]


def shared(relative: str) -> Path:
    """Return a file below `../shared`, or below RAGTRACE_SHARED; skip the test where it is not there."""
    folder = Path(os.environ.get("RAGTRACE_SHARED") or _ROOT.parent / "shared")
    file = folder / relative
    if not file.exists():
        pytest.skip(f"{file} is not there; set RAGTRACE_SHARED to the folder that holds {relative}")
    return file
