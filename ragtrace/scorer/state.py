"""The scorer's state file: which calls are done, and which scores wait to be sent; the only module here with SQL.

Losing the file costs judge calls, never a duplicate: the marks in Langfuse say the same.
"""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from ragtrace.errors import ConfigError
from ragtrace.langfuse import OutgoingScore
from ragtrace.scorer.pauses import pause_after
from ragtrace.scorer.records import CallScores

CallKey = tuple[str, str]
"""(trace id, observation id)"""
Status = Literal["queued", "done", "refused"]
_SCHEMA = 1
_ASKED_AT_ONCE = 400
_SENT_AT_ONCE = 2000
_TABLES = """
CREATE TABLE IF NOT EXISTS ledger (
    project TEXT, trace_id TEXT, observation_id TEXT, status TEXT NOT NULL, outcome TEXT,
    PRIMARY KEY (project, trace_id, observation_id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS outbox (
    number INTEGER PRIMARY KEY AUTOINCREMENT, project TEXT NOT NULL, trace_id TEXT NOT NULL,
    observation_id TEXT NOT NULL, score_id TEXT NOT NULL, is_mark INTEGER NOT NULL, body BLOB NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS outbox_score ON outbox (project, score_id);
CREATE INDEX IF NOT EXISTS outbox_call ON outbox (project, trace_id, observation_id, is_mark);
CREATE TABLE IF NOT EXISTS retries (
    project TEXT, trace_id TEXT, observation_id TEXT, tries INTEGER NOT NULL, reason TEXT NOT NULL,
    due_at TEXT NOT NULL, started_at TEXT NOT NULL, PRIMARY KEY (project, trace_id, observation_id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS retries_due ON retries (project, due_at);
CREATE TABLE IF NOT EXISTS slots (
    project TEXT, start TEXT, threshold REAL NOT NULL, expected REAL NOT NULL, PRIMARY KEY (project, start)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS positions (
    project TEXT, name TEXT, value TEXT NOT NULL, PRIMARY KEY (project, name)
) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A call whose mark Langfuse has taken."""

    key: CallKey
    outcome: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """A call that is to be tried again."""

    key: CallKey
    started_at: datetime
    tries: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """Five minutes of calls under a token budget."""

    threshold: float
    """Share of the sampled calls that is judged."""
    expected: float
    """Tokens that all of them would cost."""


class StateFile:
    """Ledger and outbox of one Langfuse project; several projects may share the file.

    Every method is one transaction, so that a process killed at any point leaves a file that the next one can use.
    """

    def __init__(self, path: Path, *, project: str) -> None:
        """Open or create the file.

        Args:
            path: The file.
            project: Names the Langfuse project; what was done in one says nothing about another.

        Raises:
            ConfigError: the file cannot be used.
        """
        self._project = project
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(path, isolation_level="IMMEDIATE", timeout=10.0)
            try:
                self._prepare()
            except sqlite3.Error:
                self._database.close()
                raise
        except (OSError, sqlite3.Error) as exc:
            raise ConfigError(
                f"RAGTRACE_STATE={str(path)!r}: cannot be used ({exc}): name a writable file, or move this one away"
            ) from exc

    def _prepare(self) -> None:
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = NORMAL")
        version = self._database.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, _SCHEMA):
            raise sqlite3.DatabaseError(f"written by another version of ragtrace, schema {version}")
        self._database.executescript(_TABLES)
        self._database.execute(f"PRAGMA user_version = {_SCHEMA}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._database.close()

    def section(self, name: str) -> Self:
        """Return a ledger, outbox and list of retries of their own, in the same file, for calls of another kind."""
        other = copy(self)
        other._project = f"{self._project} {name}"
        return other

    def has_trace(self, trace_id: str) -> bool:
        """Tell whether any call of a trace was dealt with or is to be tried again."""
        tables = " UNION ALL ".join(
            f"SELECT 1 FROM {t} WHERE project = ? AND trace_id = ?" for t in ("ledger", "retries")
        )
        return self._database.execute(tables, (self._project, trace_id) * 2).fetchone() is not None

    def known(self, keys: Iterable[CallKey]) -> dict[CallKey, Status]:
        """Return the status of those calls that were dealt with before."""
        return self._in("ledger", set(keys), "status")

    def _in(self, table: str, wanted: set[CallKey], column: str) -> dict[CallKey, Any]:
        """Return a column of a table by call, for the wanted calls that it holds."""
        traces = sorted({trace_id for trace_id, _ in wanted})
        found: dict[CallKey, Any] = {}
        for start in range(0, len(traces), _ASKED_AT_ONCE):
            some = traces[start : start + _ASKED_AT_ONCE]
            places = ",".join("?" * len(some))
            rows = self._database.execute(
                f"SELECT trace_id, observation_id, {column} FROM {table} WHERE project = ? AND trace_id IN ({places})",
                (self._project, *some),
            )
            found |= {(trace, call): value for trace, call, value in rows if (trace, call) in wanted}
        return found

    def remember_done(self, keys: Iterable[CallKey]) -> None:
        """Note calls about which nothing is left to do, such as those that carry their mark in Langfuse already."""
        calls = [(self._project, *key) for key in keys]
        with self._database as database:
            database.executemany("INSERT OR IGNORE INTO ledger VALUES (?, ?, ?, 'done', NULL)", calls)
            database.executemany(f"DELETE FROM retries WHERE {_THIS_CALL}", calls)

    def enqueue(self, key: CallKey, scores: CallScores) -> None:
        """Put a judged call's scores into the outbox, in place of older ones of the same call."""
        call = (self._project, *key)
        rows = [(*call, s.id, s is scores.mark, s.body) for s in (*scores.scores, scores.mark)]
        with self._database as database:
            database.execute("INSERT OR REPLACE INTO ledger VALUES (?, ?, ?, 'queued', ?)", (*call, scores.outcome))
            database.execute(f"DELETE FROM outbox WHERE {_THIS_CALL}", call)
            database.executemany(
                "INSERT OR REPLACE INTO outbox (project, trace_id, observation_id, score_id, is_mark, body) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                rows,
            )
            database.execute(f"DELETE FROM retries WHERE {_THIS_CALL}", call)

    def outgoing(self) -> tuple[OutgoingScore, ...]:
        """Return scores to send, oldest first; a mark only when all other scores of its call have arrived."""
        rows = self._database.execute(
            "SELECT score_id, body FROM outbox AS this WHERE project = ? AND (is_mark = 0 OR NOT EXISTS ("
            "  SELECT 1 FROM outbox AS other WHERE other.project = this.project AND other.trace_id = this.trace_id"
            "  AND other.observation_id = this.observation_id AND other.is_mark = 0"
            ")) ORDER BY number LIMIT ?",
            (self._project, _SENT_AT_ONCE),
        )
        return tuple(OutgoingScore(id=score_id, body=body) for score_id, body in rows)

    def outbox_bytes(self) -> int:
        """Return how much waits to be sent."""
        row = self._database.execute(
            "SELECT COALESCE(SUM(LENGTH(body)), 0) FROM outbox WHERE project = ?", (self._project,)
        ).fetchone()
        return int(row[0])

    def acknowledge(self, score_ids: Sequence[str]) -> tuple[Finished, ...]:
        """Take scores that Langfuse has taken out of the outbox; return the calls that this finished."""
        ids = [(self._project, score_id) for score_id in score_ids]
        finished: list[Finished] = []
        with self._database as database:
            for one in ids:
                row = database.execute(
                    "DELETE FROM outbox WHERE project = ? AND score_id = ? RETURNING trace_id, observation_id, is_mark",
                    one,
                ).fetchone()
                if row and row[2]:
                    finished.append(self._finish((row[0], row[1])))
        return tuple(finished)

    def _finish(self, key: CallKey) -> Finished:
        outcome = self._database.execute(
            f"UPDATE ledger SET status = 'done' WHERE {_THIS_CALL} RETURNING outcome", (self._project, *key)
        ).fetchone()[0]
        return Finished(key=key, outcome=outcome)

    def refuse(self, score_ids: Sequence[str]) -> tuple[CallKey, ...]:
        """Give up calls of which Langfuse refused a score: they get no mark, and are not sent again."""
        with self._database as database:
            calls = {
                key
                for score_id in score_ids
                for key in database.execute(
                    "SELECT trace_id, observation_id FROM outbox WHERE project = ? AND score_id = ?",
                    (self._project, score_id),
                )
            }
            for key in calls:
                database.execute(f"DELETE FROM outbox WHERE {_THIS_CALL}", (self._project, *key))
                database.execute(f"UPDATE ledger SET status = 'refused' WHERE {_THIS_CALL}", (self._project, *key))
        return tuple(sorted(calls))

    def postpone(self, key: CallKey, *, started_at: datetime, reason: str, now: datetime) -> None:
        """Note a call to be tried again: after a minute, and after twice the pause each time, up to an hour."""
        with self._database as database:
            row = database.execute(f"SELECT tries FROM retries WHERE {_THIS_CALL}", (self._project, *key)).fetchone()
            tries = (row[0] if row else 0) + 1
            due_at = now + pause_after(tries)
            database.execute(
                "INSERT OR REPLACE INTO retries VALUES (?, ?, ?, ?, ?, ?, ?)",
                (self._project, *key, tries, reason, _text(due_at), _text(started_at)),
            )

    def postponed(self, keys: Iterable[CallKey]) -> set[CallKey]:
        """Return those of the calls that are put off."""
        return set(self._in("retries", set(keys), "tries"))

    def expire(self, before: datetime) -> int:
        """Stop trying calls that started before; return how many there were."""
        with self._database as database:
            return database.execute(
                "DELETE FROM retries WHERE project = ? AND started_at < ?", (self._project, _text(before))
            ).rowcount

    def due(self, now: datetime, *, limit: int) -> tuple[Retry, ...]:
        """Return calls whose time to be tried again has come, the longest overdue first."""
        rows = self._database.execute(
            "SELECT trace_id, observation_id, started_at, tries FROM retries WHERE project = ? AND due_at <= ? "
            "ORDER BY due_at LIMIT ?",
            (self._project, _text(now), limit),
        )
        return tuple(
            Retry(key=(trace, call), started_at=datetime.fromisoformat(started), tries=tries)
            for trace, call, started, tries in rows
        )

    def slots(self, since: datetime) -> dict[datetime, Slot]:
        """Return the slots from a moment on whose thresholds are fixed."""
        rows = self._database.execute(
            "SELECT start, threshold, expected FROM slots WHERE project = ? AND start >= ?",
            (self._project, _text(since)),
        )
        return {datetime.fromisoformat(start): Slot(threshold=t, expected=e) for start, t, e in rows}

    def fix_slots(self, slots: Mapping[datetime, Slot]) -> None:
        """Fix thresholds; one that is fixed stays as it is, since calls were drawn with it."""
        with self._database as database:
            database.executemany(
                "INSERT OR IGNORE INTO slots VALUES (?, ?, ?, ?)",
                [(self._project, _text(start), slot.threshold, slot.expected) for start, slot in slots.items()],
            )

    def position(self, name: str) -> datetime | None:
        """Return a remembered moment, for example up to where calls were read."""
        row = self._database.execute(
            "SELECT value FROM positions WHERE project = ? AND name = ?", (self._project, name)
        ).fetchone()
        return datetime.fromisoformat(row[0]) if row else None

    def move_position(self, name: str, moment: datetime) -> None:
        """Remember a moment."""
        with self._database as database:
            database.execute("INSERT OR REPLACE INTO positions VALUES (?, ?, ?)", (self._project, name, _text(moment)))


_THIS_CALL = "project = ? AND trace_id = ? AND observation_id = ?"


def _text(moment: datetime) -> str:
    """Return a form that sorts as text."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")
