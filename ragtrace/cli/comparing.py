"""`ragtrace compare`: is the candidate better than the baseline, and may it go on?"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from ragtrace.cli.app import READ, app
from ragtrace.cli.common import extra
from ragtrace.settings import load_settings

_SIDE = "A file (JSON lines of `ragtrace judge`, CSV), a window (24h..12h), release:NAME, tag:NAME, run:DATASET/RUN."


@app.command(rich_help_panel=READ)
def compare(
    baseline: Annotated[str, typer.Argument(help=_SIDE)],
    candidate: Annotated[str, typer.Argument(help="The same.")],
    target: Annotated[str | None, typer.Option(help="Metric that must be better by its whole interval.")] = None,
    guard: Annotated[
        str | None,
        typer.Option(help="Metrics that must not lose as much as a margin: faithfulness=0.02,hallucination_rate."),
    ] = None,
    since: Annotated[str, typer.Option(help="How far back releases, tags and runs are looked for.")] = "30d",
    csv: Annotated[Path | None, typer.Option(help="Write the numbers as a table to this file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the comparison as one JSON object.")] = False,
) -> None:
    """Compare two sets of judged answers, in pairs where they pair; exit code 1 where the gate does not hold."""
    with extra("score"):
        from ragtrace.scorer import compare as compare_
        from ragtrace.scorer import compare_command, compare_output
        from ragtrace.scorer.moments import parse_moment, utc_now
    now = utc_now()
    request = compare_command.CompareRequest(
        baseline=baseline,
        candidate=candidate,
        gate=compare_.parse_gate(target, guard),
        since=parse_moment(since, option="--since", now=now),
    )
    found = asyncio.run(compare_command.run_compare(load_settings(), request, now=now))
    if csv:
        compare_output.write_csv(found, csv)
    typer.echo(json.dumps(compare_output.as_json(found)) if as_json else compare_output.as_text(found))
    sys.exit(0 if found.passes else 1)
