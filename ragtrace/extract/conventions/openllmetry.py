"""Read spans of OpenLLMetry: `traceloop.*` attributes beside OTel's; its documents carry no ids."""

from ragtrace.extract.content import read_documents
from ragtrace.extract.conventions import otel_genai
from ragtrace.extract.json_text import as_text
from ragtrace.extract.span import Span
from ragtrace.extract.step import Step
from ragtrace.model import JsonValue
from ragtrace.semconv import GEN_AI_OPERATION_NAME

_INPUT, _OUTPUT = "traceloop.entity.input", "traceloop.entity.output"
_RETRIEVE = "vector_db_retrieve"


def recognises(span: Span) -> bool:
    """Tell whether a span has an attribute of OpenLLMetry's own."""
    return any(key.startswith("traceloop.") for key in span.attributes)


def read(span: Span) -> Step:
    """Read a span of any kind; a model's has OTel's attributes and no kind of its own."""
    given, returned = span.value(_INPUT), span.value(_OUTPUT)
    operation = span.text(GEN_AI_OPERATION_NAME)
    if operation == _RETRIEVE:
        return Step(
            span=span,
            kind="retriever",
            query=as_text(_inside(given, "query")),
            documents=read_documents(returned),
            is_cut=span.is_cut(_OUTPUT),
        )
    if operation == "chat" or otel_genai.is_model(span) or _is_unnamed_model(span):
        return otel_genai.read_model(span)
    return Step(
        span=span,
        kind="tool" if operation == "execute_tool" else "chain",
        given=_inside(given, "inputs"),
        returned=_inside(returned, "outputs"),
    )


def _is_unnamed_model(span: Span) -> bool:
    return "gen_ai.input.messages" in span.attributes and "traceloop.span.kind" not in span.attributes


def _inside(value: JsonValue, key: str) -> JsonValue:
    return value.get(key, value) if isinstance(value, dict) else value
