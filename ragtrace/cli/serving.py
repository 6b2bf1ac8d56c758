"""`ragtrace serve` and `ragtrace demo`: the local server, and the main job on it."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ragtrace.cli.app import START, app
from ragtrace.cli.common import extra
from ragtrace.errors import ConfigError
from ragtrace.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

    from starlette.routing import BaseRoute


@app.command(rich_help_panel=START)
def serve(
    host: Annotated[str, typer.Option(help="A loopback address; no other is taken.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8123,
    db: Annotated[Path, typer.Option(help="SQLite file; made if it is not there.")] = Path(".ragtrace/langfuse.sqlite"),
    emulate: Annotated[
        Literal["4.59", "4.16"], typer.Option(help="Langfuse to behave like: 4.59 as documented, 4.16 as recorded.")
    ] = "4.59",
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
            url = local_serve.base_url(listener)
            server = local_app.make_app(
                store,
                public_key=public_key,
                secret_key=secret_key,
                emulate=emulate,
                pages=_report_pages(url, public_key=public_key, secret_key=secret_key),
                has_faults_route=faults,
            )
            typer.echo(f"Langfuse {emulate} as far as ragtrace needs it: {url} ({db}); Ctrl-C stops it.", err=True)
            typer.echo(f"export LANGFUSE_BASE_URL={url}")
            typer.echo(f"export LANGFUSE_PUBLIC_KEY={public_key}")
            typer.echo(f"export LANGFUSE_SECRET_KEY={secret_key}")
            local_serve.run(server, listener, idle_exit_seconds=idle_exit_seconds)
    except local_serve.ServeError as exc:
        raise ConfigError(str(exc)) from None


@app.command(rich_help_panel=START)
def demo(
    folder: Annotated[Path, typer.Option(help="Where the demo keeps its server's database and its report.")] = Path(
        ".ragtrace/demo"
    ),
    model: Annotated[str | None, typer.Option(help="Model at OPENAI_BASE_URL that answers.")] = None,
    otlp_file: Annotated[
        Path | None, typer.Option(help="Write spans and scores into this file as OTLP, and start no server.")
    ] = None,
) -> None:
    """Run a RAG chain over a small corpus, score what its generator received, and show the scores."""
    with extra("demo"):
        from rich.console import Console

        progress = Console(stderr=True)
        with progress.status("loading LangChain"):
            from ragtrace.demo import otlp_file as files
            from ragtrace.demo import run
    work: Coroutine[None, None, files.Written | run.DemoResult] = (
        files.run_file_demo(otlp_file, model_name=model, progress=progress)
        if otlp_file
        else run.run_demo(folder, model_name=model, out=Console(), progress=progress)
    )
    typer.echo(asyncio.run(work).as_line())


def _report_pages(url: str, *, public_key: str, secret_key: str) -> "Sequence[BaseRoute]":
    """Return the report as live pages, none where the packages that it needs are not installed."""
    try:
        from ragtrace.report.pages import make_routes
    except ModuleNotFoundError:
        return ()
    keys = {"langfuse_base_url": url, "langfuse_public_key": public_key, "langfuse_secret_key": secret_key}
    return make_routes(load_settings({}, overrides=keys))
