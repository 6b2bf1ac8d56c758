"""Score calls as they arrive, for ever: look back a little each time, far back now and then, again what is due."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol

from ragtrace.errors import BackendError, BackendRejected
from ragtrace.extract import ObservationRow
from ragtrace.judge import Judge
from ragtrace.langfuse import CallQuery, LangfuseApi
from ragtrace.scorer.moments import utc_now
from ragtrace.scorer.read_back import ReadBack
from ragtrace.scorer.reading import key_of
from ragtrace.scorer.state import Retry, StateFile
from ragtrace.scorer.tally import Tally
from ragtrace.scorer.window import ScoringOptions, score_again, score_calls

_READ = "read"
_SWEPT = "swept"
_RETRIES_A_PASS = 500
_GIVEN_UP_AFTER = timedelta(days=7)
_LONGEST_PAUSE_SECONDS = 300.0
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookback:
    """How far behind the last look calls may still turn up."""

    overlap: timedelta = timedelta(minutes=5)
    """For each look; Langfuse shows calls some seconds late, applications' clocks are off."""
    late: timedelta = timedelta(hours=2)
    """For the deep look."""
    sweep: timedelta = timedelta(minutes=15)
    """Time between two deep looks."""
    longest_call: timedelta = timedelta(minutes=10)
    """No call lasts longer; lets Langfuse skip older data."""


class Pass(Protocol):
    """Scores calls that are found in another way."""

    async def look(self, query: CallQuery, tally: Tally) -> None:
        """Score what is new; `query` is that of the first pass."""


class Follower:
    """Takes one look after the other. The watermark moves only past a window of which nothing was left out."""

    def __init__(
        self,
        api: LangfuseApi,
        judge: Judge,
        state: StateFile,
        *,
        options: ScoringOptions,
        lookback: Lookback,
        first_since: datetime,
        now: Callable[[], datetime] = utc_now,
        passes: Sequence[Pass] = (),
    ) -> None:
        """Follow one project.

        Args:
            passes: Come after the one over rag-calls, in each look.
            first_since: From where calls are read when nothing was read before.
        """
        self._api = api
        self._judge = judge
        self._state = state
        self._lookback = lookback
        self._first_since = first_since
        self._now = now
        self._passes = passes
        self._read_back = ReadBack()
        self._options = replace(
            options, postpone=self._postpone, put_off=state.postponed, on_written=self._note_written, now=now
        )

    async def look(self, tally: Tally) -> None:
        """Score what is new, then what is due again.

        Raises:
            BackendError: Langfuse could not be read or written; the next look starts where this one did.
        """
        started = self._now()
        is_deep = self._is_sweep_due(started)
        query = self._query(is_deep)
        await self._take_new(query, tally)
        for further in self._passes:
            if not tally.stopped_by:
                await further.look(query, tally)
        if tally.stopped_by:
            return
        self._state.move_position(_READ, started)
        if is_deep:
            self._state.move_position(_SWEPT, started)
        await self._look_again(tally)
        await self._read_back.check(self._api, now=self._now(), tally=tally)

    def lag(self) -> timedelta:
        """Return how long ago the last complete look began."""
        return self._now() - (self._state.position(_READ) or self._first_since)

    async def _look_again(self, tally: Tally) -> None:
        given_up = self._state.expire(self._now() - _GIVEN_UP_AFTER)
        if given_up:
            _logger.error("gave up %d calls that no judge took for %s", given_up, _GIVEN_UP_AFTER)
        due = self._state.due(self._now(), limit=_RETRIES_A_PASS)
        if due:
            await self._take_due(due, tally)

    async def _take_new(self, query: CallQuery, tally: Tally) -> None:
        await score_calls(self._api, self._judge, self._state, query=query, options=self._options, tally=tally)

    async def _take_due(self, due: Sequence[Retry], tally: Tally) -> None:
        await score_again(self._api, self._judge, self._state, retries=due, options=self._options, tally=tally)

    def _is_sweep_due(self, now: datetime) -> bool:
        swept = self._state.position(_SWEPT)
        return swept is None or now - swept >= self._lookback.sweep

    def _query(self, is_deep: bool) -> CallQuery:
        read = self._state.position(_READ)
        if read is None:
            return CallQuery(since=self._first_since)
        ended_since = read - (max(self._lookback.late, self._lookback.overlap) if is_deep else self._lookback.overlap)
        return CallQuery(ended_since=ended_since, since=ended_since - self._lookback.longest_call)

    def _note_written(self, score_ids: Sequence[str]) -> None:
        self._read_back.note(score_ids, self._now())

    def _postpone(self, row: ObservationRow, reason: str) -> None:
        self._state.postpone(key_of(row), started_at=row.start_time, reason=reason, now=self._now())


async def follow(
    follower: Follower,
    *,
    stopping: asyncio.Event,
    poll_seconds: float,
    on_look: Callable[[Tally, BackendError | None], None],
) -> None:
    """Take looks until told to stop; after a look that failed, wait longer each time.

    Raises:
        BackendRejected: Langfuse refuses us; waiting would not help.
    """
    failures = 0
    while not stopping.is_set():
        tally, error = Tally(), None
        try:
            await follower.look(tally)
        except BackendRejected:
            raise
        except BackendError as exc:
            error = exc
        on_look(tally, error)
        failures = failures + 1 if error or tally.stopped_by else 0
        pause = min(poll_seconds * 2**failures, max(poll_seconds, _LONGEST_PAUSE_SECONDS))
        try:
            async with asyncio.timeout(pause):
                await stopping.wait()
        except TimeoutError:
            continue
