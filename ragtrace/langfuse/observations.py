"""Read observations: many at once without content, then the content of the wanted ones in bounded batches."""

import json
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from ragtrace.extract import ObservationRow, json_text
from ragtrace.langfuse import wire
from ragtrace.langfuse.border import TooLarge
from ragtrace.langfuse.connection import Connection, JsonObject
from ragtrace.model import JsonValue
from ragtrace.semconv import META_PROMPT_LENGTH, SPAN_NAME

PAGE = 1000
"""Rows that Langfuse lists at most in one answer."""
BATCH_BYTES = 3_000_000
"""Content asked for in one request; Langfuse Cloud answers at most 5 MB."""
BATCH_ROWS = 120
"""Ids in one request: they travel in the URL, which proxies cut at 8 KB."""
_PATH = "api/public/v2/observations"
_LIST_FIELDS = "core,basic,metadata,trace_context"
_CONTENT_FIELDS = "core,basic,io,metadata,model,trace_context"
_TRACE_PAGE = 50
_UNKNOWN_LENGTH = 12_000
_OVERHEAD = 2_000
_BYTES_PER_CHARACTER = 1.5
Condition = dict[str, JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallQuery:
    """Which observations to list."""

    name: str | None = SPAN_NAME
    name_prefix: str | None = None
    """Names that begin like this, in place of one name."""
    type: str | None = None
    """`RETRIEVER`, `GENERATION`, …"""
    since: datetime | None = None
    """Start time from, inclusive."""
    until: datetime | None = None
    """Start time to, exclusive."""
    ended_since: datetime | None = None
    """End time from, inclusive: what arrived lately, however long it took."""
    trace_id: str | None = None
    roots_only: bool = False

    def conditions(self) -> list[Condition]:
        """Return Langfuse's filter; everything is in it, since it overrides the other parameters."""
        root: Condition = {"type": "boolean", "column": "isRootObservation", "operator": "=", "value": True}
        found = [
            _equals("name", self.name) if self.name and not self.name_prefix else None,
            _text("name", "starts with", self.name_prefix) if self.name_prefix else None,
            _any_of("type", [self.type]) if self.type else None,
            _equals("traceId", self.trace_id) if self.trace_id else None,
            _time("startTime", ">=", self.since) if self.since else None,
            _time("startTime", "<", self.until) if self.until else None,
            _time("endTime", ">=", self.ended_since) if self.ended_since else None,
            root if self.roots_only else None,
        ]
        return [condition for condition in found if condition]


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedBatch:
    """What one request for content brought."""

    rows: tuple[ObservationRow, ...]
    missing: tuple[ObservationRow, ...]
    """Listed, but not to be had now: tried again later."""
    too_large: tuple[ObservationRow, ...]
    """Too large for Langfuse to answer, even alone."""
    given_up: tuple[ObservationRow, ...] = ()
    """Waited for in vain: they lack something that was to arrive later."""


async def list_calls(
    connection: Connection, query: CallQuery, *, page: int = PAGE
) -> AsyncIterator[tuple[ObservationRow, ...]]:
    """Yield pages of observations without content, newest first; an id may come twice."""
    filter_text = json.dumps(query.conditions())
    cursor: str | None = None
    while True:
        try:
            rows, cursor = await _request(
                connection, filter_text, fields=_LIST_FIELDS, limit=page, cursor=cursor, purpose="list calls"
            )
        except TooLarge:
            if page == 1:
                raise
            page = max(1, page // 2)
            continue
        if rows:
            yield rows
        if cursor is None:
            return


async def fetch(connection: Connection, wanted: Sequence[ObservationRow]) -> AsyncIterator[FetchedBatch]:
    """Yield the wanted observations with content, each at most once, in batches bounded in bytes."""
    for batch in batches(wanted):
        async for fetched in _fetch_batch(connection, batch):
            yield fetched


async def fetch_traces(connection: Connection, trace_ids: Sequence[str]) -> tuple[ObservationRow, ...]:
    """Return all observations of some traces, with content.

    Raises:
        TooLarge: Langfuse cannot answer even one of the observations.
    """
    filter_text = json.dumps([_any_of("traceId", trace_ids)])
    found: dict[tuple[str, str], ObservationRow] = {}
    cursor: str | None = None
    limit = _TRACE_PAGE
    while True:
        try:
            rows, cursor = await _request(
                connection, filter_text, fields=_CONTENT_FIELDS, limit=limit, cursor=cursor, purpose="read traces"
            )
        except TooLarge:
            if limit == 1:
                raise
            limit = max(1, limit // 4)
            continue
        for row in rows:
            found.setdefault((row.trace_id, row.id), row)
        if cursor is None:
            return tuple(found.values())


def batches(wanted: Iterable[ObservationRow]) -> Iterator[tuple[ObservationRow, ...]]:
    """Cut into batches whose expected size stays under the bound; the prompt's length tells the size."""
    batch: list[ObservationRow] = []
    size = 0.0
    for row in wanted:
        expected = _expected_bytes(row)
        if batch and (size + expected > BATCH_BYTES or len(batch) >= BATCH_ROWS):
            yield tuple(batch)
            batch, size = [], 0.0
        batch.append(row)
        size += expected
    if batch:
        yield tuple(batch)


async def _fetch_batch(connection: Connection, batch: tuple[ObservationRow, ...]) -> AsyncIterator[FetchedBatch]:
    try:
        found = await _by_id(connection, batch)
    except TooLarge:
        if len(batch) == 1:
            yield FetchedBatch(rows=(), missing=(), too_large=batch)
            return
        middle = len(batch) // 2
        for half in (batch[:middle], batch[middle:]):
            async for fetched in _fetch_batch(connection, half):
                yield fetched
        return
    keys = [(row.trace_id, row.id) for row in batch]
    yield FetchedBatch(
        rows=tuple(found[key] for key in keys if key in found),
        missing=tuple(row for row, key in zip(batch, keys, strict=True) if key not in found),
        too_large=(),
    )


async def _by_id(connection: Connection, batch: tuple[ObservationRow, ...]) -> dict[tuple[str, str], ObservationRow]:
    starts = [row.start_time for row in batch]
    filter_text = json.dumps(
        [
            _any_of("id", [row.id for row in batch]),
            _time("startTime", ">=", min(starts)),
            _time("startTime", "<=", max(starts)),
        ]
    )
    found: dict[tuple[str, str], ObservationRow] = {}
    cursor: str | None = None
    while True:
        rows, cursor = await _request(
            connection,
            filter_text,
            fields=_CONTENT_FIELDS,
            limit=min(PAGE, 2 * len(batch)),
            cursor=cursor,
            purpose="read calls",
        )
        for row in rows:
            found.setdefault((row.trace_id, row.id), row)
        if cursor is None:
            return found


async def _request(
    connection: Connection, filter_text: str, *, fields: str, limit: int, cursor: str | None, purpose: str
) -> tuple[tuple[ObservationRow, ...], str | None]:
    reply = await connection.get(
        purpose, _PATH, {"fields": fields, "filter": filter_text, "limit": limit, "cursor": cursor}
    )
    return wire.page(connection, purpose, reply, _row)


def _expected_bytes(row: ObservationRow) -> float:
    length = row.metadata.get(META_PROMPT_LENGTH)
    characters = int(length) if isinstance(length, int | str) and str(length).isdigit() else _UNKNOWN_LENGTH
    return characters * _BYTES_PER_CHARACTER + _OVERHEAD


def _row(observation: JsonObject) -> ObservationRow:
    tags, metadata, end = observation.get("tags"), observation.get("metadata"), observation.get("endTime")
    return ObservationRow(
        id=wire.text(observation["id"]),
        trace_id=wire.text(observation.get("traceId") or ""),
        name=wire.text(observation.get("name") or ""),
        type=wire.text(observation["type"]).upper(),
        start_time=wire.moment(observation["startTime"]),
        end_time=wire.moment(end) if end else None,
        parent_id=wire.known(observation.get("parentObservationId")),
        input=_raw(observation.get("input")),
        output=_raw(observation.get("output")),
        metadata=metadata if isinstance(metadata, dict) else {},
        environment=wire.known(observation.get("environment")),
        user_id=wire.known(observation.get("userId")),
        session_id=wire.known(observation.get("sessionId")),
        tags=json_text.as_strings(tags) if isinstance(tags, list) else (),
        release=wire.known(observation.get("release")),
        trace_name=wire.known(observation.get("traceName")),
        model=wire.known(observation.get("model")) or wire.known(observation.get("providedModelName")),
        level=wire.known(observation.get("level")),
        status_message=wire.known(observation.get("statusMessage")),
    )


def _raw(content: JsonValue) -> str | None:
    """Servers give text; one that gives JSON is put back into text, so that there is one form."""
    return content if isinstance(content, str) or content is None else json.dumps(content)


def _equals(column: str, value: str) -> Condition:
    return _text(column, "=", value)


def _text(column: str, operator: str, value: str) -> Condition:
    return {"type": "string", "column": column, "operator": operator, "value": value}


def _any_of(column: str, values: Sequence[str]) -> Condition:
    return {"type": "stringOptions", "column": column, "operator": "any of", "value": list(values)}


def _time(column: str, operator: str, moment: datetime) -> Condition:
    return {"type": "datetime", "column": column, "operator": operator, "value": wire.stamp(moment)}
