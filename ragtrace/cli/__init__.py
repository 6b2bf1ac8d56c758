"""The `ragtrace` command: parse arguments, call one package, print; one line per error, exit codes 0, 1 and 2."""

import sys

import typer

from ragtrace.cli import (  # noqa: F401 - each registers its commands
    alarming,
    comparing,
    judging,
    planning,
    referencing,
    reporting,
    review,
    scoring,
    serving,
)
from ragtrace.cli.app import app
from ragtrace.errors import RagtraceError


def main() -> None:
    """Run the command; an error of ours is one line on stderr and exit code 2."""
    try:
        app()
    except RagtraceError as exc:
        typer.echo(f"ragtrace: {exc}", err=True)
        sys.exit(2)
