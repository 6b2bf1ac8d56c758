"""Read a window of calls, scores and outcomes from Langfuse, and the content of the worst calls only."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from ragtrace import semconv
from ragtrace.extract import ObservationRow, complete_delivery, read_rag_call
from ragtrace.langfuse import CallQuery, LangfuseApi, ScoreQuery, StoredScore
from ragtrace.metrics.diagnosis import DEFAULT_THRESHOLDS
from ragtrace.metrics.pooling import count_units
from ragtrace.model import RagCall
from ragtrace.report.assemble import Source, make_report, worst
from ragtrace.report.content import Report
from ragtrace.report.outcome import read_outcome
from ragtrace.report.records import CallRecord

Key = tuple[str, str]
"""Trace id and observation id."""
_MOST_PARTS = 8
_LEAST_CALLS_A_PART = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Which calls the report is about."""

    since: datetime | None = None
    until: datetime | None = None
    trace_id: str | None = None
    """One trace, whenever it was."""
    shown: int = 50
    """Most calls whose content is read and shown, worst first."""


async def collect(
    api: LangfuseApi,
    window: Window,
    *,
    made_at: datetime,
    thresholds: Mapping[str, float] = DEFAULT_THRESHOLDS,
) -> Report:
    """Return the report on a window, its rates held against `thresholds`.

    Raises:
        BackendError: Langfuse could not be read.
    """
    project = await api.project()
    rows = await _list_rows(api, window)
    records = make_records(rows.values(), await _read_scores(api, rows.values(), window))
    chosen = worst(records, window.shown)
    return make_report(
        records,
        await _read_contents(api, [rows[r.trace_id, r.observation_id] for r in chosen]),
        source=Source(
            base_url=api.connection.base_url,
            project_id=project.id if project else "-",
            project_name=project.name if project else "Langfuse",
        ),
        made_at=made_at,
        thresholds=thresholds,
    )


def make_records(rows: Iterable[ObservationRow], scores: Sequence[StoredScore]) -> tuple[CallRecord, ...]:
    """Give each listed call its scores; scores of other observations are left out."""
    numbers: dict[Key, dict[str, float]] = {}
    units: dict[Key, dict[str, int]] = {}
    marks: dict[Key, StoredScore] = {}
    for score in scores:
        key = (score.trace_id or "", score.observation_id or "")
        if score.name == semconv.RAG_OUTCOME:
            marks.setdefault(key, score)
        elif score.data_type == "NUMERIC" and isinstance(score.value, float | int):
            numbers.setdefault(key, {}).setdefault(score.name, float(score.value))
            count = count_units(score.name, score.metadata)
            if count is not None:
                units.setdefault(key, {}).setdefault(score.name, count)
    return tuple(
        CallRecord(
            trace_id=row.trace_id,
            observation_id=row.id,
            started_at=row.start_time,
            scores=numbers.get((row.trace_id, row.id), {}),
            units=units.get((row.trace_id, row.id), {}),
            outcome=read_outcome(marks[row.trace_id, row.id]) if (row.trace_id, row.id) in marks else None,
        )
        for row in rows
    )


async def _list_rows(api: LangfuseApi, window: Window) -> dict[Key, ObservationRow]:
    query = CallQuery(since=window.since, until=window.until, trace_id=window.trace_id)
    return {
        (row.trace_id, row.id): row
        async for page in api.list_calls(query)
        for row in page
        if row.environment != semconv.SCORER_ENVIRONMENT
    }


async def _read_scores(api: LangfuseApi, rows: Iterable[ObservationRow], window: Window) -> list[StoredScore]:
    try:
        async with asyncio.TaskGroup() as tasks:
            parts = [tasks.create_task(_read_part(api, query)) for query in score_queries(rows, window)]
    except ExceptionGroup as failed:
        # All parts ask the same server the same thing: the first failure says it all.
        raise failed.exceptions[0] from None
    return [score for part in parts for score in part.result()]


def score_queries(rows: Iterable[ObservationRow], window: Window) -> tuple[ScoreQuery, ...]:
    """Split the window into parts with about as many calls each: scores come by the hundred, so parts come at once."""
    # A score carries its call's start as timestamp, so the window of the calls is the window of the scores.
    starts = sorted({row.start_time for row in rows})
    if not starts:
        return ()
    size = max(_LEAST_CALLS_A_PART, -(-len(starts) // _MOST_PARTS))
    edges = [window.since, *starts[size::size], window.until]
    trace_ids = (window.trace_id,) if window.trace_id else ()
    return tuple(ScoreQuery(since=since, until=until, trace_ids=trace_ids) for since, until in pairwise(edges))


async def _read_part(api: LangfuseApi, query: ScoreQuery) -> list[StoredScore]:
    return [score async for page in api.read_scores(query) for score in page if score.observation_id]


async def _read_contents(api: LangfuseApi, rows: Sequence[ObservationRow]) -> dict[Key, RagCall]:
    return {
        (row.trace_id, row.id): complete_delivery(read_rag_call(row))
        async for batch in api.fetch(rows)
        for row in batch.rows
    }
