"""Remember, in the scorer's state file, which alarms were raised, so that each is told once."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Self

from ragtrace.errors import ConfigError

_SCHEMA = """
CREATE TABLE IF NOT EXISTS alarms (
    project TEXT NOT NULL, rule TEXT NOT NULL, definition TEXT NOT NULL, is_raised INTEGER NOT NULL, changed_at TEXT,
    PRIMARY KEY (project, rule)
) WITHOUT ROWID;
"""
_BUSY_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What is known of a rule from earlier looks."""

    is_raised: bool = False
    changed_at: datetime | None = None
    """When the last change began that was told of."""


class AlarmBook:
    """The entries of one project; a rule that was redefined starts afresh."""

    def __init__(self, connection: sqlite3.Connection, project: str) -> None:
        self._connection = connection
        self._project = project

    @classmethod
    @contextmanager
    def open(cls, path: Path, *, project: str) -> Iterator[Self]:
        """Open the file, made if it is not there.

        Raises:
            ConfigError: it cannot be read or written.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
            connection.executescript(_SCHEMA)
        except (OSError, sqlite3.Error) as exc:
            raise ConfigError(f"RAGTRACE_STATE={path}: cannot be used ({exc}); name a file that can") from None
        try:
            yield cls(connection, project)
        finally:
            connection.close()

    def read(self, rule: str, definition: str) -> Entry:
        """Return the entry of a rule with this definition."""
        row = self._connection.execute(
            "SELECT is_raised, changed_at FROM alarms WHERE project = ? AND rule = ? AND definition = ?",
            (self._project, rule, definition),
        ).fetchone()
        if row is None:
            return Entry()
        return Entry(is_raised=bool(row[0]), changed_at=datetime.fromisoformat(row[1]) if row[1] else None)

    def write(self, rule: str, definition: str, entry: Entry) -> None:
        """Keep an entry."""
        changed_at = entry.changed_at.isoformat() if entry.changed_at else None
        self._connection.execute(
            "INSERT OR REPLACE INTO alarms VALUES (?, ?, ?, ?, ?)",
            (self._project, rule, definition, entry.is_raised, changed_at),
        )
