"""The `ragtrace` command: parse arguments, call one package, print; one line per error, exit codes 0, 1 and 2."""

import sys
from typing import Annotated

import typer

import ragtrace
from ragtrace.errors import RagtraceError

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Score what your RAG generator actually saw. Start with `ragtrace demo`, then `ragtrace doctor`.",
)


@app.callback(invoke_without_command=True)
def show_version(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Score what your RAG generator actually saw."""
    if version:
        typer.echo(f"ragtrace {ragtrace.__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command; an error of ours is one line on stderr and exit code 2."""
    try:
        app()
    except RagtraceError as exc:
        typer.echo(f"ragtrace: {exc}", err=True)
        sys.exit(2)
