"""Keep what is small and few: score configs, annotation queues and their items, datasets, comments."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from uuid import uuid4

from ragtrace.local.store_database import Database, Row, SqlValue
from ragtrace.local.wire import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One object of some kind; `body` holds what is particular to it."""

    kind: str
    id: str
    parent: str = ""
    """What it belongs to: a queue, a dataset, the object commented on."""
    name: str = ""
    status: str = ""
    body: dict[str, Json] = field(default_factory=dict)
    created_ms: int = 0
    updated_ms: int = 0
    """Set by the store, as is `created_ms`."""


class Records:
    """Records of every kind, newest first."""

    def __init__(self, database: Database, now_ms: Callable[[], int]) -> None:
        self._database = database
        self._now_ms = now_ms

    def create(self, record: Record) -> Record:
        """Store a new record; an empty id is made up."""
        now = self._now_ms()
        stored = replace(record, id=record.id or str(uuid4()), created_ms=now, updated_ms=now)
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT INTO records (kind, id, parent, name, status, created_ms, updated_ms, body) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                _to_row(stored),
            )
        return stored

    def update(self, record: Record) -> Record:
        """Change a stored record, keeping when it was created."""
        stored = replace(record, updated_ms=self._now_ms())
        with self._database.transaction() as connection:
            connection.execute(
                "UPDATE records SET kind = ?1, id = ?2, parent = ?3, name = ?4, status = ?5, created_ms = ?6, "
                "updated_ms = ?7, body = ?8 WHERE kind = ?1 AND id = ?2",
                _to_row(stored),
            )
        return stored

    def get(self, kind: str, record_id: str) -> Record | None:
        rows = self._database.read("SELECT * FROM records WHERE kind = ? AND id = ?", [kind, record_id])
        return _from_row(rows[0]) if rows else None

    def find(self, kind: str, name: str) -> Record | None:
        """Return the newest record of a name."""
        rows = self._database.read(
            "SELECT * FROM records WHERE kind = ? AND name = ? ORDER BY number DESC LIMIT 1", [kind, name]
        )
        return _from_row(rows[0]) if rows else None

    def delete(self, kind: str, record_id: str) -> None:
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM records WHERE kind = ? AND id = ?", [kind, record_id])

    def page(self, kind: str, matching: "Matching", *, limit: int, page: int) -> tuple[list[Record], int]:
        """Return one page, newest first, and how many there are in all."""
        wanted = [(f"{column} = ?", value) for column, value in matching.columns() if value is not None]
        sql = " AND ".join(["kind = ?", *(clause for clause, _ in wanted)])
        values: Sequence[SqlValue] = [kind, *(value for _, value in wanted)]
        total = int(self._database.read(f"SELECT count(*) FROM records WHERE {sql}", values)[0][0])
        rows = self._database.read(
            f"SELECT * FROM records WHERE {sql} ORDER BY number DESC LIMIT ? OFFSET ?",
            [*values, limit, (page - 1) * limit],
        )
        return [_from_row(row) for row in rows], total


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """Which records a page is of; None: any."""

    parent: str | None = None
    name: str | None = None
    status: str | None = None
    trace_id: str | None = None
    """`sourceTraceId` of a dataset item."""
    observation_id: str | None = None
    author_id: str | None = None

    def columns(self) -> tuple[tuple[str, str | None], ...]:
        return (
            ("parent", self.parent),
            ("name", self.name),
            ("status", self.status),
            ("body ->> '$.sourceTraceId'", self.trace_id),
            ("body ->> '$.sourceObservationId'", self.observation_id),
            ("body ->> '$.authorUserId'", self.author_id),
        )


def _to_row(record: Record) -> tuple[SqlValue, ...]:
    return (
        record.kind,
        record.id,
        record.parent,
        record.name,
        record.status,
        record.created_ms,
        record.updated_ms,
        json.dumps(record.body),
    )


def _from_row(row: Row) -> Record:
    return Record(
        kind=row["kind"],
        id=row["id"],
        parent=row["parent"],
        name=row["name"],
        status=row["status"],
        created_ms=row["created_ms"],
        updated_ms=row["updated_ms"],
        body=json.loads(row["body"]),
    )
