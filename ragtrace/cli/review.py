"""`ragtrace review push` and `pull`: people look at some of the judge's work."""

import asyncio
import json
from pathlib import Path
from typing import Annotated

import typer

from ragtrace.cli.app import TRUST, app
from ragtrace.cli.common import Since, extra
from ragtrace.settings import load_settings

review = typer.Typer(no_args_is_help=True, help="Let people look at some of the judge's work in Langfuse.")
app.add_typer(review, name="review", rich_help_panel=TRUST)


@review.command()
def push(
    queue: Annotated[
        str, typer.Option(help="Annotation queue; made if it is not there and Langfuse allows it.")
    ] = "ragtrace review",
    since: Since = "7d",
    share: Annotated[float, typer.Option(help="Share of high and of low scores, 0-1.")] = 0.15,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be added; write nothing.")] = False,
) -> None:
    """Put judged calls into an annotation queue, each once: a share of all, every undecided or suspicious one."""
    with extra("score"):
        from ragtrace.scorer import review_push
        from ragtrace.scorer.moments import parse_moment, utc_now
    request = review_push.PushRequest(
        since=parse_moment(since, option="--since", now=utc_now()), queue=queue, share=share, is_dry_run=dry_run
    )
    typer.echo(asyncio.run(review_push.push(load_settings(), request)).as_text(queue))


@review.command()
def pull(
    since: Since = "30d",
    labels: Annotated[
        Path | None, typer.Option(help="Write what people said to this file, for `ragtrace calibrate`.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the agreement as one JSON object.")] = False,
) -> None:
    """Read people's answers back, and say how far they agree with the judge."""
    with extra("score"):
        from ragtrace.scorer import review_pull
        from ragtrace.scorer.moments import parse_moment, utc_now
    start = parse_moment(since, option="--since", now=utc_now())
    found = asyncio.run(review_pull.pull(load_settings(), since=start, labels=labels))
    typer.echo(json.dumps(found.as_json()) if as_json else found.as_text())
