"""What `ragtrace judge` does: rows from a file in, one line of JSON a row out."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, TextIO

from ragtrace.errors import ConfigError
from ragtrace.judge import make_judge
from ragtrace.model import RagCall
from ragtrace.scorer.judging import choose_metrics, closing_judge
from ragtrace.scorer.offline import JsonObject, judge_rows
from ragtrace.scorer.rows import BadRow, parse_line
from ragtrace.semconv import OUTCOME_SCORED, RAG_OUTCOME
from ragtrace.settings import Settings

STANDARD = "-"
"""Stands for standard input or output."""


@dataclass(slots=True, kw_only=True)
class JudgeFileSummary:
    """What became of the rows."""

    rows: int = 0
    written: int = 0
    scored: int = 0
    bad: list[BadRow] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """0 where some row was judged, 1 where none could be, 2 where no row could be read."""
        if self.rows == len(self.bad):
            return 2
        return 0 if self.scored else 1

    def as_text(self) -> str:
        """Return one line for people."""
        unscored = self.written - self.scored - len(self.bad)
        return f"{self.rows} rows: {self.scored} scored, {unscored} unscored, {len(self.bad)} not readable."


async def run_judge_file(
    settings: Settings,
    source: str,
    *,
    out: str = STANDARD,
    metric_names: Sequence[str] | None = None,
    on_row: Callable[[JudgeFileSummary], None] = lambda summary: None,
) -> JudgeFileSummary:
    """Judge the rows of a file; a row that cannot be read does not stop the others.

    Raises:
        ConfigError: a setting is wrong, or a file cannot be opened; nothing was written.
    """
    if STANDARD not in (source, out) and Path(out).exists() and Path(source).exists() and Path(out).samefile(source):
        raise ConfigError(f"--out {out}: the file to be judged: name another file")
    choice = choose_metrics(settings, metric_names)
    summary = JudgeFileSummary()
    async with closing_judge(make_judge(settings, metrics=choice.names)) as judge:
        with _reading(source) as lines, _writing(out) as target:

            def write(output: JsonObject) -> None:
                target.write(json.dumps(output, ensure_ascii=False) + "\n")
                summary.written += 1
                summary.scored += _is_scored(output)
                on_row(summary)

            rows = _noting(_rows(lines), summary)
            await judge_rows(rows, judge, choice=choice, concurrency=settings.concurrency, write=write)
    return summary


def _rows(lines: BinaryIO) -> Iterator[RagCall | BadRow]:
    for number, line in enumerate(lines, start=1):
        try:
            text = line.decode("utf-8-sig").strip()
        except UnicodeDecodeError as exc:
            yield BadRow(number=number, problem=f"not UTF-8 ({exc.reason} at byte {exc.start}): convert the file")
            continue
        if text:
            yield parse_line(text, number)


def _noting(rows: Iterator[RagCall | BadRow], summary: JudgeFileSummary) -> Iterator[RagCall | BadRow]:
    for row in rows:
        summary.rows += 1
        if isinstance(row, BadRow):
            summary.bad.append(row)
        yield row


def _is_scored(output: JsonObject) -> bool:
    scores = output["scores"]
    outcome = scores.get(RAG_OUTCOME) if isinstance(scores, dict) else None
    return isinstance(outcome, dict) and outcome["value"] == OUTCOME_SCORED


@contextmanager
def _reading(source: str) -> Iterator[BinaryIO]:
    if source == STANDARD:
        yield sys.stdin.buffer
        return
    with ExitStack() as stack:
        try:
            file = stack.enter_context(Path(source).open("rb"))
        except OSError as exc:
            raise ConfigError(f"{source}: cannot be read ({exc.strerror}): name a file of JSON lines") from exc
        yield file


@contextmanager
def _writing(out: str) -> Iterator[TextIO]:
    if out == STANDARD:
        yield sys.stdout
        return
    with ExitStack() as stack:
        try:
            file = stack.enter_context(Path(out).open("w", encoding="utf-8"))
        except OSError as exc:
            raise ConfigError(f"--out {out}: cannot be written ({exc.strerror}): name another file") from exc
        yield file
