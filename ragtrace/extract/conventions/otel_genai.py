"""Read spans of OpenTelemetry's GenAI conventions; their retrieval spans carry ids of documents, as a rule no text."""

from ragtrace.extract.content import Message, block_texts, read_documents, read_messages, read_said
from ragtrace.extract.span import Span
from ragtrace.extract.step import Step, StepKind
from ragtrace.extract.values import indexed
from ragtrace.model import JsonValue
from ragtrace.semconv import (
    GEN_AI_CONVERSATION_ID,
    GEN_AI_OPERATION_NAME,
    GEN_AI_REQUEST_MODEL,
    GEN_AI_RESPONSE_ID,
    GEN_AI_RETRIEVAL_DOCUMENTS,
    GEN_AI_RETRIEVAL_QUERY,
)

_INPUT, _OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
_INSTRUCTIONS = "gen_ai.system_instructions"
_MEMORIES = "gen_ai.memory.records"
_KINDS: dict[str, StepKind] = {
    "retrieval": "retriever",
    "search_memory": "retriever",
    "chat": "model",
    "completion": "model",
    "text_completion": "model",
    "generate_content": "model",
    "execute_tool": "tool",
}


def recognises(span: Span) -> bool:
    """Tell whether a span names a GenAI operation, or carries a prompt by the older names."""
    return GEN_AI_OPERATION_NAME in span.attributes or is_model(span)


def is_model(span: Span) -> bool:
    """Tell whether a span carries the messages of a model call, by the names of today or of yesterday."""
    return any(key.startswith(("gen_ai.prompt.0.", "gen_ai.completion.0.")) for key in span.attributes)


def read(span: Span) -> Step:
    """Read a retrieval, a model call, a tool call; anything else is a chain."""
    kind = _KINDS.get(span.text(GEN_AI_OPERATION_NAME) or "", "model" if is_model(span) else "chain")
    if kind == "retriever":
        return Step(
            span=span,
            kind=kind,
            query=span.text(GEN_AI_RETRIEVAL_QUERY, "gen_ai.retrieval.query"),
            documents=read_documents(span.value(GEN_AI_RETRIEVAL_DOCUMENTS, _MEMORIES)),
            is_cut=span.is_cut(GEN_AI_RETRIEVAL_DOCUMENTS, _MEMORIES),
        )
    if kind == "model":
        return read_model(span)
    return Step(
        span=span,
        kind=kind,
        given=span.value("gen_ai.tool.call.arguments", _INPUT),
        returned=span.value("gen_ai.tool.call.result", _OUTPUT),
    )


def read_model(span: Span) -> Step:
    """Read a model call; system instructions stand before the messages."""
    sent, answer = span.value(_INPUT), span.value(_OUTPUT)
    instructions = "\n".join(block_texts(span.value(_INSTRUCTIONS)))
    system = (Message(role="system", text=instructions),) if instructions else ()
    return Step(
        span=span,
        kind="model",
        messages=(*system, *read_messages(sent if sent is not None else _numbered(span, "gen_ai.prompt"))),
        said=read_said(answer if answer is not None else _numbered(span, "gen_ai.completion")),
        given=sent,
        returned=answer,
        model=span.text("gen_ai.response.model", GEN_AI_REQUEST_MODEL),
        response_id=span.text(GEN_AI_RESPONSE_ID),
        conversation=span.text(GEN_AI_CONVERSATION_ID),
        is_cut=span.is_cut(_INPUT, _OUTPUT, _INSTRUCTIONS),
    )


def _numbered(span: Span, prefix: str) -> JsonValue:
    messages = indexed(span.attributes, prefix).values()
    return [{**message, "tool_calls": list(indexed(message, "tool_calls").values())} for message in messages] or None
