"""Read a window of calls, scores and outcomes from Langfuse, and the content of the worst calls only."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise

from ragtrace import semconv
from ragtrace.extract import ObservationRow, complete_delivery, read_rag_call
from ragtrace.langfuse import CallQuery, LangfuseApi, ScoreQuery, StoredScore
from ragtrace.metrics.diagnosis import DEFAULT_THRESHOLDS
from ragtrace.model import RagCall
from ragtrace.report.assemble import Frame, Source, make_report
from ragtrace.report.choosing import Choice, choices_of
from ragtrace.report.content import Choices, Report
from ragtrace.report.joining import make_records
from ragtrace.report.records import CallRecord
from ragtrace.report.segments import NEED_CONTENT, Segment, labels_of_content

Key = tuple[str, str]
"""Trace id and observation id."""
_PARTS_AT_ONCE = 8
_PARTS_A_PAGE = 4
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
    segment: Segment | None = None
    """What to split the calls by."""
    choice: Choice = field(default_factory=Choice)
    """Which of the calls the report is about."""
    is_compared: bool = False
    """The window before, as long, is read too; it needs `since`."""

    def before(self, now: datetime) -> "Window | None":
        """Return the window before, which ends where this one begins."""
        if not self.is_compared or self.since is None:
            return None
        return replace(self, since=self.since - ((self.until or now) - self.since), until=self.since)


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
    found = await _read_window(api, window)
    earlier = window.before(made_at)
    before = await _read_window(api, earlier) if earlier else None
    records = tuple(found.records.values())
    chosen = [found.rows[r.trace_id, r.observation_id] for r in window.choice.worst(records, window.shown)]
    return make_report(
        records,
        await _read_contents(api, chosen),
        source=Source(
            base_url=api.connection.base_url,
            project_id=project.id if project else "-",
            project_name=project.name if project else "Langfuse",
        ),
        made_at=made_at,
        frame=Frame(
            thresholds=thresholds,
            before=tuple(before.records.values()) if before else (),
            compared_since=earlier.since if earlier else None,
            segment=window.segment,
            choice=window.choice,
            choices=found.choices,
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """Calls that a window's choice takes."""

    rows: Mapping[Key, ObservationRow]
    records: Mapping[Key, CallRecord]
    choices: Choices


async def _read_window(api: LangfuseApi, window: Window) -> _Found:
    rows, scores = await _read_rows_and_scores(api, window)
    listed = {(r.trace_id, r.observation_id): r for r in make_records(rows.values(), scores)}
    records = {key: record for key, record in listed.items() if window.choice.takes(record)}
    if window.choice.search or window.segment in NEED_CONTENT:
        records = await _look_inside(api, records, rows, window.choice)
    return _Found(rows=rows, records=records, choices=choices_of(listed.values()))


async def _look_inside(
    api: LangfuseApi, records: Mapping[Key, CallRecord], rows: Mapping[Key, ObservationRow], choice: Choice
) -> dict[Key, CallRecord]:
    """Read the content of all calls, batch by batch, keep what it says of them and drop those without the words."""
    # What cannot be read holds no words; without a search it stays, not labelled.
    kept = {} if choice.search else dict(records)
    async for batch in api.fetch([rows[key] for key in records]):
        for row in batch.rows:
            key, call = (row.trace_id, row.id), read_rag_call(row)
            if choice.holds(call):
                kept[key] = replace(records[key], labels={**records[key].labels, **labels_of_content(call)})
    return kept


async def read_records(api: LangfuseApi, window: Window) -> tuple[CallRecord, ...]:
    """Return what is known of a window's calls, oldest first.

    Raises:
        BackendError: Langfuse could not be read.
    """
    records = (await _read_window(api, window)).records.values()
    return tuple(sorted(records, key=lambda record: (record.started_at, record.trace_id, record.observation_id)))


async def _read_rows_and_scores(
    api: LangfuseApi, window: Window
) -> tuple[dict[Key, ObservationRow], list[StoredScore]]:
    """List the calls, newest first, and read the scores of those that are listed while the rest is being listed."""
    query = CallQuery(since=window.since, until=window.until, trace_id=window.trace_id)
    rows: dict[Key, ObservationRow] = {}
    slots = asyncio.Semaphore(_PARTS_AT_ONCE)
    until = window.until
    try:
        async with asyncio.TaskGroup() as tasks:
            # First, since of several answers to a call the first counts, and only here the newest is first.
            parts = [tasks.create_task(_read_part(api, _people_query(window), slots))]
            async for page in api.list_calls(query):
                rows |= {(r.trace_id, r.id): r for r in page if r.environment != semconv.SCORER_ENVIRONMENT}
                queries = score_queries(page, window, until=until)
                parts += [tasks.create_task(_read_part(api, part, slots)) for part in queries]
                until = min(row.start_time for row in page)
    except ExceptionGroup as failed:
        # All parts ask the same server the same thing: the first failure says it all.
        raise failed.exceptions[0] from None
    return rows, [score for part in parts for score in part.result()]


def _people_query(window: Window) -> ScoreQuery:
    """Return which answers of people to read: they have the time of the answer, which may be after the window."""
    trace_ids = (window.trace_id,) if window.trace_id else ()
    return ScoreQuery(names=(semconv.HUMAN_SUPPORTED,), since=window.since, trace_ids=trace_ids)


def score_queries(page: Iterable[ObservationRow], window: Window, *, until: datetime | None) -> tuple[ScoreQuery, ...]:
    """Return which scores belong to a page of calls before `until`, in parts of as many calls to be read at once.

    A score carries its call's start as timestamp, so the stretch of the calls is the stretch of their scores.
    """
    starts = sorted({row.start_time for row in page if until is None or row.start_time < until})
    size = max(_LEAST_CALLS_A_PART, -(-len(starts) // _PARTS_A_PAGE))
    trace_ids = (window.trace_id,) if window.trace_id else ()
    edges = pairwise([*starts[::size], until])
    return tuple(ScoreQuery(since=since, until=end, trace_ids=trace_ids) for since, end in edges)


async def _read_part(api: LangfuseApi, query: ScoreQuery, slots: asyncio.Semaphore) -> list[StoredScore]:
    async with slots:
        return [score async for page in api.read_scores(query) for score in page if score.observation_id]


async def _read_contents(api: LangfuseApi, rows: Sequence[ObservationRow]) -> dict[Key, RagCall]:
    return {
        (row.trace_id, row.id): complete_delivery(read_rag_call(row))
        async for batch in api.fetch(rows)
        for row in batch.rows
    }
