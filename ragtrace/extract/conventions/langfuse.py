"""Read spans of Langfuse's SDK, and observations that Langfuse's server made of anybody's spans."""

from collections.abc import Mapping

from ragtrace.extract.content import read_documents, read_messages, read_said
from ragtrace.extract.json_text import as_text
from ragtrace.extract.span import Span
from ragtrace.extract.step import Step, StepKind
from ragtrace.model import JsonValue
from ragtrace.semconv import (
    GEN_AI_OPERATION_NAME,
    GEN_AI_RESPONSE_ID,
    GEN_AI_RETRIEVAL_DOCUMENTS,
    LANGFUSE_INPUT,
    LANGFUSE_OUTPUT,
    LANGFUSE_TYPE,
)

_KINDS: dict[str, StepKind] = {
    "generation": "model",
    "retriever": "retriever",
    "tool": "tool",
    "span": "foreign",
    "event": "foreign",
}


def recognises(span: Span) -> bool:
    """Tell whether a span has a type of Langfuse."""
    return LANGFUSE_TYPE in span.attributes


def read(span: Span) -> Step:
    """Read an observation of any type; a plain span is the application's own."""
    # The server knows no type for the retrieval of OTel and OpenLLMetry: it says "span".
    is_retrieval = span.text(GEN_AI_OPERATION_NAME) in ("retrieval", "vector_db_retrieve")
    kind = "retriever" if is_retrieval else _KINDS.get((span.text(LANGFUSE_TYPE) or "").lower(), "chain")
    given, returned = (
        _unwrapped(span.value(LANGFUSE_INPUT), "inputs"),
        _unwrapped(span.value(LANGFUSE_OUTPUT), "outputs"),
    )
    cut = span.is_cut(LANGFUSE_INPUT, LANGFUSE_OUTPUT)
    if kind == "retriever":
        documents = read_documents(returned)
        return Step(
            span=span,
            kind=kind,
            query=_query(given),
            documents=read_documents(span.value(GEN_AI_RETRIEVAL_DOCUMENTS)) if documents is None else documents,
            returned=returned,
            is_cut=cut,
        )
    return Step(
        span=span,
        kind=kind,
        messages=read_messages(given) if kind == "model" else (),
        said=read_said(returned) if kind == "model" else None,
        given=given,
        returned=returned,
        model=span.text("langfuse.observation.model.name"),
        response_id=span.text(GEN_AI_RESPONSE_ID),
        is_cut=cut,
    )


def _unwrapped(value: JsonValue, key: str) -> JsonValue:
    """Return what OpenLLMetry wraps together with tags and metadata."""
    if isinstance(value, Mapping) and key in value and "kwargs" in value:
        return value[key]
    return value


def _query(given: JsonValue) -> str | None:
    if isinstance(given, dict):
        return next((text for key in ("query", "question", "input") if (text := as_text(given.get(key)))), None)
    return as_text(given)
