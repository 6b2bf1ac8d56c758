"""`ragtrace alarms`: say once when a rate is no longer what it should be."""

import asyncio
import json
import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from ragtrace.cli.app import READ, app
from ragtrace.cli.common import extra
from ragtrace.errors import BackendError
from ragtrace.settings import load_settings

if TYPE_CHECKING:
    from ragtrace.alarms.run import Told


@app.command(rich_help_panel=READ)
def alarms(
    every: Annotated[
        float | None, typer.Option(min=1, metavar="SECONDS", help="Look again and again, until Ctrl-C.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Look; write and remember nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a rule.")] = False,
) -> None:
    """Hold the judged answers against the rules in ragtrace.toml; exit code 1 where a new alarm was raised.

    A rule is a table alarms.NAME of ragtrace.toml: metric, one of above, below and change ("rise" or "fall"), window
    ("24h"), and, to watch a part of the calls, environment, release, model, name or tag. See docs/alarms.md.

    Each alarm is told once, and written to Langfuse as the score rag_alarm; later looks say `still`, then `over`.
    """
    with extra("report"):
        from ragtrace.alarms import run_alarms
        from ragtrace.scorer.moments import utc_now
    settings = load_settings()
    while True:
        try:
            told = asyncio.run(run_alarms(settings, now=utc_now(), is_dry_run=dry_run))
        except BackendError as exc:
            if every is None:
                raise
            # Langfuse will be back.
            typer.echo(f"ragtrace: {exc}", err=True)
        else:
            _print(told, as_json=as_json)
            if every is None:
                sys.exit(1 if any(line.news == "ALARM" for line in told) else 0)
        time.sleep(every)


def _print(told: "tuple[Told, ...]", *, as_json: bool) -> None:
    for line in told:
        typer.echo(json.dumps(line.as_json(), ensure_ascii=False) if as_json else line.as_text())
