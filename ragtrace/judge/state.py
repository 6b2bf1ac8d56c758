"""Keep verdicts and spent tokens in SQLite; the only part of judging that speaks SQL.

Losing the file costs judge calls and an hour's count of tokens, never a right number. So nothing here fails a call:
where the file cannot be read or written, judging goes on without it.
"""

import json
import logging
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ragtrace.model import JsonValue

_LOGGER = logging.getLogger(__name__)
_SCHEMA = """
CREATE TABLE IF NOT EXISTS judge_cache (
    key TEXT PRIMARY KEY, findings TEXT NOT NULL, stored_at REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS judge_cache_age ON judge_cache (stored_at);
CREATE TABLE IF NOT EXISTS judge_tokens (
    hour INTEGER NOT NULL, model TEXT NOT NULL, calls INTEGER NOT NULL, prompt INTEGER NOT NULL,
    completion INTEGER NOT NULL, PRIMARY KEY (hour, model)
) WITHOUT ROWID;
"""
_MOST_ENTRIES: Final = 200_000
_PUTS_A_WRITE: Final = 16
_WRITES_A_SWEEP: Final = 64
_BUSY_SECONDS: Final = 1.0
SECONDS_AN_HOUR: Final = 3_600


class JudgeState:
    """The judge's tables in the scorer's state file."""

    def __init__(self, path: Path, most_entries: int = _MOST_ENTRIES) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._is_broken = False
        self._most_entries = most_entries
        self._unwritten: dict[str, tuple[str, float]] = {}
        self._writes = 0

    def get(self, key: str) -> JsonValue:
        """Return what is stored under the key, or None."""
        unwritten = self._unwritten.get(key)
        rows = [unwritten] if unwritten else self._run("SELECT findings FROM judge_cache WHERE key = ?", (key,))
        findings: JsonValue = json.loads(rows[0][0]) if rows else None
        return findings

    def put(self, key: str, findings: JsonValue, now: float) -> None:
        """Store findings; of too many entries the oldest go.

        Written a few at a time: a transaction each would cost more than all the rest of a call. A process that is
        killed loses those few, and judges them again.
        """
        self._unwritten[key] = (json.dumps(findings, ensure_ascii=False), now)
        if len(self._unwritten) >= _PUTS_A_WRITE:
            self.write()

    def write(self) -> None:
        """Write what was put."""
        rows, self._unwritten = self._unwritten, {}
        values = [value for key, (findings, stored_at) in rows.items() for value in (key, findings, stored_at)]
        self._run(f"INSERT OR REPLACE INTO judge_cache VALUES {', '.join(['(?, ?, ?)'] * len(rows))}", values)
        self._writes += 1
        if self._writes % _WRITES_A_SWEEP == 0:
            self._run(
                "DELETE FROM judge_cache WHERE stored_at <= (SELECT stored_at FROM judge_cache "
                "ORDER BY stored_at DESC LIMIT 1 OFFSET ?)",
                (self._most_entries,),
            )

    def spend(self, model: str, calls: int, *, prompt: int, completion: int, now: float) -> None:
        """Add replies to the hour's count."""
        self._run(
            "INSERT INTO judge_tokens VALUES (?, ?, ?, ?, ?) ON CONFLICT (hour, model) DO UPDATE SET "
            "calls = calls + excluded.calls, prompt = prompt + excluded.prompt, "
            "completion = completion + excluded.completion",
            (int(now // SECONDS_AN_HOUR), model, calls, prompt, completion),
        )

    def spent(self, now: float) -> int:
        """Return the tokens of all models in the clock hour, of all processes that share the file."""
        hour = int(now // SECONDS_AN_HOUR)
        rows = self._run("SELECT COALESCE(SUM(prompt + completion), 0) FROM judge_tokens WHERE hour = ?", (hour,))
        return int(rows[0][0]) if rows else 0

    def close(self) -> None:
        """Write what was put, and close the file."""
        if self._unwritten:
            self.write()
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _run(self, statement: str, values: Sequence[str | float]) -> Sequence[tuple[str, ...]]:
        if self._is_broken:
            return []
        try:
            if self._connection is None:
                self._connection = _open(self._path)
            return self._connection.execute(statement, values).fetchall()
        except (sqlite3.Error, OSError) as exc:
            # A lock passes; anything else would be said again for every call.
            self._is_broken = not isinstance(exc, sqlite3.OperationalError) or "locked" not in str(exc)
            _LOGGER.warning("%s: judging goes on without its cache: %s", self._path, exc)
            return []


def _open(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    # One judge may serve several event loops, each in a thread of its own; SQLite itself keeps them apart.
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.executescript(_SCHEMA)
    return connection
