"""`ragtrace report`: what the scores in Langfuse say."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

import typer

from ragtrace.cli.app import READ, app
from ragtrace.cli.common import Since, Until, extra
from ragtrace.settings import load_settings

By = Literal["tag", "environment", "release", "model", "language", "retriever", "name"]


@app.command(rich_help_panel=READ)
def report(
    since: Since = "24h",
    until: Until = None,
    html: Annotated[Path | None, typer.Option(help="Write one self-contained page to this file.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write the numbers as a table to this file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as one JSON object.")] = False,
    limit: Annotated[int, typer.Option(min=0, help="Most answers to show, worst first.")] = 50,
    by: Annotated[By | None, typer.Option(help="Show the rates of each tag, model or the like.")] = None,
    compare: Annotated[bool, typer.Option(help="Compare with the window before, which is as long.")] = True,
) -> None:
    """Say what the scores in Langfuse say: rates, what went wrong where, and which answers to read."""
    with extra("report"):
        from rich.console import Console

        from ragtrace.report import collect, command
        from ragtrace.scorer.moments import parse_moment
    now = datetime.now(UTC)
    window = collect.Window(
        since=parse_moment(since, option="--since", now=now),
        until=parse_moment(until, option="--until", now=now) if until else None,
        shown=limit,
        segment=by,
        is_compared=compare,
    )
    with Console(stderr=True).status("reading calls and scores"):
        found = asyncio.run(command.read_report(load_settings(), window))
    if html:
        with extra("report"):
            command.write_page(found, html)
        typer.echo(f"report: {html}", err=True)
    if csv:
        command.write_table(found, csv)
        typer.echo(f"report: {csv}", err=True)
    if as_json:
        typer.echo(command.as_line(found))
    elif not html and not csv:
        command.print_report(found, Console())
