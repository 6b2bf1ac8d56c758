"""`ragtrace score`, `ragtrace judge` and `ragtrace promote`: verdicts and scores, and what becomes of the worst."""

import asyncio
import json
import logging
import sys
from typing import Annotated, Literal

import typer

from ragtrace.cli.app import SCORE, app
from ragtrace.cli.common import Concurrency, JudgeModel, MetricNames, Since, Until, extra, metric_names_of
from ragtrace.errors import ConfigError
from ragtrace.settings import load_settings


@app.command(rich_help_panel=SCORE)
def score(  # noqa: PLR0913 - the options of a command are its arguments
    since: Since = "24h",
    until: Until = None,
    trace: Annotated[str | None, typer.Option(help="Score this trace only, sampled or not.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be judged; write nothing.")] = False,
    rescore: Annotated[bool, typer.Option("--rescore", help="Judge again what is done, and replace it.")] = False,
    follow: Annotated[bool, typer.Option("--follow", help="Score calls as they arrive, until SIGTERM.")] = False,
    once: Annotated[bool, typer.Option("--once", help="Score what is new since the last --once or --follow.")] = False,
    backfill: Annotated[
        bool, typer.Option("--backfill", help="Hour by hour, oldest first; goes on where it ended.")
    ] = False,
    distributed: Annotated[
        str | None, typer.Option(help="With --follow: share the work through this Redis, redis://host:port/0.")
    ] = None,
    role: Annotated[
        Literal["coordinator", "worker", "both"], typer.Option(help="With --distributed: coordinator, worker or both.")
    ] = "both",
    comments: Annotated[
        bool, typer.Option("--comments", help="Comment in Langfuse on each answer that fails, once.")
    ] = False,
    sample_rate: Annotated[float | None, typer.Option(help="Share of the calls to judge, 0-1.")] = None,
    metrics: MetricNames = None,
    judge_model: JudgeModel = None,
    concurrency: Concurrency = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as one JSON object.")] = False,
) -> None:
    """Score the rag-calls in Langfuse and write the scores back; doing it twice changes nothing."""
    with extra("score"):
        from ragtrace.scorer import command, progress, service
    settings = load_settings(
        overrides={
            "sample_rate": sample_rate,
            "judge_model": judge_model,
            "concurrency": concurrency,
            "scorer_comments": comments or None,
        }
    )
    if sum((follow, once, backfill, dry_run)) > 1:
        raise ConfigError("--follow, --once, --backfill, --dry-run: give one of them")
    request = command.ScoreRequest(
        since=since,
        until=until,
        trace_id=trace,
        metric_names=metric_names_of(metrics),
        is_rescore=rescore,
        is_dry_run=dry_run,
    )
    if distributed and not follow:
        raise ConfigError("--distributed: give --follow, too")
    if follow:
        logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
        # The HTTP client logs every request.
        logging.getLogger("httpx").setLevel(logging.WARNING)
        if distributed:
            with extra("distributed"):
                from ragtrace.scorer import fleet
            # The task queue logs every task.
            logging.getLogger("taskiq").setLevel(logging.WARNING)
            asyncio.run(fleet.run_distributed(settings, request, url=distributed, role=role))
        else:
            asyncio.run(service.run_follow(settings, request))
        return
    _show_versions()
    run = service.run_once if once else service.run_backfill if backfill else command.run_score
    with progress.showing_calls() as show:
        summary = asyncio.run(run(settings, request, show))
    typer.echo(json.dumps(summary.as_json()) if as_json else summary.as_text())
    if summary.error:
        typer.echo(f"ragtrace: {summary.error}", err=True)
    sys.exit(summary.exit_code)


def _show_versions() -> None:
    """Let the line about versions, which is no problem as a rule, reach standard error as warnings do."""
    logging.basicConfig(level=logging.WARNING, format="ragtrace: %(message)s")
    logging.getLogger("ragtrace.scorer.versions").setLevel(logging.INFO)


@app.command(rich_help_panel=SCORE)
def judge(
    file: Annotated[str, typer.Argument(help="JSON lines; - reads standard input.")],
    out: Annotated[str, typer.Option(help="File to write; - is standard output.")] = "-",
    metrics: MetricNames = None,
    judge_model: JudgeModel = None,
    concurrency: Concurrency = None,
) -> None:
    """Judge rows of question, contexts and answer from a file, without Langfuse; one line of JSON a row."""
    with extra("score"):
        from ragtrace.scorer import judge_file, progress
    settings = load_settings(overrides={"judge_model": judge_model, "concurrency": concurrency})
    with progress.showing_rows() as show:
        work = judge_file.run_judge_file(settings, file, out=out, metric_names=metric_names_of(metrics), on_row=show)
        summary = asyncio.run(work)
    for row in summary.bad:
        typer.echo(f"ragtrace: {file}:{row.number}: {row.problem}", err=True)
    typer.echo(summary.as_text(), err=True)
    sys.exit(summary.exit_code)


@app.command(rich_help_panel=SCORE)
def promote(
    dataset: Annotated[str, typer.Option(help="Langfuse dataset; made if it is not there.")],
    below: Annotated[
        list[str] | None,
        typer.Option(help="METRIC=NUMBER where high is good, e.g. faithfulness=0.5; may be repeated."),
    ] = None,
    above: Annotated[
        list[str] | None,
        typer.Option(help="METRIC=NUMBER where low is good, e.g. hallucination_rate=0.2; may be repeated."),
    ] = None,
    since: Since = "24h",
    until: Until = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be added; write nothing.")] = False,
) -> None:
    """Put answers with a score beyond any of the limits into a Langfuse dataset, each once."""
    with extra("score"):
        from ragtrace.scorer import promote as promote_
        from ragtrace.scorer.moments import parse_moment, utc_now
    now = utc_now()
    request = promote_.PromoteRequest(
        limits=promote_.parse_limits(below or (), above or ()),
        dataset=dataset,
        since=parse_moment(since, option="--since", now=now),
        until=parse_moment(until, option="--until", now=now) if until else None,
        is_dry_run=dry_run,
    )
    typer.echo(asyncio.run(promote_.run_promote(load_settings(), request)).as_text(dataset))
