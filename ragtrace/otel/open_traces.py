"""Spans of traces that still run, by their local root, within bounds of bytes and time."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from sys import getsizeof
from typing import NamedTuple

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span

from ragtrace.model import Passage

_SPAN_BYTES = 1_000
_OWN = ("gen_ai.", "openinference.", "langfuse.observation.", "traceloop.")

SpanKey = tuple[int, int]
"""(trace id, span id)"""


class Content(NamedTuple):
    """What an instrumentation handed to the completion hook instead of writing it on its span."""

    inputs: object
    outputs: object
    instructions: object


class Told(NamedTuple):
    """Passages that the application said it retrieved."""

    passages: tuple[Passage, ...]
    span: SpanKey
    """The span that it said so in."""
    at_ns: int


@dataclass(slots=True, kw_only=True, eq=False)
class OpenTrace:
    """What happened so far under one local root: the first span of a trace in this process."""

    root: SpanKey
    context: Context
    """What the root was started in; session, user and tags may be there."""
    opened: float
    live: dict[SpanKey, Span] = field(default_factory=dict)
    """Every span that was started, for a record to be put under."""
    ended: list[ReadableSpan] = field(default_factory=list)
    contents: dict[SpanKey, Content] = field(default_factory=dict)
    told: list[Told] = field(default_factory=list)
    size: int = 0
    """Bytes that the attributes keep alive, about."""
    is_genai: bool = False
    """Some span follows a convention that we read."""


class OpenTraces:
    """The traces that run now. Not safe for threads: whoever uses it holds a lock."""

    def __init__(self, *, limit_bytes: int, limit_seconds: float) -> None:
        self._limit_bytes = limit_bytes
        self._limit_seconds = limit_seconds
        self._by_span: dict[SpanKey, OpenTrace] = {}
        self._by_root: dict[SpanKey, OpenTrace] = {}
        self._size = 0
        self.given_up = 0
        """Traces that were too large, or whose root never ended."""

    def start(self, span: Span, parent: SpanKey | None, *, context: Context, now: float) -> None:
        """Note a span that begins; one whose parent is not of this process, or has ended, is a local root."""
        self._sweep(now)
        key = key_of(span)
        trace = self._by_span.get(parent) if parent else None
        if trace is None:
            trace = OpenTrace(root=key, context=context, opened=now)
            self._by_root[key] = trace
        trace.live[key] = span
        self._by_span[key] = trace

    def note_content(self, key: SpanKey, content: Content) -> None:
        """Keep what belongs to a span that still runs."""
        trace = self._by_span.get(key)
        if trace is not None:
            trace.contents[key] = content
            self._grow(trace, _weight(content.inputs) + _weight(content.outputs) + _weight(content.instructions))

    def note_told(self, told: Told) -> None:
        """Keep passages that belong to a span that still runs."""
        trace = self._by_span.get(told.span)
        if trace is not None:
            trace.told.append(told)
            self._grow(trace, sum(getsizeof(passage.text) for passage in told.passages))

    def end(self, span: ReadableSpan) -> OpenTrace | None:
        """Note a span that ended; return its trace if it was the local root, which is then forgotten here."""
        key = key_of(span)
        trace = self._by_span.get(key)
        if trace is None:
            return None
        attributes = span.attributes or {}
        trace.ended.append(span)
        trace.is_genai = trace.is_genai or any(name.startswith(_OWN) for name in attributes)
        self._grow(trace, _SPAN_BYTES + sum(map(_weight, attributes.values())))
        if trace.root != key:
            return None
        self._forget(trace)
        return trace

    def clear(self) -> None:
        """Forget everything."""
        for trace in list(self._by_root.values()):
            self._forget(trace)

    def _grow(self, trace: OpenTrace, size: int) -> None:
        trace.size += size
        self._size += size
        while self._size > self._limit_bytes and self._by_root:
            self._give_up(next(iter(self._by_root.values())))

    def _sweep(self, now: float) -> None:
        for trace in self._late(now):
            self._give_up(trace)

    def _late(self, now: float) -> Iterator[OpenTrace]:
        """Yield traces that run too long, the oldest first; a root that was never ended would stay for ever."""
        while self._by_root and now - (oldest := next(iter(self._by_root.values()))).opened > self._limit_seconds:
            yield oldest

    def _give_up(self, trace: OpenTrace) -> None:
        self.given_up += 1
        self._forget(trace)

    def _forget(self, trace: OpenTrace) -> None:
        self._by_root.pop(trace.root, None)
        for key in trace.live:
            self._by_span.pop(key, None)
        self._size -= trace.size


def key_of(span: ReadableSpan) -> SpanKey:
    """Return what identifies a span."""
    context = span.get_span_context()
    return (context.trace_id, context.span_id) if context else (0, 0)


def _weight(value: object) -> int:
    """Estimate the bytes of a value: texts to the byte, structures by their items."""
    if isinstance(value, list | tuple):
        return sum(map(_weight, value))
    return getsizeof(value)
