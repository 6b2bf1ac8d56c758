"""`ragtrace references`: known good answers, for recall on production questions."""

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer

from ragtrace.cli.app import SCORE, app
from ragtrace.cli.common import JudgeModel, extra
from ragtrace.settings import load_settings

references = typer.Typer(no_args_is_help=True, help="Keep known good answers, and match them to production questions.")
app.add_typer(references, name="references", rich_help_panel=SCORE)


@references.command()
def sync(dataset: Annotated[str, typer.Argument(help="Name of a Langfuse dataset.")]) -> None:
    """Take over a Langfuse dataset: `input` is the question, `expectedOutput` the reference; again replaces it."""
    with extra("score"):
        from ragtrace.references.command import sync_dataset
    settings = load_settings()
    typer.echo(asyncio.run(sync_dataset(settings, dataset)).as_text(settings.references_file))


@references.command()
def load(file: Annotated[Path, typer.Argument(help="JSON lines, or .csv with a head: question, answer.")]) -> None:
    """Take over a file; the same file again replaces what came from it."""
    with extra("score"):
        from ragtrace.references.command import load_file
    settings = load_settings()
    typer.echo(load_file(settings, file).as_text(settings.references_file))


@references.command()
def match(question: Annotated[str, typer.Argument(help="A question as people ask it.")]) -> None:
    """Say which reference a question would get, and why."""
    with extra("score"):
        from ragtrace.references.command import match_question
    typer.echo(match_question(load_settings(), question))


@references.command()
def check(judge_model: JudgeModel = None) -> None:
    """Ask the judge whether each reference answers its question; prints those that do not, exit code 1 if any."""
    with extra("score"):
        from ragtrace.references.command import check_kept
    wrong = asyncio.run(check_kept(load_settings(overrides={"judge_model": judge_model})))
    for row in wrong:
        typer.echo(f"{row.source}: {row.question!r}: {row.why or 'does not answer the question'}")
    typer.echo(f"{len(wrong)} references to send back", err=True)
    sys.exit(1 if wrong else 0)
