"""Let the program's own threads go first."""

import time
from collections.abc import Callable

_MOMENT_SECONDS = 50e-6
_BUSY_SECONDS = 1e-3
_LONGER = 4
_LONGEST_SECONDS = 0.02
_PATIENCE_SECONDS = 1.0

Clock = Callable[[], float]

_patient_until = 0.0


def begin(*, clock: Clock = time.monotonic) -> None:
    """Begin a portion of background work, of which the first second may be put off while the program is busy."""
    global _patient_until
    _patient_until = clock() + _PATIENCE_SECONDS


def hurry() -> None:
    """Put nothing off any more: too much is waiting."""
    global _patient_until
    _patient_until = 0.0


def give_way(*, clock: Clock = time.monotonic, sleep: Callable[[float], None] = time.sleep) -> None:
    """Give up the interpreter for a moment, between two pieces of background work.

    A thread that does not do so keeps it for the whole switch interval (5 ms) each time that it gets it, and a burst
    of finishing calls is just when the program's threads want it, too. Where it is long in coming back, they do: then
    they are left alone for some more time, so that the burst is over first.
    """
    start = clock()
    sleep(_MOMENT_SECONDS)
    end = clock()
    if end - start > _BUSY_SECONDS and end < _patient_until:
        sleep(min(_LONGER * (end - start), _LONGEST_SECONDS))
