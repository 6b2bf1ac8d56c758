"""What instrumentations of one process tell each other: passages that belong to no block, and who follows what runs."""

from collections.abc import Callable, Sequence

from ragtrace.model import Passage

Listener = Callable[[tuple[Passage, ...]], None]
"""Is told passages that belong to no `rag_call` block."""

_listeners: list[Listener] = []
_followers: list[Callable[[], bool]] = []


def hear_retrieved(listener: Listener) -> None:
    """Be told what `ragtrace.retrieved` is told outside any `rag_call` block; the listener knows what runs here."""
    if listener not in _listeners:
        _listeners.append(listener)


def hears_retrieved(listener: Listener | None) -> bool:
    """Whether somebody else than this listener wants to be told."""
    return any(other is not listener for other in _listeners)


def stop_hearing(listener: Listener) -> None:
    """Be told no more."""
    if listener in _listeners:
        _listeners.remove(listener)


def tell_retrieved(passages: Sequence[Passage], *, teller: Listener | None = None) -> None:
    """Tell everybody what was retrieved here, except the one who says so."""
    for listener in _listeners:
        if listener is not teller:
            listener(tuple(passages))


def note_follower(is_following: Callable[[], bool]) -> None:
    """Say how to find out whether a handler follows the code that runs here."""
    if is_following not in _followers:
        _followers.append(is_following)


def is_followed() -> bool:
    """Tell whether a handler follows the code that runs here, and so records the model call that it makes."""
    return any(is_following() for is_following in _followers)
