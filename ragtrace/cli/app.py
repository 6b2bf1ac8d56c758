"""The Typer application that the command modules register with."""

from typing import Annotated

import typer

import ragtrace

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
