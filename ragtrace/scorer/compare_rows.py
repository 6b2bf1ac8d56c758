"""Read one side of a comparison from a file: JSON lines of `ragtrace judge`, or a table with a column a metric."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ragtrace import files
from ragtrace.errors import ConfigError
from ragtrace.extract import json_text
from ragtrace.model import JsonValue
from ragtrace.text import normalise

KIND: Final = "kind"
_WORDS: Final = frozenset({"id", "question", KIND, "trace_id", "lang", "language"})
"""Columns that are no metrics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One judged answer."""

    values: Mapping[str, float] = field(default_factory=dict)
    """Numbers by metric; a metric that has none is left out."""
    item: str | None = None
    """The row of a data set that was answered: the same id on both sides is the same question."""
    question: str | None = None
    """Normalised, so that the same question is the same text."""
    kind: str | None = None
    """What kind of question it is: simple, multi-hop, negation, …"""
    probability: float = 1.0
    """With which this answer was judged at all."""
    cluster: str | None = None
    """What it is no independent draw of: its trace."""


def read_file(path: Path) -> list[Sample]:
    """Read the rows of a file whose name ends in `.csv`, else of JSON lines.

    Raises:
        ConfigError: the file cannot be read, holds no row, or a row is not in one of the formats.
    """
    text = files.read_text(path, expected="a file of `ragtrace judge`, or a CSV")
    read = _read_table if path.suffix.lower() == ".csv" else _read_lines
    samples = list(read(text, path))
    if not samples:
        raise ConfigError(f"{path}: holds no row: name a file of `ragtrace judge`, or a CSV with a line of names")
    return samples


def _read_lines(text: str, path: Path) -> Iterator[Sample]:
    return (_of_output(line, f"{path}:{number}") for number, line in files.lines(text))


def _of_output(line: str, place: str) -> Sample:
    row = files.parse_object(line, place)
    scores = row.get("scores")
    if not isinstance(scores, dict):
        raise ConfigError(f"{place}: `scores` is missing: expected a line that `ragtrace judge` wrote")
    return _sample(row, {name: _number(score) for name, score in scores.items()})


def _read_table(text: str, path: Path) -> Iterator[Sample]:
    reader = files.table(text)
    for row in reader:
        place = f"{path}:{reader.line_num}"
        if None in row or None in row.values():
            raise ConfigError(f"{place}: {len(reader.fieldnames or ())} columns expected, as the first line has names")
        metrics = {name: cell for name, cell in row.items() if name not in _WORDS}
        yield _sample(row, {name: _cell(cell, f"{place}: {name}") for name, cell in metrics.items()})


def _cell(text: str, place: str) -> float | None:
    if not text.strip():
        return None
    try:
        return float(text)
    except ValueError:
        raise ConfigError(f"{place} is {text!r}: expected a number, or nothing where there is none") from None


def _number(score: JsonValue) -> float | None:
    """Return the number of a score as `ragtrace judge` writes it, or of a plain one."""
    return json_text.as_number(score.get("value") if isinstance(score, dict) else score)


def _sample(row: Mapping[str, JsonValue], numbers: Mapping[str, float | None]) -> Sample:
    question = json_text.as_text(row.get("question"))
    return Sample(
        values={name: number for name, number in numbers.items() if number is not None and math.isfinite(number)},
        item=json_text.as_text(row.get("id")) or None,
        question=normalise(question) if question else None,
        kind=json_text.as_text(row.get(KIND)) or None,
    )
