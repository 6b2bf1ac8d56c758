"""Give what a handler sees inside a `rag_call` block to that block, so that both together are one record."""

from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from dataclasses import replace
from typing import Protocol

from ragtrace.capture.record import CapturedCall, UnwrittenCall, write_call
from ragtrace.model import Passage


class Block(Protocol):
    """An open `rag_call` block."""

    def retrieved(self, documents: Iterable[object]) -> None:
        """Add what retrieval returned."""

    def prompt(self, messages: object) -> None:
        """Say what the generator is sent."""

    def answer(self, answer: object) -> None:
        """Say what the generator answered."""

    def take(self, call: UnwrittenCall, capture: object) -> bool:
        """Take a handler's call, unless it is meant for another project than the block's."""


AROUND: ContextVar[Block | None] = ContextVar("ragtrace_rag_call", default=None)
"""The block that is open here."""


def is_taken(call: CapturedCall | UnwrittenCall, capture: object) -> bool:
    """Offer a finished call to the block around it; what people capture by hand stands alone."""
    block = AROUND.get()
    return block is not None and isinstance(call, UnwrittenCall) and block.take(call, capture)


def is_in_block() -> bool:
    """Whether a `rag_call` block is open here."""
    return AROUND.get() is not None


def join(told: CapturedCall, seen: Sequence[UnwrittenCall]) -> UnwrittenCall:
    """Return a block's call, to be completed on the background thread with what handlers saw inside it."""
    size = sum(call.size for call in seen) + len(told.question) + len(told.answer or "")
    return UnwrittenCall(
        write=lambda: (_complete(told, [written for call in seen for written in write_call(call)]),),
        size=size,
    )


def _complete(told: CapturedCall, seen: Sequence[CapturedCall]) -> CapturedCall:
    """Let the last call that a handler saw tell what the program did not."""
    if not seen:
        return told
    last = seen[-1]
    passages = told.passages if told.passages is not None else _last_known(seen)
    return replace(
        last,
        question=told.question,
        answer=last.answer if told.answer is None else told.answer,
        passages=passages,
        prompt_parts=told.prompt_parts or last.prompt_parts,
        # They name passages by their place.
        citations=last.citations if passages is last.passages else (),
        start_ns=min(told.start_ns, last.start_ns),
        end_ns=max(told.end_ns, last.end_ns),
        reference=last.reference if told.reference is None else told.reference,
        session=told.session or last.session,
        user=told.user or last.user,
        tags=tuple(dict.fromkeys((*told.tags, *last.tags))),
        metadata={**last.metadata, **told.metadata},
        marks=tuple(dict.fromkeys((*told.marks, *last.marks))),
        error=last.error if told.error is None else told.error,
    )


def _last_known(seen: Sequence[CapturedCall]) -> tuple[Passage, ...] | None:
    return next((call.passages for call in reversed(seen) if call.passages is not None), None)
