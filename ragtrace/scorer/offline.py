"""Judge rows of a data set without Langfuse."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

from ragtrace.judge import make_judge
from ragtrace.judge.base import Judge
from ragtrace.metrics.own import OwnMetric
from ragtrace.model import JsonValue, RagCall, Score, Unscored
from ragtrace.scorer.judging import (
    JudgedCall,
    MetricChoice,
    choose_metrics,
    closing_judge,
    guarded,
    judge_call,
    untraced,
)
from ragtrace.scorer.records import describe_judge, describe_sentences
from ragtrace.scorer.rows import KIND_TAG, BadRow, read_row
from ragtrace.settings import Settings, load_settings

JsonObject = dict[str, JsonValue]


async def judge_rows(
    rows: Iterable[RagCall | BadRow],
    judge: Judge,
    *,
    choice: MetricChoice,
    concurrency: int,
    write: Callable[[JsonObject], None],
) -> None:
    """Judge several rows at a time and write one output a row, in the order of the rows."""
    waiting: deque[asyncio.Task[JsonObject]] = deque()
    with untraced():
        async with asyncio.TaskGroup() as tasks:
            for row in rows:
                waiting.append(tasks.create_task(_output(row, judge, choice)))
                if len(waiting) >= concurrency:
                    write(await waiting.popleft())
            while waiting:
                write(await waiting.popleft())


async def ajudge_calls(
    rows: Iterable[Mapping[str, JsonValue]],
    *,
    settings: Settings | None = None,
    metric_names: Iterable[str] | None = None,
    own_metrics: Mapping[str, OwnMetric] | None = None,
) -> list[JsonObject]:
    """Judge rows as `ragtrace judge` does and return one output a row, in order.

    A row that cannot be read gives an output without scores and with the key `error`.

    Args:
        rows: Dictionaries as described in the documentation of `ragtrace judge`.
        settings: The judge and its limits; read from the environment and `ragtrace.toml` by default.
        metric_names: Which metrics to compute; by default what one judge call yields, and all installed ones.
        own_metrics: Metrics of your own beside those, by score name: `(RagCall, Verdicts | None) -> Score | Unscored`,
            plain or async.

    Raises:
        ConfigError: a setting or a metric's name is wrong.
    """
    chosen = settings or load_settings()
    choice = choose_metrics(chosen, metric_names, own=own_metrics)
    read = (read_row(row, number) for number, row in enumerate(rows, start=1))
    outputs: list[JsonObject] = []
    async with closing_judge(make_judge(chosen, metrics=choice.names)) as judge:
        await judge_rows(read, judge, choice=choice, concurrency=chosen.concurrency, write=outputs.append)
    return outputs


def judge_calls(
    rows: Iterable[Mapping[str, JsonValue]],
    *,
    settings: Settings | None = None,
    metric_names: Iterable[str] | None = None,
    own_metrics: Mapping[str, OwnMetric] | None = None,
) -> list[JsonObject]:
    """Do what `ajudge_calls` does, from synchronous code, also while an event loop runs in this thread.

    The work is done in an event loop of its own on a thread of its own: a running loop, whatever its kind, can
    neither be entered again nor be patched.
    """
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="ragtrace-judge") as thread:
        work = ajudge_calls(rows, settings=settings, metric_names=metric_names, own_metrics=own_metrics)
        return thread.submit(asyncio.run, work).result()


async def _output(row: RagCall | BadRow, judge: Judge, choice: MetricChoice) -> JsonObject:
    if isinstance(row, BadRow):
        return _without_scores(str(row.number), row.problem)
    judged = await guarded(judge_call(row, judge, choice), about=f"row {row.id}")
    return describe(row, judged) if judged else _without_scores(row.id, "could not be scored; the log says why")


def _without_scores(row_id: str, error: str) -> JsonObject:
    return {"id": row_id, "scores": {}, "sentences": [], "judge": None, "error": error}


def describe(call: RagCall, judged: JudgedCall) -> JsonObject:
    """Return the output for one call."""
    verdicts = judged.verdicts
    return {
        "id": call.id,
        "scores": {result.name: _describe_result(result) for result in judged.results},
        "sentences": describe_sentences(verdicts.answer) if verdicts else [],
        "judge": describe_judge(verdicts),
        **_kind(call),
    }


def _kind(call: RagCall) -> JsonObject:
    """Pass the kind of question on to `ragtrace compare`, where the row gave one."""
    found = next((tag for tag in call.tags if tag.startswith(KIND_TAG)), None)
    return {"kind": found.removeprefix(KIND_TAG)} if found else {}


def _describe_result(result: Score | Unscored) -> JsonObject:
    if isinstance(result, Score):
        return {"value": result.value, "reason": None}
    return {"value": None, "reason": result.reason}
