"""Keep scores."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from ragtrace.local.conditions import Condition
from ragtrace.local.score import Score, merge
from ragtrace.local.store_database import Database, Row, SqlValue
from ragtrace.local.store_sql import not_implied, where

_COLUMNS = {
    "id": "id",
    "name": "name",
    "source": "source",
    "dataType": "data_type",
    "environment": "environment",
    "configId": "config_id",
    "queueId": "queue_id",
    "authorUserId": "author_user_id",
    "traceId": "trace_id",
    "sessionId": "session_id",
    "observationId": "observation_id",
    "experimentId": "dataset_run_id",
    "timestamp": "timestamp_ms",
    "number": "number",
    "text": "text",
    "updatedAt": "updated_ms",
}
_STORED = (
    "id, name, day, timestamp_ms, trace_id, session_id, observation_id, dataset_run_id, data_type, number, text, "
    "environment, source, config_id, queue_id, author_user_id, created_ms, updated_ms, comment, metadata"
)
_INSERT = f"INSERT OR REPLACE INTO scores ({_STORED}) VALUES ({','.join('?' * (_STORED.count(',') + 1))})"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorePosition:
    """The last row of a page."""

    timestamp_ms: int
    id: str


class Scores:
    """Scores, newest timestamp first."""

    def __init__(self, database: Database, now_ms: Callable[[], int]) -> None:
        self._database = database
        self._now_ms = now_ms

    def put(self, scores: Iterable[Score]) -> None:
        """Store scores; one whose id, name and UTC day are stored already replaces that one, as from 4.59 on.

        Raises:
            UnicodeEncodeError: a text has a lone surrogate; nothing was stored.
        """
        now = self._now_ms()
        rows = [_to_row(replace(score, created_ms=now, updated_ms=now)) for score in scores]
        with self._database.transaction() as connection:
            connection.executemany(_INSERT, rows)

    def merge(self, scores: Iterable[Score]) -> None:
        """Store scores; one whose id is stored already changes that one, as in 4.16.

        Raises:
            UnicodeEncodeError: a text has a lone surrogate; nothing was stored.
        """
        now = self._now_ms()
        with self._database.transaction() as connection:
            for score in scores:
                new = replace(score, created_ms=now, updated_ms=now)
                found = connection.execute(f"SELECT {_STORED} FROM scores WHERE id = ?", [score.id]).fetchone()
                connection.execute("DELETE FROM scores WHERE id = ?", [score.id])
                connection.execute(_INSERT, _to_row(merge(_from_row(found), new) if found else new))

    def list(
        self, conditions: Sequence[Condition] = (), *, limit: int, after: ScorePosition | None = None
    ) -> list[Score]:
        """Return scores by timestamp and id, both descending."""
        if after is not None:
            conditions = not_implied(conditions, "timestamp", after.timestamp_ms)
        sql, values = where(conditions, _COLUMNS)
        if after is not None:
            sql += " AND (timestamp_ms, id) < (?, ?)"
            values += [after.timestamp_ms, after.id]
        rows = self._database.read(
            f"SELECT {_STORED} FROM scores WHERE {sql} ORDER BY timestamp_ms DESC, id DESC LIMIT ?",
            [*values, limit],
        )
        return [_from_row(row) for row in rows]

    def delete(self, score_id: str) -> None:
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM scores WHERE id = ?", [score_id])

    def count(self) -> int:
        return int(self._database.read("SELECT count(*) FROM scores")[0][0])


def _to_row(score: Score) -> tuple[SqlValue, ...]:
    is_text = isinstance(score.value, str)
    return (
        score.id,
        score.name,
        score.day,
        score.timestamp_ms,
        score.trace_id,
        score.session_id,
        score.observation_id,
        score.dataset_run_id,
        score.data_type,
        None if is_text else score.value,
        score.value if is_text else None,
        score.environment,
        score.source,
        score.config_id,
        score.queue_id,
        score.author_user_id,
        score.created_ms,
        score.updated_ms,
        score.comment,
        json.dumps(score.metadata, ensure_ascii=False),
    )


def _from_row(row: Row) -> Score:
    return Score(
        id=row["id"],
        name=row["name"],
        timestamp_ms=row["timestamp_ms"],
        trace_id=row["trace_id"],
        session_id=row["session_id"],
        observation_id=row["observation_id"],
        dataset_run_id=row["dataset_run_id"],
        data_type=row["data_type"],
        value=row["number"] if row["text"] is None else row["text"],
        environment=row["environment"],
        source=row["source"],
        config_id=row["config_id"],
        queue_id=row["queue_id"],
        author_user_id=row["author_user_id"],
        created_ms=row["created_ms"],
        updated_ms=row["updated_ms"],
        comment=row["comment"],
        metadata=json.loads(row["metadata"]),
    )
