"""The `ragtrace` command: parse arguments, call one package, print; one line per error, exit codes 0, 1 and 2."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

import ragtrace
from ragtrace.errors import ConfigError, RagtraceError

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


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="A loopback address; no other is taken.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8123,
    db: Annotated[Path, typer.Option(help="SQLite file; made if it is not there.")] = Path(".ragtrace/langfuse.sqlite"),
    emulate: Annotated[Literal["4.59", "4.16"], typer.Option(help="Langfuse version to behave like.")] = "4.59",
    public_key: Annotated[str, typer.Option(help="Public key to accept.")] = "pk-local",
    secret_key: Annotated[str, typer.Option(help="Secret key to accept.")] = "sk-local",
    idle_exit_seconds: Annotated[
        float | None, typer.Option(min=0, help="Stop when no request came for so long.")
    ] = None,
    faults: Annotated[bool, typer.Option("--faults", help="Let POST /__faults make the server misbehave.")] = False,
) -> None:
    """Run the local Langfuse-compatible server until Ctrl-C."""
    try:
        from ragtrace.local import app as local_app
        from ragtrace.local import serve as local_serve
    except ModuleNotFoundError as exc:
        raise ConfigError(f"`ragtrace serve` needs: pip install 'ragtrace-adapter[serve]' ({exc})") from None
    try:
        with local_serve.listen(host, port) as listener, local_serve.open_store(db) as store:
            server = local_app.make_app(
                store, public_key=public_key, secret_key=secret_key, emulate=emulate, has_faults_route=faults
            )
            url = local_serve.base_url(listener)
            typer.echo(f"Langfuse {emulate} as far as ragtrace needs it: {url} ({db}); Ctrl-C stops it.", err=True)
            typer.echo(f"export LANGFUSE_BASE_URL={url}")
            typer.echo(f"export LANGFUSE_PUBLIC_KEY={public_key}")
            typer.echo(f"export LANGFUSE_SECRET_KEY={secret_key}")
            local_serve.run(server, listener, idle_exit_seconds=idle_exit_seconds)
    except local_serve.ServeError as exc:
        raise ConfigError(str(exc)) from None


def main() -> None:
    """Run the command; an error of ours is one line on stderr and exit code 2."""
    try:
        app()
    except RagtraceError as exc:
        typer.echo(f"ragtrace: {exc}", err=True)
        sys.exit(2)
