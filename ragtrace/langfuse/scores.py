"""Read stored scores, and find out which calls are done."""

from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from langfuse.api import ScoreV3

from ragtrace.langfuse.connection import ONCE, Connection
from ragtrace.model import JsonValue
from ragtrace.semconv import RAG_OUTCOME

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
    cursor: str | None = None
    while True:
        reply = await connection.ask(
            "read scores",
            lambda at=cursor: connection.sdk.scores.get_many(  # type: ignore[misc]  # a default argument binds the page
                limit=_PAGE,
                cursor=at,
                fields=fields,
                id=",".join(query.ids) or None,
                name=",".join(query.names) or None,
                trace_id=",".join(query.trace_ids) or None,
                environment=query.environment,
                from_timestamp=query.since,
                to_timestamp=query.until,
                request_options=ONCE,
            ),
        )
        if reply.data:
            yield tuple(_stored(score) for score in reply.data)
        cursor = reply.meta.cursor or None
        if cursor is None:
            return


def _stored(score: ScoreV3) -> StoredScore:
    subject = score.subject
    trace_id = observation_id = None
    if subject is not None and subject.kind == "observation":
        trace_id, observation_id = subject.trace_id, subject.id
    elif subject is not None and subject.kind == "trace":
        trace_id = subject.id
    return StoredScore(
        id=score.id,
        name=score.name,
        value=score.value,
        data_type=score.data_type,
        timestamp=score.timestamp,
        source=score.source.value,
        trace_id=trace_id,
        observation_id=observation_id,
        environment=score.environment or None,
        comment=score.comment,
        metadata=score.metadata or {},
    )
