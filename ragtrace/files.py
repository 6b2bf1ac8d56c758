"""Read and write whole text files that people name; what is wrong with one is a line that names it."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

from ragtrace.errors import ConfigError
from ragtrace.model import JsonValue


def read_text(path: Path, *, expected: str) -> str:
    """Return what a file holds.

    Args:
        path: The file.
        expected: What kind of file to name instead.

    Raises:
        ConfigError: it cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigError(f"{path}: cannot be read ({exc}): name {expected}") from None


def lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of JSON lines that are not blank, and their numbers from 1."""
    # Not str.splitlines: it ends lines at U+2028 and the like, which JSON texts hold as they are.
    return ((number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip())


def parse_object(line: str, place: str) -> dict[str, JsonValue]:
    """Return the object of a line; an empty one where the line holds another value.

    Raises:
        ConfigError: it is no JSON.
    """
    try:
        value: JsonValue = json.loads(line)
    except (ValueError, RecursionError) as exc:
        raise ConfigError(f"{place}: not JSON ({exc}): write one JSON object a line") from None
    return value if isinstance(value, dict) else {}


def table(text: str) -> "csv.DictReader[str]":
    """Return the rows of a CSV by the names in its first line; cells keep their line breaks."""
    return csv.DictReader(io.StringIO(text, newline=""))


def write_text(path: Path, text: str, *, named: str) -> None:
    """Write a file, whole or not at all; a link or a device is written through.

    Args:
        path: The file; its folder is made.
        text: What it is to hold.
        named: The option or variable and its value, for the error.

    Raises:
        ConfigError: there is no writing to it.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_symlink() or (path.exists() and not path.is_file()):
            # A file that took the place of a device or a link would break what others use it for.
            _write(path, text)
            return
        draft = path.with_name(path.name + ".part")
        _write(draft, text)
        draft.replace(path)
    except OSError as exc:
        raise ConfigError(f"{named}: cannot be written ({exc.strerror}): name another file") from None


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="")
