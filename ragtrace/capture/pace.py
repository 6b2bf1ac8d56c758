"""Let the program's own threads go first."""

import time
from collections.abc import Callable

_MOMENT_SECONDS = 50e-6
_BUSY_SECONDS = 4e-4
_PAUSE_SECONDS = 0.01
_PATIENCE_SECONDS = 1.0

Clock = Callable[[], float]

_NEVER = -1.0
_patient_until = 0.0


def begin(*, clock: Clock = time.monotonic) -> None:
    """Begin a portion of background work, of which the first second may be put off while the program is busy."""
    global _patient_until
    _patient_until = clock() + _PATIENCE_SECONDS


def hurry() -> None:
    """Give way no more until the next portion begins: too much is waiting."""
    global _patient_until
    _patient_until = _NEVER


def give_way(*, clock: Clock = time.monotonic, sleep: Callable[[float], None] = time.sleep) -> None:
    """Give up the interpreter between two pieces of background work, until nobody else wants it.

    A thread that does not do so keeps it for the whole switch interval (5 ms) each time that it gets it, and a burst
    of finishing calls is just when the program's threads want it, too. Where it is long in coming back, they do.
    """
    while _patient_until != _NEVER:
        start = clock()
        sleep(_MOMENT_SECONDS)
        end = clock()
        if end - start <= _BUSY_SECONDS or end >= _patient_until:
            return
        sleep(_PAUSE_SECONDS)
