"""How long one call may take, and how long to wait before a request is repeated."""

import asyncio
from random import Random
from typing import Final

_LONGEST_PAUSE: Final = 20.0
_JITTER: Final = 0.1


class Deadline:
    """The time limit of one call; it runs from the call's first request, not while the call waits for its turn."""

    def __init__(self, seconds: float, timeout: asyncio.Timeout) -> None:
        self._seconds = seconds
        self._timeout = timeout

    def start(self, now: float) -> None:
        """Note that a request leaves the queue."""
        if self._timeout.when() is None:
            self._timeout.reschedule(now + self._seconds)

    def allows(self, pause: float, now: float) -> bool:
        """Tell whether the call may still wait that long."""
        when = self._timeout.when()
        return when is None or now + pause < when


class Pauses:
    """Waits that double, with jitter, and are never shorter than the endpoint asks for."""

    def __init__(self, first_seconds: float, random: Random) -> None:
        self._first_seconds = first_seconds
        self._random = random

    def after(self, attempts: int, asked_seconds: float | None) -> float:
        """Return the seconds to wait after that many failed attempts."""
        seconds = asked_seconds if asked_seconds is not None else self._doubled(attempts)
        return seconds * (1 + _JITTER * self._random.random())

    def _doubled(self, attempts: int) -> float:
        return min(_LONGEST_PAUSE, self._first_seconds * 2.0 ** (attempts - 1))
