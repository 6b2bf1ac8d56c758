"""Rebuild the calls of a trace that carries no rag-call of ours."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ragtrace import align
from ragtrace.extract.assemble import Assembled, assemble
from ragtrace.extract.gather import DocumentLookup
from ragtrace.extract.row import ObservationRow
from ragtrace.extract.span import Labels, from_otel, from_row
from ragtrace.model import RagCall

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan


def read_trace(
    spans: "Iterable[ObservationRow | ReadableSpan]", *, document_lookup: DocumentLookup | None = None
) -> tuple[RagCall, ...]:
    """Rebuild the calls of one trace from the spans of any instrumentation, or from what Langfuse made of them.

    Every call has the id of the model call that answered: that is where its scores belong. Where the passages or the
    prompt are unknown, `delivery` is None and a mark says why.

    Args:
        spans: All spans of the trace.
        document_lookup: Returns the texts of documents by id, where the convention carries no text.
    """
    read = [from_row(span) if isinstance(span, ObservationRow) else from_otel(span) for span in spans]
    return tuple(_rag_call(call) for call in assemble(read, document_lookup=document_lookup))


def _rag_call(call: Assembled) -> RagCall:
    passages, labels = call.passages, _labels(call)
    return RagCall(
        id=call.generator.id,
        trace_id=call.generator.trace_id,
        observation_id=call.generator.id,
        started_at=call.generator.started_at,
        question=call.question,
        answer=call.answer or "",
        delivery=None if passages is None else align.align(passages, call.prompt_parts),
        question_rewritten=call.question_rewritten,
        model=call.model,
        environment=labels.environment,
        tags=labels.tags,
        session=labels.session or call.conversation,
        user=labels.user,
        release=labels.release,
        confidence=call.confidence,
        marks=call.marks,
    )


def _labels(call: Assembled) -> Labels:
    """Return the root's labels: children may have been sent before they were known."""
    root, own = call.root.labels, call.generator.labels
    return Labels(
        environment=root.environment or own.environment,
        release=root.release or own.release,
        session=root.session or own.session,
        user=root.user or own.user,
        trace_name=root.trace_name or own.trace_name,
        tags=root.tags or own.tags,
    )
