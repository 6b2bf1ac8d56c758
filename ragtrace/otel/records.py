"""Turn the spans of a finished trace into the records that capture takes."""

from collections.abc import Mapping
from dataclasses import asdict, is_dataclass, replace

from opentelemetry.trace import set_span_in_context

from ragtrace.capture import CapturedCall
from ragtrace.extract import Assembled, DocumentLookup, assemble_steps
from ragtrace.extract.content import Found
from ragtrace.extract.conventions import read_step
from ragtrace.extract.span import Span, from_otel
from ragtrace.extract.step import Step
from ragtrace.extract.values import plain
from ragtrace.model import JsonValue
from ragtrace.otel.open_traces import Content, OpenTrace, Told, key_of

_ANSWERED = "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions"


def make_records(trace: OpenTrace, lookup: DocumentLookup | None) -> list[CapturedCall]:
    """Return a record for each RAG call in a trace."""
    spans = [_with_content(from_otel(span), trace.contents.get(key_of(span))) for span in trace.ended]
    steps = [step for step in map(read_step, spans) if not (trace.told and _lacks_text(step))]
    steps += [_told_step(told) for told in trace.told]
    return [_record(call, trace) for call in assemble_steps(steps, document_lookup=lookup)]


def _lacks_text(step: Step) -> bool:
    """Tell whether this is a retrieval whose passages the application tells, since the span does not."""
    return step.kind == "retriever" and (step.documents is None or any(d.text is None for d in step.documents))


def _told_step(told: Told) -> Step:
    """Make a retrieval of what the application said, inside the span that it said it in."""
    trace_id, span_id = told.span
    span = Span(
        # No span has this id, which is longer than theirs.
        id=f"{span_id:016x}-{told.at_ns}",
        trace_id=f"{trace_id:032x}",
        parent_id=f"{span_id:016x}",
        name="retrieved",
        start_ns=told.at_ns,
        end_ns=told.at_ns,
    )
    documents = tuple(Found(text=p.text, id=p.id, score=p.score, metadata=p.metadata) for p in told.passages)
    return Step(span=span, kind="retriever", documents=documents)


def _record(call: Assembled, trace: OpenTrace) -> CapturedCall:
    root = call.root
    parent = trace.live[int(root.trace_id, 16), int(root.id, 16)]
    labels, own = root.labels, call.generator.labels
    return CapturedCall(
        question=call.question,
        answer=call.answer,
        passages=call.passages,
        prompt_parts=call.prompt_parts,
        start_ns=call.started_ns,
        end_ns=call.generator.end_ns or call.started_ns,
        context=set_span_in_context(parent, trace.context),
        question_rewritten=call.question_rewritten,
        candidates=call.candidates,
        model=call.model,
        response_id=call.response_id,
        conversation=call.conversation,
        trace_name=labels.trace_name or own.trace_name,
        session=labels.session or own.session,
        user=labels.user or own.user,
        tags=labels.tags or own.tags,
        environment=labels.environment or own.environment,
        release=labels.release or own.release,
        confidence=call.confidence,
        marks=call.marks,
        is_rebuilt=True,
    )


def _with_content(span: Span, content: Content | None) -> Span:
    """Put what the completion hook was handed where the convention would have it; what is on the span stands."""
    if content is None:
        return span
    found = dict(zip(_ANSWERED, map(_as_json, content), strict=True))
    return replace(span, attributes={**{key: value for key, value in found.items() if value}, **span.attributes})


def _as_json(value: object) -> JsonValue:
    if isinstance(value, list | tuple):
        return [_as_json(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    return plain(value) if isinstance(value, str | Mapping) else None
