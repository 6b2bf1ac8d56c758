"""Run the whole demo: server, chain with capture, scorer, report; all through public interfaces."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

import ragtrace
from ragtrace.capture import Capture
from ragtrace.demo.budget import TokenBudget
from ragtrace.demo.chain import build_chain
from ragtrace.demo.console import print_findings
from ragtrace.demo.corpus import Question, load_passages, load_questions
from ragtrace.demo.faults import Ledger, choose_questions
from ragtrace.demo.findings import compare
from ragtrace.demo.generator import DemoChatModel
from ragtrace.demo.retriever import Bm25Retriever
from ragtrace.demo.server import DemoServer, find_or_start
from ragtrace.errors import BackendUnavailable, ConfigError
from ragtrace.report.collect import Window
from ragtrace.report.command import read_report, write_page
from ragtrace.scorer.command import ScoreRequest, run_score
from ragtrace.scorer.summary import RunSummary
from ragtrace.settings import Settings, load_settings
from ragtrace_instrumentation_langchain import RagCallbackHandler

FOLDER = Path(".ragtrace/demo")
_AT_ONCE = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoResult:
    """What `ragtrace demo` says in its last line."""

    calls: int
    scored: int
    unscored: int
    seconds: float
    report: str
    server: str

    def as_line(self) -> str:
        """Return one line of JSON."""
        fields = ("calls", "scored", "unscored", "seconds", "report", "server")
        return json.dumps({name: getattr(self, name) for name in fields}, ensure_ascii=False)


async def run_demo(folder: Path, *, model_name: str | None, out: Console, progress: Console) -> DemoResult:
    """Answer all questions, score the answers, print what was found.

    Raises:
        BackendUnavailable: the local server did not start, or no answer reached it.
    """
    started, clock = datetime.now(UTC), time.monotonic()
    ledger, questions = Ledger(), load_questions()
    with progress.status("starting the local server"):
        server = find_or_start(folder)
    settings = demo_settings(server, folder)
    with make_bars(progress) as bars:
        answer_all(make_model(settings, model_name, ledger=ledger), questions, server=server, bars=bars)
        summary = await _score(settings, started, bars.add_task("scoring", total=len(questions)), bars=bars)
    with progress.status("writing the report"):
        report = await read_report(settings, Window(since=started, shown=len(questions)))
        page = folder / "report.html"
        write_page(report, page)
    print_findings(out, report, compare(ledger.entries, report.shown))
    out.print(f"report  {page.resolve()}", f"server  {server.base_url}", sep="\n", highlight=False, soft_wrap=True)
    return DemoResult(
        calls=summary.tally.listed,
        scored=summary.tally.scored,
        unscored=summary.tally.listed - summary.tally.scored,
        seconds=round(time.monotonic() - clock, 2),
        report=str(page.resolve()),
        server=server.base_url,
    )


def demo_settings(server: DemoServer, folder: Path) -> Settings:
    """Return the user's settings, but for the demo's own server whatever LANGFUSE_BASE_URL says."""
    return load_settings(
        overrides={
            "langfuse_base_url": server.base_url,
            "langfuse_public_key": server.public_key,
            "langfuse_secret_key": server.secret_key,
            "environment": "demo",
            "capture_rate": 1.0,
            "sample_rate": 1.0,
            "capture_pipeline": "own",
            "state": folder / "state.sqlite",
        }
    )


def make_model(settings: Settings, model_name: str | None, *, ledger: Ledger) -> BaseChatModel:
    """Return the model behind OPENAI_BASE_URL if there is one, else the demo's own."""
    name = model_name or settings.judge_model
    if settings.openai_base_url and name:
        # Imported when needed: it costs every other demo a second.
        from langchain_openai import ChatOpenAI

        return ChatOpenAI(model=name, base_url=settings.openai_base_url, api_key=settings.openai_api_key)
    questions = [question.question for question in load_questions()]
    return DemoChatModel(memory=load_passages(), faulty=choose_questions(questions), ledger=ledger)


def answer_all(
    model: BaseChatModel,
    questions: Sequence[Question],
    *,
    server: DemoServer,
    bars: Progress,
    flush_seconds: float = 30.0,
) -> None:
    """Ask the questions of a chain that ragtrace watches.

    Raises:
        BackendUnavailable: an answer did not reach the server.
        ConfigError: the model answered nothing at all.
    """
    capture = ragtrace.configure(
        base_url=server.base_url,
        public_key=server.public_key,
        secret_key=server.secret_key,
        rate=1.0,
        pipeline="own",
        environment="demo",
    )
    ask_all(model, questions, capture=capture, bars=bars)
    if not capture.flush(flush_seconds):
        raise BackendUnavailable(f"some answers did not reach the demo's server at {server.base_url}: see its log")


def ask_all(model: BaseChatModel, questions: Sequence[Question], *, capture: Capture, bars: Progress) -> None:
    """Ask the questions of a chain whose calls go to a capture.

    Raises:
        ConfigError: the model answered nothing at all.
    """
    handler = RagCallbackHandler(client=capture)
    chain = build_chain(Bm25Retriever.over(load_passages()), model, budget=TokenBudget())
    # The demo's own model plants faults in turn, so its questions are asked one after the other.
    at_once = 1 if isinstance(model, DemoChatModel) else _AT_ONCE
    task = bars.add_task("answering", total=len(questions))
    inputs = [{"question": question.question} for question in questions]
    configs = [_config(question, handler, at_once=at_once) for question in questions]
    failures: list[Exception] = []
    for _, answer in chain.batch_as_completed(inputs, configs, return_exceptions=True):
        failures += [answer] if isinstance(answer, Exception) else []
        bars.advance(task)
    if len(failures) == len(questions):
        raise ConfigError(f"OPENAI_BASE_URL: the model there answered no question: {failures[0]}")
    if failures:
        bars.console.print(f"{len(failures)} of {len(questions)} questions were not answered: {failures[0]}")


def _config(question: Question, handler: RagCallbackHandler, *, at_once: int) -> RunnableConfig:
    metadata: dict[str, object] = {"question_id": question.id}
    if question.reference:
        metadata["ragtrace_reference"] = question.reference
    if question.passages:
        metadata["ragtrace_relevant_ids"] = list(question.passages)
    tags = ["demo", question.lang]
    return RunnableConfig(callbacks=[handler], metadata=metadata, tags=tags, max_concurrency=at_once)


async def _score(settings: Settings, since: datetime, task: TaskID, *, bars: Progress) -> RunSummary:
    """Score what was captured since then.

    Raises:
        BackendUnavailable: it could not be done to the end.
    """
    request = ScoreRequest(since=since.isoformat())
    summary = await run_score(settings, request, lambda tally: bars.update(task, completed=tally.finished))
    if summary.error:
        raise BackendUnavailable(summary.error)
    return summary


def make_bars(console: Console) -> Progress:
    """Return bars that show how far the work is."""
    return Progress(
        TextColumn("{task.description:<10}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=console
    )
