"""The `ragtrace` command: parse arguments, call one package, print; one line per error, exit codes 0, 1 and 2."""

import asyncio
import json
import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

import ragtrace
from ragtrace.errors import ConfigError, RagtraceError
from ragtrace.settings import load_settings

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

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


MetricNames = Annotated[
    str | None, typer.Option("--metrics", help="Names, separated by commas; default: what one judge call yields.")
]
JudgeModel = Annotated[str | None, typer.Option(help="Model at OPENAI_BASE_URL; default: RAGTRACE_JUDGE_MODEL.")]
Concurrency = Annotated[int | None, typer.Option(help="Most judge calls in flight.")]


@app.command()
def score(  # noqa: PLR0913 - the options of a command are its arguments
    since: Annotated[str, typer.Option(help="How long ago (24h, 7d), or a date.")] = "24h",
    until: Annotated[str | None, typer.Option(help="The same; default: now.")] = None,
    trace: Annotated[str | None, typer.Option(help="Score this trace only, sampled or not.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be judged; write nothing.")] = False,
    rescore: Annotated[bool, typer.Option("--rescore", help="Judge again what is done, and replace it.")] = False,
    follow: Annotated[bool, typer.Option("--follow", help="Score calls as they arrive, until SIGTERM.")] = False,
    once: Annotated[bool, typer.Option("--once", help="Score what is new since the last --once or --follow.")] = False,
    backfill: Annotated[
        bool, typer.Option("--backfill", help="Hour by hour, oldest first; goes on where it ended.")
    ] = False,
    sample_rate: Annotated[float | None, typer.Option(help="Share of the calls to judge, 0-1.")] = None,
    metrics: MetricNames = None,
    judge_model: JudgeModel = None,
    concurrency: Concurrency = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as one JSON object.")] = False,
) -> None:
    """Score the rag-calls in Langfuse and write the scores back; doing it twice changes nothing."""
    with _extra("score"):
        from ragtrace.scorer import command, progress, service
    settings = load_settings(
        overrides={"sample_rate": sample_rate, "judge_model": judge_model, "concurrency": concurrency}
    )
    if sum((follow, once, backfill, dry_run)) > 1:
        raise ConfigError("--follow, --once, --backfill, --dry-run: give one of them")
    request = command.ScoreRequest(
        since=since,
        until=until,
        trace_id=trace,
        metric_names=_names(metrics),
        is_rescore=rescore,
        is_dry_run=dry_run,
    )
    if follow:
        logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
        # The HTTP client logs every request.
        logging.getLogger("httpx").setLevel(logging.WARNING)
        asyncio.run(service.run_follow(settings, request))
        return
    run = service.run_once if once else service.run_backfill if backfill else command.run_score
    with progress.showing_calls() as show:
        summary = asyncio.run(run(settings, request, show))
    typer.echo(json.dumps(summary.as_json()) if as_json else summary.as_text())
    if summary.error:
        typer.echo(f"ragtrace: {summary.error}", err=True)
    sys.exit(summary.exit_code)


@app.command()
def judge(
    file: Annotated[str, typer.Argument(help="JSON lines; - reads standard input.")],
    out: Annotated[str, typer.Option(help="File to write; - is standard output.")] = "-",
    metrics: MetricNames = None,
    judge_model: JudgeModel = None,
    concurrency: Concurrency = None,
) -> None:
    """Judge rows of question, contexts and answer from a file, without Langfuse; one line of JSON a row."""
    with _extra("score"):
        from ragtrace.scorer import judge_file, progress
    settings = load_settings(overrides={"judge_model": judge_model, "concurrency": concurrency})
    with progress.showing_rows() as show:
        work = judge_file.run_judge_file(settings, file, out=out, metric_names=_names(metrics), on_row=show)
        summary = asyncio.run(work)
    for row in summary.bad:
        typer.echo(f"ragtrace: {file}:{row.number}: {row.problem}", err=True)
    typer.echo(summary.as_text(), err=True)
    sys.exit(summary.exit_code)


@app.command()
def doctor() -> None:
    """Look at everything that scoring needs, and say how to mend what is wrong."""
    with _extra("score"):
        from ragtrace.scorer import doctor as doctor_
    findings = asyncio.run(doctor_.examine(load_settings))
    for finding in findings:
        typer.echo(f"{finding.level:<5} {finding.subject:<9} {finding.text}")
    sys.exit(1 if any(finding.level == "fail" for finding in findings) else 0)


@app.command()
def report(
    since: Annotated[str, typer.Option(help="How long ago (24h, 7d), or a date.")] = "24h",
    until: Annotated[str | None, typer.Option(help="The same; default: now.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write one self-contained page to this file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as one JSON object.")] = False,
    limit: Annotated[int, typer.Option(min=0, help="Most answers to show, worst first.")] = 50,
) -> None:
    """Say what the scores in Langfuse say: rates, what went wrong where, and which answers to read."""
    with _extra("report"):
        from rich.console import Console

        from ragtrace.report import collect, command
        from ragtrace.scorer.moments import parse_moment
    now = datetime.now(UTC)
    window = collect.Window(
        since=parse_moment(since, option="--since", now=now),
        until=parse_moment(until, option="--until", now=now) if until else None,
        shown=limit,
    )
    with Console(stderr=True).status("reading calls and scores"):
        found = asyncio.run(command.read_report(load_settings(), window))
    if html:
        command.write_page(found, html)
        typer.echo(f"report: {html}", err=True)
    if as_json:
        typer.echo(command.as_line(found))
    elif not html:
        command.print_report(found, Console())


@app.command()
def calibrate(
    labels: Annotated[Path, typer.Argument(help="JSON lines with 30 to 60 claims that people labelled.")],
    out: Annotated[Path, typer.Option(help="File to write; RAGTRACE_JUDGE_CALIBRATION names it then.")],
) -> None:
    """Place the embedded judge's threshold where your own labels say."""
    with _extra("score"):
        from ragtrace.scorer.calibrating import run_calibrate
    found = asyncio.run(run_calibrate(labels, out))
    typer.echo(
        f"{out}: threshold {found.log_odds:+.2f} from {found.labels} labels; balanced accuracy on them "
        f"{found.before:.3f} before, {found.balanced_accuracy:.3f} now"
    )


@app.command()
def consistency(
    file: Annotated[Path, typer.Argument(help="JSON lines, as `ragtrace judge` takes them; at least 50.")],
    judge_model: JudgeModel = None,
    other_model: Annotated[str | None, typer.Option(help="Second judge; default: the same one again.")] = None,
    concurrency: Concurrency = None,
) -> None:
    """Judge the same rows twice and say whether the judge is stable; exit code 1 where it is not."""
    with _extra("score"):
        from ragtrace.scorer.consistency import run_consistency
    settings = load_settings(overrides={"judge_model": judge_model, "concurrency": concurrency})
    found = asyncio.run(run_consistency(settings, file, other_model=other_model))
    typer.echo(found.as_text())
    sys.exit(0 if found.is_stable else 1)


@app.command()
def promote(
    below: Annotated[list[str], typer.Option(help="METRIC=NUMBER, e.g. faithfulness=0.5; may be repeated.")],
    dataset: Annotated[str, typer.Option(help="Langfuse dataset; made if it is not there.")],
    since: Annotated[str, typer.Option(help="How long ago (24h, 7d), or a date.")] = "24h",
) -> None:
    """Put answers with a score below a limit into a Langfuse dataset, each once."""
    with _extra("score"):
        from ragtrace.scorer import promote as promote_
        from ragtrace.scorer.moments import parse_moment
    start = parse_moment(since, option="--since", now=datetime.now(UTC))
    work = promote_.run_promote(load_settings(), promote_.parse_limits(below), dataset=dataset, since=start)
    typer.echo(asyncio.run(work).as_text(dataset))


@app.command()
def demo(
    folder: Annotated[Path, typer.Option(help="Where the demo keeps its server's database and its report.")] = Path(
        ".ragtrace/demo"
    ),
    model: Annotated[str | None, typer.Option(help="Model at OPENAI_BASE_URL that answers.")] = None,
) -> None:
    """Run a RAG chain over a small corpus, score what its generator received, and show the scores."""
    with _extra("demo"):
        from rich.console import Console

        progress = Console(stderr=True)
        with progress.status("loading LangChain"):
            from ragtrace.demo import run
    work = run.run_demo(folder, model_name=model, out=Console(), progress=progress)
    typer.echo(asyncio.run(work).as_line())


def _report_pages(url: str, *, public_key: str, secret_key: str) -> "Sequence[BaseRoute]":
    """Return the report as live pages, none where the packages that it needs are not installed."""
    try:
        from ragtrace.report.pages import make_routes
    except ModuleNotFoundError:
        return ()
    keys = {"langfuse_base_url": url, "langfuse_public_key": public_key, "langfuse_secret_key": secret_key}
    return make_routes(load_settings({}, overrides=keys))


def _names(metrics: str | None) -> tuple[str, ...] | None:
    return None if metrics is None else tuple(name.strip() for name in metrics.split(",") if name.strip())


@contextmanager
def _extra(name: str) -> Iterator[None]:
    """Name the extra that is not installed, where a command's packages are missing."""
    try:
        yield
    except ModuleNotFoundError as exc:
        if exc.name is None or exc.name.split(".")[0] == "ragtrace":
            raise
        raise ConfigError(f"this command needs {exc.name}: pip install 'ragtrace-adapter[{name}]'") from None


def main() -> None:
    """Run the command; an error of ours is one line on stderr and exit code 2."""
    try:
        app()
    except RagtraceError as exc:
        typer.echo(f"ragtrace: {exc}", err=True)
        sys.exit(2)
