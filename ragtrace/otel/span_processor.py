"""Make rag-calls of the spans that any instrumentation writes."""

import os
import sys
import threading
import time
from collections.abc import Callable
from weakref import WeakSet

from opentelemetry.context import Context, get_current
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.trace import get_current_span

from ragtrace.capture import Capture, UnwrittenCall, current, guard, hear_retrieved
from ragtrace.extract import DocumentLookup
from ragtrace.model import Passage
from ragtrace.otel.open_traces import Content, OpenTrace, OpenTraces, Told, key_of
from ragtrace.otel.records import make_records
from ragtrace.semconv import SCOPE_NAME

_live: "WeakSet[RagSpanProcessor]" = WeakSet()


class RagSpanProcessor(SpanProcessor):
    """Collects the spans of a trace and, when its local root ends, captures the RAG calls that are in them.

    Add it to any provider: `provider.add_span_processor(ragtrace.RagSpanProcessor())`. Spans of OpenInference,
    Langfuse, OpenLLMetry and OpenTelemetry's own GenAI instrumentations are understood. Only references are kept
    while the program runs; reading is done on ragtrace's background thread. What `ragtrace.retrieved` is told inside a
    trace stands in place of retrieval spans without texts. Traces that are not sampled cost nothing,
    and where a ragtrace handler recorded the call itself, that record stands.
    """

    def __init__(
        self,
        *,
        client: Capture | None = None,
        document_lookup: DocumentLookup | None = None,
        limit_bytes: int = 64_000_000,
        limit_seconds: float = 600.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Watch a provider's spans.

        Args:
            client: The project, where several are configured.
            document_lookup: Returns the texts of documents by id, for instrumentations that write ids only. Called
                on the background thread.
            limit_bytes: Most bytes of attributes kept of running traces; beyond it the oldest trace is given up.
            limit_seconds: Longest time that a trace is waited for.
            clock: Tells the time in seconds.
        """
        self._client = client
        self._lookup = document_lookup
        self._clock = clock
        self._traces = OpenTraces(limit_bytes=limit_bytes, limit_seconds=limit_seconds)
        # Guards the running traces: spans end on any thread. Reentrant, for a signal handler that ends one.
        self._lock = threading.RLock()
        _live.add(self)
        hear_retrieved(_hear)

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Note that a span began."""
        with guard("noting the start of a span"):
            if not _is_wanted(span):
                return
            parent = span.parent
            known = (parent.trace_id, parent.span_id) if parent and not parent.is_remote else None
            context = parent_context if parent_context is not None else get_current()
            with self._lock:
                self._traces.start(span, known, context=context, now=self._clock())

    def on_end(self, span: ReadableSpan) -> None:
        """Note that a span ended; at the local root, hand its trace over."""
        with guard("noting the end of a span"):
            if not _is_wanted(span):
                return
            with self._lock:
                trace = self._traces.end(span)
            if trace is not None and trace.is_genai:
                self._submit(trace)

    def note_content(self, span: Span, content: Content) -> None:
        """Take what a completion hook was handed for a span that is about to end."""
        with self._lock:
            self._traces.note_content(key_of(span), content)

    def note_told(self, told: Told) -> None:
        """Take passages that the application said it retrieved."""
        with self._lock:
            self._traces.note_told(told)

    @property
    def given_up(self) -> int:
        """Traces that no call was read from, since they were too large or never ended."""
        return self._traces.given_up

    def shutdown(self) -> None:
        """Forget the traces that still run; what was handed over is the client's."""
        with self._lock:
            self._traces.clear()

    def after_fork_in_child(self) -> None:
        """Forget the traces that run in the parent, which captures them, and its lock, which nobody here holds."""
        self._lock = threading.RLock()
        self._traces.clear()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Wait until the calls captured so far are delivered."""
        with guard("flushing captured calls"):
            return self._find_client().flush(timeout_millis / 1000)
        return False

    def _submit(self, trace: OpenTrace) -> None:
        self._find_client().submit(UnwrittenCall(write=lambda: make_records(trace, self._lookup), size=trace.size))

    def _find_client(self) -> Capture:
        return current() if self._client is None else self._client


def live_processors() -> "list[RagSpanProcessor]":
    """Return the processors that some provider may use."""
    return list(_live)


def _hear(passages: tuple[Passage, ...]) -> None:
    context = get_current_span().get_span_context()
    for processor in live_processors():
        processor.note_told(Told(passages, (context.trace_id, context.span_id), time.time_ns()))


def _is_wanted(span: ReadableSpan) -> bool:
    """Leave out spans that nobody will see, and our own."""
    context = span.get_span_context()
    scope = span.instrumentation_scope
    return context is not None and context.trace_flags.sampled and (scope is None or scope.name != SCOPE_NAME)


# Runs only where a process forks; the method that it calls is tested.
def _after_fork_in_child() -> None:  # pragma: no cover
    for processor in live_processors():
        processor.after_fork_in_child()


# Windows has no fork, and no tests of ours.
if sys.platform != "win32":  # pragma: no branch
    os.register_at_fork(after_in_child=_after_fork_in_child)
