"""Keep everything that was sent, in one SQLite file; SQL is in the `store_*` modules only."""

import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from ragtrace.local.store_database import Database
from ragtrace.local.store_observations import Observations
from ragtrace.local.store_records import Records
from ragtrace.local.store_scores import Scores


def _wall_clock_ms() -> int:
    return time.time_ns() // 1_000_000


class Store:
    """The server's memory. Any thread may use it; it must be closed."""

    def __init__(self, path: Path | str, *, now_ms: Callable[[], int] = _wall_clock_ms) -> None:
        """Open or create the file.

        Raises:
            sqlite3.Error: the file is no database of ours, or cannot be opened.
        """
        self.now_ms = now_ms
        self._database = Database(path)
        self.observations = Observations(self._database, now_ms)
        self.scores = Scores(self._database, now_ms)
        self.records = Records(self._database, now_ms)

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
