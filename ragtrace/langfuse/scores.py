"""Read stored scores, and find out which calls are done."""

from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from ragtrace.langfuse import wire
from ragtrace.langfuse.connection import Connection, JsonObject
from ragtrace.model import JsonValue
from ragtrace.semconv import RAG_OUTCOME

_PATH = "api/public/v3/scores"
_PAGE = 100
_TRACES_A_LOOKUP = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredScore:
    """A score as Langfuse gives it back."""

    id: str
    name: str
    value: float | str | bool
    data_type: str
    timestamp: datetime
    source: str
    trace_id: str | None = None
    observation_id: str | None = None
    environment: str | None = None
    comment: str | None = None
    metadata: Mapping[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreQuery:
    """Which scores to read; empty fields do not filter."""

    names: tuple[str, ...] = ()
    trace_ids: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    since: datetime | None = None
    """Timestamp from, inclusive."""
    until: datetime | None = None
    """Timestamp to, exclusive."""
    environment: str | None = None


async def marks(connection: Connection, trace_ids: Iterable[str]) -> set[tuple[str, str]]:
    """Return (trace id, observation id) of the calls in these traces that carry the mark of a finished call."""
    wanted = list(dict.fromkeys(trace_ids))
    found: set[tuple[str, str]] = set()
    for start in range(0, len(wanted), _TRACES_A_LOOKUP):
        query = ScoreQuery(names=(RAG_OUTCOME,), trace_ids=tuple(wanted[start : start + _TRACES_A_LOOKUP]))
        async for page in read_scores(connection, query, fields="subject"):
            found |= {(s.trace_id, s.observation_id) for s in page if s.trace_id and s.observation_id}
    return found


async def read_scores(
    connection: Connection, query: ScoreQuery, *, fields: str = "details,subject"
) -> AsyncIterator[tuple[StoredScore, ...]]:
    """Yield pages of stored scores, newest first."""
    parameters: dict[str, str | int | None] = {
        "limit": _PAGE,
        "fields": fields,
        "id": ",".join(query.ids) or None,
        "name": ",".join(query.names) or None,
        "traceId": ",".join(query.trace_ids) or None,
        "environment": query.environment,
        "fromTimestamp": wire.stamp(query.since) if query.since else None,
        "toTimestamp": wire.stamp(query.until) if query.until else None,
    }
    cursor: str | None = None
    while True:
        reply = await connection.get("read scores", _PATH, {**parameters, "cursor": cursor})
        found, cursor = wire.page(connection, "read scores", reply, _stored)
        if found:
            yield found
        if cursor is None:
            return


def _stored(score: JsonObject) -> StoredScore:
    subject, metadata, value = score.get("subject"), score.get("metadata"), score["value"]
    if not isinstance(value, str | float | int):
        raise TypeError("a score has a value")
    trace_id, observation_id = _target(subject if isinstance(subject, dict) else {})
    return StoredScore(
        id=wire.text(score["id"]),
        name=wire.text(score["name"]),
        value=value,
        data_type=wire.text(score["dataType"]),
        timestamp=wire.moment(score["timestamp"]),
        source=wire.text(score["source"]),
        trace_id=trace_id,
        observation_id=observation_id,
        environment=wire.known(score.get("environment")),
        comment=wire.known(score.get("comment")),
        metadata=metadata if isinstance(metadata, dict) else {},
    )


def _target(subject: JsonObject) -> tuple[str | None, str | None]:
    """Return trace and observation that a score is on."""
    if subject.get("kind") == "observation":
        return wire.known(subject.get("traceId")), wire.known(subject.get("id"))
    return (wire.known(subject.get("id")) if subject.get("kind") == "trace" else None), None
