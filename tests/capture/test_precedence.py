"""Which record of a trace stands."""

from functools import cache

from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

from ragtrace.capture import CapturedCall
from ragtrace.capture.precedence import Precedence


@cache
def call(trace_id: int, *, rebuilt: bool) -> CapturedCall:
    span = NonRecordingSpan(SpanContext(trace_id, 1, is_remote=False, trace_flags=TraceFlags(1)))
    return CapturedCall(
        question="When?",
        answer="At six.",
        passages=(),
        prompt_parts=(),
        start_ns=1,
        end_ns=2,
        context=set_span_in_context(span) if trace_id else None,
        is_rebuilt=rebuilt,
    )


def test_a_handlers_record_stands_before_a_rebuilt_one():
    """Within a batch, whichever came first, and in later batches; other traces and calls without one are untouched."""
    order = Precedence()
    first = order.choose([call(1, rebuilt=True), call(1, rebuilt=False), call(2, rebuilt=True), call(0, rebuilt=True)])
    later = order.choose([call(1, rebuilt=True), call(2, rebuilt=True)])

    assert first == [call(1, rebuilt=False), call(2, rebuilt=True), call(0, rebuilt=True)]
    assert later == [call(2, rebuilt=True)]


def test_the_memory_of_traces_is_bounded():
    """Only so many traces are remembered, the latest."""
    order = Precedence()
    order.choose([call(number, rebuilt=False) for number in range(1, 10_003)])

    assert order.choose([call(2, rebuilt=True), call(3, rebuilt=True)]) == [call(2, rebuilt=True)]
