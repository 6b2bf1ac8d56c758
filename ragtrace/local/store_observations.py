"""Keep observations."""

import json
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from ragtrace.local.conditions import Condition
from ragtrace.local.observation import Observation
from ragtrace.local.store_database import Database, Row, SqlValue
from ragtrace.local.store_sql import not_implied, where

_COLUMNS = {
    "id": "id",
    "traceId": "trace_id",
    "type": "type",
    "name": "name",
    "startTime": "start_ms",
    "endTime": "ifnull(end_ms, start_ms)",
    "environment": "environment",
    "level": "level",
    "statusMessage": "status_message",
    "version": "version",
    "release": "release",
    "userId": "user_id",
    "sessionId": "session_id",
    "isRootObservation": "is_root",
    "hasParentObservation": "parent_id IS NOT NULL",
    "parentObservationId": "ifnull(parent_id, '')",
    "traceName": "trace_name",
    "tags": "tags",
    "latency": "(end_ms - start_ms) / 1000.0",
    "timeToFirstToken": "(completion_start_ms - start_ms) / 1000.0",
    "inputTokens": "ifnull(usage ->> '$.input', 0)",
    "outputTokens": "ifnull(usage ->> '$.output', 0)",
    "totalTokens": "ifnull(usage ->> '$.total', 0)",
    "inputCost": "cost ->> '$.input'",
    "outputCost": "cost ->> '$.output'",
    "totalCost": "ifnull(cost ->> '$.total', 0)",
    "model": "model",
    "promptName": "prompt_name",
    "promptVersion": "prompt_version",
    "input": "input",
    "output": "output",
    "hasInput": "input IS NOT NULL",
    "hasOutput": "output IS NOT NULL",
    "metadata": "metadata",
    "updatedAt": "updated_ms",
}
"""Langfuse's names of what can be asked for."""

_STORED = (
    "trace_id, id, start_ms, trace_hash, end_ms, parent_id, type, name, level, status_message, version, environment, "
    "user_id, session_id, is_root, is_public, trace_name, release, tags, completion_start_ms, model, "
    "model_parameters, usage, cost, prompt_name, prompt_version, updated_ms, metadata, input, output"
)
_WITHOUT_CONTENT = _STORED.removesuffix(", input, output") + ", NULL AS input, NULL AS output"
_INSERT = f"INSERT OR REPLACE INTO observations ({_STORED}) VALUES ({','.join('?' * (_STORED.count(',') + 1))})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """The last row of a page."""

    start_ms: int
    trace_id: str
    id: str


class Observations:
    """Observations, newest start first; one with the same trace, id and start replaces the older."""

    def __init__(self, database: Database, now_ms: Callable[[], int]) -> None:
        self._database = database
        self._now_ms = now_ms

    def put(self, observations: Iterable[Observation]) -> None:
        """Store all or none.

        Raises:
            UnicodeEncodeError: a text has a lone surrogate.
        """
        now = self._now_ms()
        rows = [_to_row(replace(observation, updated_ms=now)) for observation in observations]
        with self._database.transaction() as connection:
            connection.executemany(_INSERT, rows)

    def list(
        self,
        conditions: Sequence[Condition] = (),
        *,
        limit: int,
        after: Position | None = None,
        with_content: bool = True,
    ) -> list[Observation]:
        """Return observations by start time, trace and id, all descending.

        Among equal start times the traces' order is by a hash, as in Langfuse (there another hash).

        Args:
            with_content: False leaves input and output out, which may be megabytes.
        """
        if after is not None:
            conditions = not_implied(conditions, "startTime", after.start_ms)
        sql, values = where(conditions, _COLUMNS)
        if after is not None:
            sql += " AND (start_ms, trace_hash, id) < (?, ?, ?)"
            values += [after.start_ms, _hash(after.trace_id), after.id]
        columns = _STORED if with_content else _WITHOUT_CONTENT
        rows = self._database.read(
            f"SELECT {columns} FROM observations WHERE {sql} ORDER BY start_ms DESC, trace_hash DESC, id DESC LIMIT ?",
            [*values, limit],
        )
        return [_from_row(row) for row in rows]

    def is_known(self, column: str, value: str) -> bool:
        """Tell whether any observation has this id, traceId or sessionId."""
        sql, values = where([Condition(column=column, operator="=", value=value)], _COLUMNS)
        return bool(self._database.read(f"SELECT 1 FROM observations WHERE {sql} LIMIT 1", values))

    def count(self) -> int:
        return int(self._database.read("SELECT count(*) FROM observations")[0][0])


def _hash(trace_id: str) -> int:
    return zlib.crc32(trace_id.encode())


def _to_row(observation: Observation) -> tuple[SqlValue, ...]:
    return (
        observation.trace_id,
        observation.id,
        observation.start_ms,
        _hash(observation.trace_id),
        observation.end_ms,
        observation.parent_id,
        observation.type,
        observation.name,
        observation.level,
        observation.status_message,
        observation.version,
        observation.environment,
        observation.user_id,
        observation.session_id,
        observation.is_root,
        observation.is_public,
        observation.trace_name,
        observation.release,
        json.dumps(observation.tags, ensure_ascii=False),
        observation.completion_start_ms,
        observation.model,
        json.dumps(observation.model_parameters),
        json.dumps(observation.usage),
        json.dumps(observation.cost),
        observation.prompt_name,
        observation.prompt_version,
        observation.updated_ms,
        json.dumps(observation.metadata, ensure_ascii=False),
        observation.input,
        observation.output,
    )


def _from_row(row: Row) -> Observation:
    return Observation(
        trace_id=row["trace_id"],
        id=row["id"],
        start_ms=row["start_ms"],
        end_ms=row["end_ms"],
        parent_id=row["parent_id"],
        type=row["type"],
        name=row["name"],
        level=row["level"],
        status_message=row["status_message"],
        version=row["version"],
        environment=row["environment"],
        user_id=row["user_id"],
        session_id=row["session_id"],
        is_root=bool(row["is_root"]),
        is_public=bool(row["is_public"]),
        trace_name=row["trace_name"],
        release=row["release"],
        tags=tuple(json.loads(row["tags"])),
        completion_start_ms=row["completion_start_ms"],
        model=row["model"],
        model_parameters=json.loads(row["model_parameters"]),
        usage=json.loads(row["usage"]),
        cost=json.loads(row["cost"]),
        prompt_name=row["prompt_name"],
        prompt_version=row["prompt_version"],
        updated_ms=row["updated_ms"],
        metadata=json.loads(row["metadata"]),
        input=row["input"],
        output=row["output"],
    )
