"""Keep captured calls in memory instead of sending them, for tests."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ragtrace.capture.client import Capture, using
from ragtrace.capture.emit import Emitter
from ragtrace.capture.guard import raising
from ragtrace.capture.pipeline import PipelineConfig, private_provider
from ragtrace.capture.precedence import Precedence
from ragtrace.capture.record import CapturedCall, UnwrittenCall, write_call
from ragtrace.model import JsonValue
from ragtrace.semconv import LANGFUSE_INPUT, LANGFUSE_OUTPUT, SCOPE_NAME


class CapturedCalls(Capture):
    """The rag-calls of a test, each written at once, on the thread that made it."""

    def __init__(self, config: PipelineConfig) -> None:
        super().__init__(config)
        self._exporter = InMemorySpanExporter()
        self._order = Precedence()
        self._emitter = Emitter(
            settings=config.settings, mask=config.mask, limit_bytes=config.settings.capture_record_bytes
        )
        provider = private_provider(config.mask)
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self._tracer = provider.get_tracer(SCOPE_NAME)

    def accept(self, call: CapturedCall | UnwrittenCall) -> None:
        """Write the call now."""
        for chosen in self._order.choose(write_call(call)):
            self._emitter.emit(chosen, self._tracer)

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        """The rag-call spans so far."""
        return self._exporter.get_finished_spans()

    @property
    def inputs(self) -> list[dict[str, JsonValue]]:
        """What stands on each span as input: question, passages, what was received of them."""
        return [json.loads(str((span.attributes or {})[LANGFUSE_INPUT])) for span in self.spans]

    @property
    def answers(self) -> list[str | None]:
        """The answer on each span."""
        found = ((span.attributes or {}).get(LANGFUSE_OUTPUT) for span in self.spans)
        return [None if answer is None else str(answer) for answer in found]

    def clear(self) -> None:
        """Forget the calls so far."""
        self._exporter.clear()


@contextmanager
def capture_in_memory(config: PipelineConfig) -> Iterator[CapturedCalls]:
    """Collect the rag-calls of a block that name no project of their own; failures of capture are raised."""
    calls = CapturedCalls(config)
    with using(calls), raising():
        yield calls
