"""What an instrumentor hands over when one answer is finished: references and strings, nothing computed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from opentelemetry.context import Context
from opentelemetry.trace import TracerProvider

from ragtrace.model import Citation, Confidence, Passage


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedCall:
    """One finished answer, as an instrumentor saw it."""

    question: str
    answer: str | None
    """None where the generator failed or was abandoned before it said anything."""
    passages: tuple[Passage, ...] | None
    """What retrieval returned, in order; None: no retrieval was seen, so the passages are unknown."""
    prompt_parts: tuple[str, ...]
    """Texts of the messages that the generator was sent, in order."""
    start_ns: int
    """First retrieval's start, else the generator's; nanoseconds since the epoch."""
    end_ns: int
    """The generator's end; nanoseconds since the epoch."""
    context: Context | None = None
    """The caller's OTel context, with the span to be under; None: a trace of its own."""
    provider: TracerProvider | None = None
    """The provider that the parent span came from, if known."""
    question_rewritten: str | None = None
    candidates: tuple[Passage, ...] = ()
    """What retrieval found before reranking dropped it: shown, never judged."""
    reference: str | None = None
    relevant_ids: tuple[str, ...] = ()
    citations: tuple[Citation, ...] = ()
    model: str | None = None
    response_id: str | None = None
    trace_name: str | None = None
    session: str | None = None
    user: str | None = None
    conversation: str | None = None
    """Id of the conversation that the answer is a turn of, as the framework knows it."""
    tags: tuple[str, ...] = ()
    environment: str | None = None
    release: str | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    """Run metadata of any type; made JSON on the background thread."""
    confidence: Confidence = "high"
    marks: tuple[str, ...] = ()
    error: BaseException | None = None
    is_rebuilt: bool = False
    """Made from the spans of another instrumentation: gives way to a record that a handler made in the same trace."""


@dataclass(slots=True, kw_only=True, eq=False)
class UnwrittenCall:
    """Finished work of which an instrumentor kept the strings only; records are made on the background thread."""

    write: Callable[[], Sequence[CapturedCall]]
    """Makes a record for each answer; called once. None: nothing was answered after all."""
    size: int
    """Characters that it keeps alive."""


def write_call(call: CapturedCall | UnwrittenCall) -> Sequence[CapturedCall]:
    """Return the records of a call, made now if they were not."""
    return call.write() if isinstance(call, UnwrittenCall) else (call,)
