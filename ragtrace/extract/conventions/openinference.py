"""Read spans of OpenInference: `openinference.span.kind` says what they are."""

from ragtrace.extract.content import Found, Message, Said, read_documents, read_messages, read_said
from ragtrace.extract.json_text import JsonObject, as_text
from ragtrace.extract.span import Span
from ragtrace.extract.step import REDACTED, Step, StepKind
from ragtrace.extract.values import indexed
from ragtrace.model import JsonValue

_KIND = "openinference.span.kind"
_INPUT, _OUTPUT = "input.value", "output.value"
_RETRIEVED, _RERANKED = "retrieval.documents", "reranker.output_documents"
_KINDS: dict[str, StepKind] = {"LLM": "model", "RETRIEVER": "retriever", "RERANKER": "reranker", "TOOL": "tool"}


def recognises(span: Span) -> bool:
    """Tell whether a span has a kind of OpenInference."""
    return _KIND in span.attributes


def read(span: Span) -> Step:
    """Read a span of any kind."""
    kind = _KINDS.get((span.text(_KIND) or "").upper(), "chain")
    given, returned = span.value(_INPUT), span.value(_OUTPUT)
    if kind in ("retriever", "reranker"):
        return _read_retrieval(span, kind, returned)
    if kind == "model":
        return _read_model(span, given, returned)
    return Step(span=span, kind=kind, given=given, returned=returned)


def _read_retrieval(span: Span, kind: StepKind, returned: JsonValue) -> Step:
    by_number = indexed(span.attributes, _RERANKED if kind == "reranker" else _RETRIEVED)
    listed, written = read_documents(list(by_number.values())), read_documents(returned)
    # A span keeps so many attributes and evicts the oldest: the first documents, which rank best.
    is_evicted = bool(by_number) and min(by_number) > 0
    documents = written if written is not None and len(written) >= len(listed or ()) else listed
    return Step(
        span=span,
        kind=kind,
        query=span.text("reranker.query", _INPUT),
        documents=_with_scores(documents, listed) if by_number or written else documents,
        returned=returned,
        is_cut=is_evicted and documents is not written,
    )


def _with_scores(documents: tuple[Found, ...] | None, listed: tuple[Found, ...] | None) -> tuple[Found, ...] | None:
    """Take scores from the numbered attributes, where only those have them; ids are only in the output."""
    if documents is None or documents is listed or len(documents) != len(listed or ()):
        return documents
    pairs = zip(documents, listed or (), strict=True)
    return tuple(
        Found(text=d.text, id=d.id, score=other.score if d.score is None else d.score, metadata=d.metadata)
        for d, other in pairs
    )


def _read_model(span: Span, given: JsonValue, returned: JsonValue) -> Step:
    listed = [_message(message) for message in indexed(span.attributes, "llm.input_messages").values()]
    prompts = [prompt.get("prompt.text") for prompt in indexed(span.attributes, "llm.prompts").values()]
    # The numbered attributes leave out blocks that are no plain text; the whole input has them, unless it was cut.
    is_hidden = any(message.text == REDACTED for message in listed)
    whole = () if is_hidden else read_messages(given)
    messages = max(tuple(listed), read_messages(prompts), whole, key=_length)
    output = next(iter(indexed(span.attributes, "llm.output_messages").values()), None)
    said = _said(output) if output else read_said(returned)
    return Step(
        span=span,
        kind="model",
        messages=messages,
        said=said,
        given=given,
        returned=returned,
        model=span.text("llm.model_name"),
        is_cut=not listed and not prompts and span.is_cut(_INPUT),
    )


def _length(messages: tuple[Message, ...]) -> int:
    return sum(len(message.text) for message in messages)


def _message(message: JsonObject) -> Message:
    blocks = [text for text in _block_texts(message) if text]
    return Message(
        role=as_text(message.get("message.role")) or "user",
        text="\n".join(blocks),
        tool_call_id=as_text(message.get("message.tool_call_id")),
        last_block=blocks[-1] if blocks else None,
    )


def _said(message: JsonObject) -> Said:
    calls = indexed(message, "message.tool_calls").values()
    arguments = read_said([{"tool_calls": [_call(call) for call in calls]}]) if calls else None
    return Said(
        text="".join(_block_texts(message)),
        arguments=arguments.arguments if arguments else (),
        calls_tools=bool(calls),
    )


def _call(call: JsonObject) -> JsonObject:
    return {"arguments": call.get("tool_call.function.arguments")}


def _block_texts(message: JsonObject) -> list[str]:
    content = as_text(message.get("message.content"))
    if content is not None:
        return [content]
    blocks = indexed(message, "message.contents").values()
    return [text for block in blocks if (text := as_text(block.get("message_content.text"))) is not None]
