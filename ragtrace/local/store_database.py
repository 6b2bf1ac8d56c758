"""Open the SQLite file and keep its tables."""

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

SqlValue = None | int | float | str
Row = sqlite3.Row

_SCHEMA_VERSION = 1
_SCHEMA = """
CREATE TABLE observations (
    trace_id TEXT NOT NULL, id TEXT NOT NULL, start_ms INTEGER NOT NULL, trace_hash INTEGER NOT NULL,
    end_ms INTEGER, parent_id TEXT, type TEXT NOT NULL, name TEXT NOT NULL, level TEXT NOT NULL,
    status_message TEXT NOT NULL, version TEXT NOT NULL, environment TEXT NOT NULL, user_id TEXT NOT NULL,
    session_id TEXT NOT NULL, is_root INTEGER NOT NULL, is_public INTEGER NOT NULL, trace_name TEXT,
    release TEXT NOT NULL, tags TEXT NOT NULL, completion_start_ms INTEGER, model TEXT NOT NULL,
    model_parameters TEXT NOT NULL, usage TEXT NOT NULL, cost TEXT NOT NULL, prompt_name TEXT NOT NULL,
    prompt_version INTEGER, updated_ms INTEGER NOT NULL, metadata TEXT NOT NULL, input TEXT, output TEXT,
    PRIMARY KEY (trace_id, id, start_ms)
);
CREATE INDEX observations_newest ON observations (start_ms DESC, trace_hash DESC, id DESC);
CREATE INDEX observations_by_name ON observations (name, start_ms DESC, trace_hash DESC, id DESC);
CREATE INDEX observations_by_id ON observations (id);

CREATE TABLE scores (
    id TEXT NOT NULL, name TEXT NOT NULL, day INTEGER NOT NULL, timestamp_ms INTEGER NOT NULL, trace_id TEXT,
    session_id TEXT, observation_id TEXT, dataset_run_id TEXT, data_type TEXT NOT NULL, number REAL, text TEXT,
    environment TEXT NOT NULL, source TEXT NOT NULL, config_id TEXT, queue_id TEXT, author_user_id TEXT,
    created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL, comment TEXT, metadata TEXT NOT NULL,
    PRIMARY KEY (id, name, day)
);
CREATE INDEX scores_newest ON scores (timestamp_ms DESC, id DESC);
CREATE INDEX scores_by_trace ON scores (trace_id);
CREATE INDEX scores_by_name ON scores (name, timestamp_ms DESC, id DESC);

CREATE TABLE records (
    number INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, id TEXT NOT NULL, parent TEXT NOT NULL,
    name TEXT NOT NULL, status TEXT NOT NULL, created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL,
    body TEXT NOT NULL, UNIQUE (kind, id)
);
CREATE INDEX records_by_parent ON records (kind, parent, number DESC);
CREATE INDEX records_by_name ON records (kind, name);
"""


class Database:
    """One connection to one file, shared by all threads."""

    def __init__(self, path: Path | str) -> None:
        """Open or create the file.

        Raises:
            sqlite3.Error: the file is no database of ours, or cannot be opened.
        """
        self._connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._connection.row_factory = sqlite3.Row
        # Guards the connection: a transaction of one thread must not take in another thread's statements.
        self._lock = threading.RLock()
        try:
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._create()
        except sqlite3.Error:
            self._connection.close()
            raise

    def _create(self) -> None:
        with self.transaction() as connection:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version == 0:
                for statement in filter(str.strip, _SCHEMA.split(";")):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")
            elif version != _SCHEMA_VERSION:
                raise sqlite3.DatabaseError(f"its tables have version {version}, not {_SCHEMA_VERSION}")

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Write all or nothing."""
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def read(self, sql: str, parameters: Sequence[SqlValue] = ()) -> list[Row]:
        with self._lock:
            return self._connection.execute(sql, parameters).fetchall()

    def close(self) -> None:
        with self._lock:
            self._connection.close()
