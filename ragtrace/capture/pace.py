"""Let the program's own threads go first."""

import time

_MOMENT_SECONDS = 50e-6


def give_way() -> None:
    """Give up the interpreter for a moment, between two pieces of background work.

    A thread that does not do so keeps it for the whole switch interval (5 ms) each time that it gets it, and a burst
    of finishing calls is just when the program's threads want it, too.
    """
    time.sleep(_MOMENT_SECONDS)
