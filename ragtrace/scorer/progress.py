"""Show on standard error how far a run is."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ragtrace.scorer.judge_file import JudgeFileSummary
from ragtrace.scorer.tally import Tally


@contextmanager
def showing_calls() -> Iterator[Callable[[Tally], None]]:
    """Yield what redraws the bar from the counts; where nobody watches, nothing is drawn."""
    with _bar() as bar:
        task = bar.add_task("Scoring", total=None)

        def show(tally: Tally) -> None:
            text = f"Scoring, {tally.scored} scored, {tally.unscored.total()} unscored"
            bar.update(task, description=text, completed=tally.finished, total=tally.sampled or None)

        yield show


@contextmanager
def showing_rows() -> Iterator[Callable[[JudgeFileSummary], None]]:
    """Yield what redraws the bar from a file's rows."""
    with _bar() as bar:
        task = bar.add_task("Judging", total=None)

        def show(summary: JudgeFileSummary) -> None:
            bar.update(task, description=f"Judging, {summary.scored} scored", completed=summary.written)

        yield show


def _bar() -> Progress:
    console = Console(file=sys.stderr)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
