"""What `ragtrace report` does between its arguments and its output."""

import json
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from ragtrace import files
from ragtrace.langfuse import open_langfuse
from ragtrace.metrics.diagnosis import all_thresholds
from ragtrace.report import terminal, words
from ragtrace.report.as_csv import to_csv
from ragtrace.report.as_json import to_json
from ragtrace.report.collect import Window, collect
from ragtrace.report.content import Report
from ragtrace.report.html import render_page
from ragtrace.settings import Settings

_SHOWN_IN_TERMINAL = 3


async def read_report(settings: Settings, window: Window) -> Report:
    """Return the report on a window of the project that the settings name.

    Raises:
        ConfigError: Langfuse is not named.
        BackendError: it could not be read.
    """
    async with open_langfuse(settings) as api:
        return await collect(api, window, made_at=datetime.now(UTC), thresholds=all_thresholds(settings.thresholds))


def write_page(report: Report, path: Path) -> None:
    """Write the page, whole or not at all.

    Raises:
        ConfigError: there is no writing to `path`.
    """
    files.write_text(path, render_page(report), named=f"--html {path}")


def write_table(report: Report, path: Path) -> None:
    """Write the numbers as CSV, whole or not at all.

    Raises:
        ConfigError: there is no writing to `path`.
    """
    files.write_text(path, to_csv(report), named=f"--csv {path}")


def print_report(report: Report, console: Console) -> None:
    """Print rates, causes, advice and the three worst answers."""
    console.print(terminal.render_rates(report), "")
    console.print(terminal.render_causes(report), "")
    if report.corrected:
        console.print(terminal.render_corrected(report), "")
    if report.compared_since:
        console.print(words.compared(report), style="dim", highlight=False, soft_wrap=True)
    if report.changes:
        console.print(terminal.render_changes(report), "")
    if report.segments:
        console.print(terminal.render_segments(report), "")
    if report.advice:
        console.print(terminal.render_advice(report), "")
    console.print(terminal.render_calls(report.shown[:_SHOWN_IN_TERMINAL]), soft_wrap=True)
    for sentence in (*report.obtained, words.loss(report.delivery_loss), words.cost(report.cost)):
        console.print(sentence, style="dim", highlight=False, soft_wrap=True)


def as_line(report: Report) -> str:
    """Return the report as one line of JSON."""
    return json.dumps(to_json(report), ensure_ascii=False)
