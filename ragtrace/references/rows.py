"""Keep references in a file of JSON lines that people can read, mend and put under version control."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ragtrace import files
from ragtrace.errors import ConfigError
from ragtrace.extract import json_text
from ragtrace.model import JsonValue

_QUESTION = ("question", "user_input", "query", "input")
_ANSWER = ("answer", "reference", "ground_truth", "expected_output", "expectedOutput", "output")
_MOST_PROBLEMS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceRow:
    """A known good answer to a question."""

    question: str
    answer: str
    source: str
    """Where it came from: `dataset:NAME` or `file:NAME`. Syncing a source again replaces its rows."""
    trace_id: str | None = None
    """The trace that the question was asked in, where it came from production."""
    fits: bool | None = None
    """Whether a judge says that the answer answers the question; None: not checked."""
    why: str | None = None
    """What the judge says where it does not."""
    other: Mapping[str, JsonValue] = field(default_factory=dict)
    """Further columns, kept as they are."""

    def as_json(self) -> dict[str, JsonValue]:
        """Return the row as its line has it."""
        told: dict[str, JsonValue] = {
            "question": self.question,
            "answer": self.answer,
            "source": self.source,
            "trace_id": self.trace_id,
            "fits": self.fits,
            "why": self.why,
        }
        return {key: value for key, value in {**self.other, **told}.items() if value is not None}


def read_row(found: Mapping[str, JsonValue], source: str) -> ReferenceRow | None:
    """Return the row of an object, whatever it calls question and answer; None where it lacks one of them."""
    question, asked = _first(found, _QUESTION)
    answer, answered = _first(found, _ANSWER)
    if question is None or answer is None:
        return None
    fits = found.get("fits")
    own = {asked, answered, "source", "trace_id", "fits", "why"}
    return ReferenceRow(
        question=question,
        answer=answer,
        source=json_text.as_text(found.get("source")) or source,
        trace_id=json_text.as_text(found.get("trace_id")),
        fits=fits if isinstance(fits, bool) else None,
        why=json_text.as_text(found.get("why")),
        other={key: value for key, value in found.items() if key not in own},
    )


def read_file(path: Path, *, source: str | None = None) -> tuple[ReferenceRow, ...]:
    """Read JSON lines, or CSV with a head line where the name ends with `.csv`.

    Args:
        path: The file.
        source: What rows are said to come from that do not say it themselves; None: the file.

    Raises:
        ConfigError: it cannot be read, or lines are wrong; the first five are named.
    """
    text = files.read_text(path, expected="a file of JSON lines, or a .csv with a head")
    rows: list[ReferenceRow] = []
    problems: list[str] = []
    for number, found in _objects(text, is_csv=path.suffix.lower() == ".csv"):
        row = read_row(found, source or f"file:{path.name}") if isinstance(found, Mapping) else None
        if row is not None:
            rows.append(row)
        else:
            lacking = found if isinstance(found, str) else "expected an object with `question` and `answer`"
            problems.append(f"{path}:{number}: {lacking}")
    if problems:
        more = f"; and {len(problems) - _MOST_PROBLEMS} more" if len(problems) > _MOST_PROBLEMS else ""
        raise ConfigError("; ".join(problems[:_MOST_PROBLEMS]) + more)
    return tuple(rows)


def write_file(path: Path, rows: Iterable[ReferenceRow]) -> None:
    """Write the rows, whole or not at all.

    Raises:
        ConfigError: there is no writing to `path`.
    """
    lines = [json.dumps(row.as_json(), ensure_ascii=False, allow_nan=False) + "\n" for row in rows]
    files.write_text(path, "".join(lines), named=f"RAGTRACE_REFERENCES_FILE={path}")


def replace_source(path: Path, source: str, rows: Sequence[ReferenceRow]) -> int:
    """Put rows in place of those that came from the same source, and return how many are in the file now.

    What a judge found out about a row that did not change is kept.

    Raises:
        ConfigError: the file cannot be read or written.
    """
    kept = read_file(path) if path.exists() else ()
    checked = {(row.question, row.answer): row for row in kept if row.fits is not None}
    others = [row for row in kept if row.source != source]
    fresh = [_with_check(row, checked.get((row.question, row.answer))) for row in rows]
    write_file(path, [*others, *fresh])
    return len(others) + len(fresh)


def update(path: Path, change: Callable[[ReferenceRow], ReferenceRow]) -> None:
    """Change every row of the file."""
    write_file(path, [change(row) for row in read_file(path)])


def _with_check(row: ReferenceRow, known: ReferenceRow | None) -> ReferenceRow:
    if known is None or row.fits is not None:
        return row
    return ReferenceRow(
        question=row.question,
        answer=row.answer,
        source=row.source,
        trace_id=row.trace_id,
        fits=known.fits,
        why=known.why,
        other=row.other,
    )


def _objects(text: str, *, is_csv: bool) -> Iterator[tuple[int, object]]:
    """Yield line numbers and objects; a text in place of an object says what is wrong."""
    if is_csv:
        reader = files.table(text)
        for row in reader:
            yield reader.line_num, {key: value for key, value in row.items() if isinstance(key, str) and value}
        return
    for number, line in files.lines(text):
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as exc:
            yield number, f"not JSON ({exc})"
        else:
            yield number, json_text.clean_object(found) if isinstance(found, dict) else found


def _first(found: Mapping[str, JsonValue], names: Sequence[str]) -> tuple[str | None, str | None]:
    """Return the first text of some keys, and its key; one level down where the key holds an object."""
    for name in names:
        value = found.get(name)
        if isinstance(value, str) and value.strip():
            return value, name
        if isinstance(value, Mapping):
            inner, _ = _first(value, names)
            if inner is not None:
                return inner, name
    return None, None
