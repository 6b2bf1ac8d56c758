"""How long a call waits before it is tried again."""

from datetime import timedelta

_FIRST = timedelta(minutes=1)
_LONGEST = timedelta(hours=1)


def pause_after(tries: int) -> timedelta:
    """Return the pause after so many tries: a minute, and twice as long each time, up to an hour."""
    return min(_FIRST * 2.0 ** min(tries - 1, 10), _LONGEST)
