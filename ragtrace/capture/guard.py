"""Keep ragtrace's own failures out of the program that it watches."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from os.path import basename
from traceback import extract_tb
from types import TracebackType

from ragtrace.errors import RagtraceError

logger = logging.getLogger(__name__)

_MOST_KINDS = 200
_FRAMES_SHOWN = 4
_seen: set[tuple[str, str]] = set()
_raising = 0


class guard:  # noqa: N801 - used as a statement: `with guard("placing a call"):`
    """Swallow what fails inside, logged once for each kind; `with guard("placing a call"):`.

    Only `Exception`s: an interrupt or a cancellation belongs to the program. Messages of foreign exceptions are not
    logged, since they may hold the user's text.
    """

    __slots__ = ("_doing",)

    def __init__(self, doing: str) -> None:
        self._doing = doing

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, Exception) or _raising:
            return False
        _log_once(self._doing, error, trace)
        return True

    def caught(self, error: Exception) -> None:
        """Treat an exception as if it had come up inside; raises it again under `raising`."""
        if _raising:
            raise error
        _log_once(self._doing, error, error.__traceback__)


@contextmanager
def raising() -> Iterator[None]:
    """Let guarded failures through, for tests."""
    global _raising
    _raising += 1
    try:
        yield
    finally:
        _raising -= 1


def _log_once(doing: str, error: Exception, trace: TracebackType | None) -> None:
    kind = (doing, str(error) if isinstance(error, RagtraceError) else type(error).__qualname__)
    if kind in _seen:
        return
    if len(_seen) >= _MOST_KINDS:
        _seen.clear()
    _seen.add(kind)
    if isinstance(error, RagtraceError):
        logger.error("ragtrace: %s: %s", doing, error)
        return
    frames = extract_tb(trace)[-_FRAMES_SHOWN:]
    place = " < ".join(f"{basename(frame.filename)}:{frame.lineno}" for frame in reversed(frames))
    logger.error(
        "ragtrace: %s failed with %s at %s; your program is not affected, this is logged once",
        doing,
        type(error).__qualname__,
        place,
    )
