"""Remember what was retrieved in this context, for the model call whose prompt holds it."""

import time
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace

from ragtrace.capture import shows
from ragtrace.model import Passage

_MOST = 16
_SECONDS = 60.0
_TRIED = 8


@dataclass(slots=True, eq=False)
class Told:
    """One retrieval; `passages` is emptied once an answer has used it, so that idle contexts keep no texts alive."""

    passages: tuple[Passage, ...]
    at: float
    is_used: bool = False


_here: ContextVar[tuple[Told, ...]] = ContextVar("ragtrace_openai_told", default=())


def hear(passages: tuple[Passage, ...]) -> None:
    """Remember passages that belong to no `rag_call` block."""
    now = time.monotonic()
    kept = tuple(told for told in _here.get() if not told.is_used and now - told.at < _SECONDS)
    _here.set((*kept[1 - _MOST :], Told(passages, now)))


def find(prompt: Sequence[str]) -> tuple[Told, ...]:
    """Return the retrievals of this context that a prompt holds, and those that found nothing."""
    now = time.monotonic()
    fresh = [told for told in _here.get() if not told.is_used and now - told.at < _SECONDS]
    return tuple(
        told
        for told in fresh
        if not told.passages or any(shows(passage.text, prompt) for passage in told.passages[:_TRIED])
    )


def use(retrievals: Sequence[Told]) -> tuple[Passage, ...]:
    """Return the passages of all of them, each text once, ranked one after the other; they are not found again."""
    found: dict[str, Passage] = {}
    for told in retrievals:
        for passage in told.passages:
            found.setdefault(passage.text, passage)
        told.is_used, told.passages = True, ()
    return tuple(replace(passage, rank=rank) for rank, passage in enumerate(found.values()))
