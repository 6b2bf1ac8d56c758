"""Follow one request of the client from its arguments to its answer."""

import time
from collections.abc import Mapping
from typing import Literal, Protocol

from opentelemetry.context import get_current

from ragtrace.capture import CapturedCall, UnwrittenCall
from ragtrace.model import Confidence, Passage
from ragtrace.semconv import MARK_ABANDONED
from ragtrace_instrumentation_openai import told
from ragtrace_instrumentation_openai.prompts import find_question, read_chat, read_response
from ragtrace_instrumentation_openai.replies import Answer

Api = Literal["chat", "responses"]
_LEFT = (GeneratorExit, KeyboardInterrupt)


class Client(Protocol):
    """Takes finished calls: `ragtrace.capture`, what `ragtrace.configure` returns, or a list in a test."""

    def submit(self, call: UnwrittenCall, /) -> None:
        """Take over a finished call without waiting."""


class Request:
    """One model call: references to what it was sent, and then what came back."""

    def __init__(self, api: Api, arguments: Mapping[str, object], client: Client, *, is_in_block: bool) -> None:
        self._prompt = (read_chat if api == "chat" else read_response)(arguments)
        model = arguments.get("model")
        self._asked_model = model if isinstance(model, str) else None
        self._client = client
        self._is_in_block = is_in_block
        self._start_ns = time.time_ns()
        self._context = get_current()
        self._retrieved = () if is_in_block else told.find(self._prompt.parts)
        self.answer = Answer()

    @property
    def has_ground(self) -> bool:
        """Whether anything says that this is a RAG answer: a block, passages in the prompt, or a tool's result."""
        return bool(self._is_in_block or self._retrieved or self._prompt.tool_results)

    def finish(self, error: BaseException | None = None) -> None:
        """Hand the call over, unless nothing was said: then the model called a tool, or the program left at once."""
        is_left = isinstance(error, _LEFT)
        failure = error if isinstance(error, Exception) else None
        if self.answer.text is None and failure is None:
            return
        passages = self._passages(is_final=failure is None)
        asked = self._prompt.asked or ""
        question = find_question(asked, passages or ())
        confidence: Confidence = "low" if is_left or question != asked.strip() else "medium" if asked else "low"
        record = CapturedCall(
            question=question,
            answer=self.answer.text,
            passages=passages,
            prompt_parts=self._prompt.parts,
            start_ns=self._start_ns,
            end_ns=time.time_ns(),
            context=self._context,
            model=self._asked_model or self.answer.model,
            response_id=self.answer.response_id,
            confidence=confidence,
            error=failure,
            marks=(MARK_ABANDONED,) if is_left else (),
        )
        size = sum(map(len, self._prompt.parts)) + sum(len(p.text) for p in passages or ())
        self._client.submit(UnwrittenCall(write=lambda: (record,), size=size))

    def _passages(self, *, is_final: bool) -> tuple[Passage, ...] | None:
        """Return what retrieval found; after a failure it is kept for the next attempt."""
        if self._retrieved:
            if is_final:
                return told.use(self._retrieved)
            return tuple(passage for retrieval in self._retrieved for passage in retrieval.passages)
        results = self._prompt.tool_results
        return tuple(Passage(text=t, rank=r, source="tool") for r, t in enumerate(results)) if results else None
