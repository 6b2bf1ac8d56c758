"""Capture by hand: `rag_call` around a piece of code, `retrieved` where no event tells of the passages."""

import time
from asyncio import CancelledError
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import TracebackType
from typing import Self, TypeVar

from opentelemetry.context import _SUPPRESS_INSTRUMENTATION_KEY, get_current, get_value

from ragtrace.capture import client as clients
from ragtrace.capture.around import AROUND, Block, join
from ragtrace.capture.client import Capture
from ragtrace.capture.documents import to_answer, to_passages, to_texts
from ragtrace.capture.guard import guard
from ragtrace.capture.instrumentors import tell_retrieved
from ragtrace.capture.record import CapturedCall, UnwrittenCall
from ragtrace.model import Passage
from ragtrace.semconv import MARK_ABANDONED

Documents = TypeVar("Documents", bound=Iterable[object])
Messages = TypeVar("Messages")
Answer = TypeVar("Answer")


class RagCallScope:
    """One answer in the making; it is captured where the `with` block ends.

    Its methods return nothing, never raise, and may be called from any thread.
    """

    def __init__(self, start: CapturedCall, *, client: Capture | None = None) -> None:
        self._call = start
        self._client = client
        self._passages: list[Passage] | None = None
        self._outer: Block | None = None
        self._seen: list[UnwrittenCall] = []

    def retrieved(self, documents: Iterable[object]) -> None:
        """Add what retrieval returned, best first; an empty list says that it found nothing."""
        with guard("reading retrieved passages"):
            self._passages = _append(self._passages or [], to_passages(documents))

    def prompt(self, messages: object) -> None:
        """Say what the generator is sent; the last prompt before the answer counts."""
        with guard("reading a prompt"):
            self._call = replace(self._call, prompt_parts=to_texts(messages))

    def answer(self, answer: object) -> None:
        """Say what the generator answered."""
        with guard("reading an answer"):
            self._call = replace(self._call, answer=to_answer(answer))

    @property
    def is_answered(self) -> bool:
        """Whether `answer` was called."""
        return self._call.answer is not None

    @contextmanager
    def active(self) -> Iterator[None]:
        """Let `ragtrace.retrieved` find this call, without ending it."""
        outer = AROUND.get()
        AROUND.set(self)
        try:
            yield
        finally:
            AROUND.set(outer)

    def finish(self, error: BaseException | None = None) -> None:
        """Capture the call as it stands."""
        with guard("capturing a call"):
            if get_value(_SUPPRESS_INSTRUMENTATION_KEY):
                return
            told = self._finished(error)
            self._capture().accept(join(told, self._seen) if self._seen else told)

    def take(self, call: UnwrittenCall, capture: object) -> bool:
        """Keep what a handler saw inside the block, for what the block is not told."""
        if capture is not self._capture():
            return False
        self._seen.append(call)
        return True

    def _capture(self) -> Capture:
        return self._client or clients.current()

    def __enter__(self) -> Self:
        self._call = replace(self._call, start_ns=time.time_ns(), context=get_current())
        self._outer = AROUND.get()
        AROUND.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        AROUND.set(self._outer)
        self.finish(error)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)

    def _finished(self, error: BaseException | None) -> CapturedCall:
        call = self._call
        is_abandoned = isinstance(error, GeneratorExit | CancelledError)
        marks = (MARK_ABANDONED,) if is_abandoned else ()
        is_whole = bool(call.prompt_parts) or call.answer is None
        return replace(
            call,
            passages=None if self._passages is None else tuple(self._passages),
            end_ns=time.time_ns(),
            error=None if is_abandoned else error,
            marks=marks,
            confidence="high" if is_whole else "low",
        )


def rag_call(
    question: str,
    *,
    client: Capture | None = None,
    session: str | None = None,
    user: str | None = None,
    tags: Sequence[str] = (),
    metadata: Mapping[str, object] | None = None,
    reference: str | None = None,
) -> RagCallScope:
    """Capture one answer made by your own code: `with rag_call(question) as call:`, or `async with`.

    Inside, say what was retrieved, what the generator was sent and what it answered. Without a prompt, passages
    count as received whole, which is marked.

    Args:
        question: What was asked.
        client: The project, where several are configured.
        session: Session that the answer belongs to.
        user: Who asked.
        tags: Tags of the trace.
        metadata: Short values to find the answer by.
        reference: A known good answer.
    """
    start = CapturedCall(
        question=question,
        answer=None,
        passages=None,
        prompt_parts=(),
        start_ns=time.time_ns(),
        end_ns=0,
        context=get_current(),
        session=session,
        user=user,
        tags=tuple(tags),
        metadata=dict(metadata or {}),
        reference=reference,
    )
    return RagCallScope(start, client=client)


def retrieved(documents: Documents) -> Documents:
    """Tell the call around this code what was retrieved, and return it: `docs = ragtrace.retrieved(search(q))`.

    For passages that no event tells of, such as a vector store's. The call is the `rag_call` block around, else the
    chain that a handler follows here.
    """
    with guard("reading retrieved passages"):
        scope = AROUND.get()
        if scope is not None:
            scope.retrieved(documents)
        else:
            tell_retrieved(to_passages(documents))
    return documents


def prompted(messages: Messages) -> Messages:
    """Tell the `rag_call` around this code what the generator is sent, and return it."""
    scope = AROUND.get()
    if scope is not None:
        scope.prompt(messages)
    return messages


def answered(answer: Answer) -> Answer:
    """Tell the `rag_call` around this code what the generator answered, and return it."""
    scope = AROUND.get()
    if scope is not None:
        scope.answer(answer)
    return answer


def _append(known: list[Passage], more: Sequence[Passage]) -> list[Passage]:
    """Add passages, ranked after those that are known."""
    first = len(known)
    known.extend(replace(passage, rank=first + passage.rank) for passage in more)
    return known
