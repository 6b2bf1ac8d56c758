"""The Typer application that the command modules register with."""

from typing import Annotated, Final

import typer
from typer.core import TyperGroup

import ragtrace

START: Final = "Start"
SCORE: Final = "Score"
TRUST: Final = "Trust"
READ: Final = "Read"
_PANELS: Final = (START, SCORE, TRUST, READ)


class _ByPanel(TyperGroup):
    """Lists commands panel by panel, in the order in which people come to need them."""

    def list_commands(self, ctx: object) -> list[str]:
        return sorted(self.commands, key=self._panel)

    def _panel(self, name: str) -> int:
        return _PANELS.index(getattr(self.commands[name], "rich_help_panel", READ))


app = typer.Typer(
    cls=_ByPanel,
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
