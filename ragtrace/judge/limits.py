"""How many requests may be in flight: as many as allowed, fewer once the endpoint says so, none once it is shut."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

PROBE_SECONDS: Final = 2.0
"""Before the first reply one request is tried at a time; after so long without one, another."""
MOST_PROBES: Final = 3
_FIRST_PATIENCE: Final = 50
_MOST_PATIENCE: Final = 5_000
_SHORTEST_GAP: Final = 0.05
_LONGEST_GAP: Final = 1.0
_SHUT_SECONDS: Final = 60.0


@dataclass(slots=True, kw_only=True)
class Throttle:
    """Finds the endpoint's limit and stays under it; plain arithmetic on times that it is given.

    A refusal halves the number in flight, once for all requests that were in flight together. The number grows back
    to just under the one that was refused, and beyond it only after a growing count of successes. Where even one at
    a time is refused, starts are spread out instead.
    """

    most: int
    """Never more in flight than this."""
    limit: float = 0.0
    ceiling: float = 0.0
    """The limit grows fast up to here and slowly beyond."""
    gap: float = 0.0
    """Least seconds between two starts."""
    is_proven: bool = False
    """The endpoint gave a reply."""
    not_before: float = 0.0
    """No start before this time."""
    _first_start: float | None = None
    _last_start: float = 0.0
    _last_cut: float = 0.0
    _successes: int = 0
    _patience: int = _FIRST_PATIENCE

    def __post_init__(self) -> None:
        self.limit = self.ceiling = float(self.most)

    def wait(self, now: float, in_flight: int) -> float | None:
        """Return the seconds until one more request may start, 0 for now, None if one must end first."""
        if not self.is_proven and (held := self._probe_wait(now, in_flight)) != 0:
            return held
        if in_flight >= int(self.limit):
            return None
        return max(0.0, self.not_before - now, self._last_start + self.gap - now if self.gap else 0.0)

    def _probe_wait(self, now: float, in_flight: int) -> float | None:
        if in_flight >= min(MOST_PROBES, self.most):
            return None
        if self._first_start is None or not in_flight:
            return 0.0
        return max(0.0, self._first_start + in_flight * PROBE_SECONDS - now)

    def start_over(self) -> None:
        """Try one request at a time again, as before the first reply."""
        self.is_proven, self._first_start = False, None

    def started(self, now: float) -> None:
        """Note that a request starts."""
        self._last_start = now
        if self._first_start is None:
            self._first_start = now

    def succeeded(self) -> None:
        """Note that a request was answered."""
        self.is_proven = True
        self._successes += 1
        if self.limit < self.ceiling:
            self.limit = min(self.ceiling, self.limit + 1 / self.limit)
        if self._successes < self._patience:
            return
        self._successes = 0
        self.gap = self.gap * 0.7 if self.gap > _SHORTEST_GAP else 0.0
        if not self.gap:
            self.ceiling = min(float(self.most), self.ceiling + 1)

    def refused(self, started: float, now: float, retry_after: float | None) -> None:
        """Note that a request that started then was refused for being one too many.

        Args:
            started: When the request started.
            now: When it was refused.
            retry_after: Seconds that the endpoint asked to wait, if it did.
        """
        if started < self._last_cut:
            return
        self._last_cut = now
        if self.limit <= 1:
            longest = _LONGEST_GAP if retry_after is None else retry_after
            self.gap = min(longest, max(self.gap * 2, _SHORTEST_GAP))
            self.not_before = max(self.not_before, now + (retry_after or 0.0))
        self._patience = min(_MOST_PATIENCE, self._patience * 2) if self._successes else self._patience
        self._successes = 0
        self.ceiling = max(1.0, min(self.ceiling, self.limit) - 1)
        self.limit = max(1.0, self.limit / 2)


@dataclass(slots=True)
class Breaker:
    """Opens when the endpoint says that no request will succeed: wrong key, no quota, no such model."""

    reason: str | None = None
    _until: float = 0.0

    def open(self, reason: str, now: float) -> None:
        """Let nothing through for a while."""
        self.reason, self._until = reason, now + _SHUT_SECONDS

    def is_open(self, now: float) -> bool:
        """Tell whether requests are pointless now; after a while one may try again."""
        return self.reason is not None and now < self._until

    def close(self) -> None:
        """Let everything through: a request succeeded."""
        self.reason = None


class Gate:
    """Lets requests of one event loop start in the order in which they came, as the throttle allows."""

    def __init__(self, throttle: Throttle) -> None:
        self._throttle = throttle
        self._in_flight = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[float]:
        """Wait for a place, and give the loop's time of the start."""
        loop = asyncio.get_running_loop()
        if self._waiting or self._throttle.wait(loop.time(), self._in_flight) != 0:
            await self._queue(loop)
        else:
            self._start(loop)
        try:
            yield loop.time()
        finally:
            self._in_flight -= 1
            self._let_in(loop)

    async def _queue(self, loop: asyncio.AbstractEventLoop) -> None:
        turn = loop.create_future()
        self._waiting.append(turn)
        self._let_in(loop)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._in_flight -= 1
            self._let_in(loop)
            raise

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        self._in_flight += 1
        self._throttle.started(loop.time())

    def _let_in(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start everything that may start now, and come back when the next one may."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._waiting:
            if self._waiting[0].done():
                self._waiting.popleft()
                continue
            wait = self._throttle.wait(loop.time(), self._in_flight)
            if wait is None:
                return
            if wait > 0:
                self._timer = loop.call_later(wait, self._let_in, loop)
                return
            self._start(loop)
            self._waiting.popleft().set_result(None)
