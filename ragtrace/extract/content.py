"""Read messages, answers and documents out of the JSON forms that libraries write them in."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ragtrace.extract.json_text import JsonObject, as_number, as_text
from ragtrace.extract.values import unfold, walk
from ragtrace.model import JsonValue

_ROLES = {"human": "user", "ai": "assistant", "developer": "system", "function": "tool", "AIMessageChunk": "assistant"}
_KNOWN_ROLES = frozenset({"system", "user", "assistant", "tool", *_ROLES})
_SILENT_TYPES = frozenset(
    {"image", "image_url", "input_image", "audio", "input_audio", "video", "file", "blob", "uri", "thinking"}
    | {"reasoning", "redacted_thinking", "compaction", "tool_use", "tool_call", "function_call", "server_tool_use"}
)
_CALL_TYPES = frozenset({"tool_use", "tool_call", "function_call"})
_DEEPEST_BLOCK = 6
_DOCUMENT_TEXTS = ("page_content", "content", "text", "document.content", "chunk")
_DOCUMENT_IDS = ("id", "document.id", "node_id", "id_", "doc_id")
_DOCUMENT_SCORES = ("score", "document.score", "relevance_score")
_METADATA_SCORES = ("relevance_score", "score", "similarity_score", "rerank_score", "_score")
_DOCUMENT_LISTS = ("documents", "docs", "source_documents", "context", "results", "matches", "nodes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message that a model was sent."""

    role: str
    """`system`, `user`, `assistant`, `tool`, or what the library calls it."""
    text: str
    tool_call_id: str | None = None
    last_block: str | None = None
    """Its last block of plain text: a person's own words come after documents and pictures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a model answered."""

    text: str
    arguments: tuple[Mapping[str, JsonValue], ...] = ()
    """Arguments of the tool calls that it made."""
    calls_tools: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A document that retrieval returned."""

    text: str | None
    """None: the convention carries no text."""
    id: str | None = None
    score: float | None = None
    metadata: Mapping[str, JsonValue] = field(default_factory=dict)


def read_messages(value: JsonValue) -> tuple[Message, ...]:
    """Return the messages of a prompt: a text, a message, or a list, however deep it is wrapped."""
    if isinstance(value, str):
        return (Message(role="user", text=value, last_block=value),) if value.strip() else ()
    if isinstance(value, list):
        if _is_pair(value):
            return (_message(str(value[0]), {"content": value[1]}),)
        return tuple(message for item in value for message in read_messages(item))
    if not isinstance(value, dict):
        return ()
    for key in ("messages", "prompts"):
        if key in value:
            return read_messages(value[key])
    body = _body(value)
    return (_message(_role(value, body), body),) if "content" in body or "parts" in body else ()


def read_said(value: JsonValue) -> Said | None:
    """Return what a model answered: a text, a message, or the first of several generations."""
    if isinstance(value, str):
        return Said(text=value)
    if isinstance(value, list):
        return next((said for item in value if (said := read_said(item)) is not None), None)
    if not isinstance(value, dict):
        return None
    for key in ("generations", "choices", "message"):
        if isinstance(value.get(key), list | dict):
            return read_said(value[key])
    body = _body(value)
    calls = tuple(_calls(body))
    if not calls and not {"content", "parts", "text"} & body.keys():
        return None
    texts = block_texts(body.get("content", body.get("parts", body.get("text"))))
    return Said(text="".join(texts), arguments=tuple(map(_arguments, calls)), calls_tools=bool(calls))


def read_documents(value: JsonValue) -> tuple[Found, ...] | None:
    """Return the documents of a retriever's output; None where it is no list of documents."""
    if isinstance(value, dict):
        lists = (value[key] for key in _DOCUMENT_LISTS if isinstance(value.get(key), list))
        return next((found for items in lists if (found := read_documents(items)) is not None), None)
    if not isinstance(value, list):
        return None
    found = tuple(document for item in value if (document := _document(item)) is not None)
    return found if found or not value else None


def find_documents(value: JsonValue) -> tuple[Found, ...]:
    """Return LangChain's documents inside any value, in order, looking a few levels deep."""
    inside = (item for item in walk(value, depth=4, most=500) if isinstance(item, dict))
    written = (item for item in inside if "page_content" in item and item.get("type") == "Document")
    return tuple(document for item in written if (document := _document(item)) is not None)


def block_texts(content: JsonValue, depth: int = _DEEPEST_BLOCK) -> Iterator[str]:
    """Yield the texts of a message's content: a text, a block, or a list of blocks."""
    if isinstance(content, str):
        yield content
    elif depth and isinstance(content, list):
        for block in content:
            yield from block_texts(block, depth - 1)
    elif depth and isinstance(content, dict) and content.get("type") not in _SILENT_TYPES:
        yield from _inside(content, depth - 1)


def _is_pair(value: list[JsonValue]) -> bool:
    """Tell whether this is a message in its shortest form: `["user", "Who?"]`."""
    return len(value) == 2 and isinstance(value[0], str) and value[0] in _KNOWN_ROLES and isinstance(value[1], str)


def _inside(block: JsonObject, depth: int) -> Iterator[str]:
    if isinstance(text := block.get("text"), str):
        yield text
        return
    # The schema of OTel says `response`, the examples beside it `result`.
    result = block.get("response", block.get("result"))
    if result is not None:
        yield result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
    source = block.get("source")
    if isinstance(source, dict) and source.get("type") != "base64":
        yield from block_texts(source.get("data") or source.get("content"), depth)
    for key in ("content", "value"):
        yield from block_texts(block.get(key), depth)


def _body(message: JsonObject) -> JsonObject:
    """Return the message itself: LangChain wraps those that it serialises."""
    inner = message.get("kwargs", message.get("data"))
    return inner if isinstance(inner, dict) and "content" in inner else message


def _role(message: JsonObject, body: JsonObject) -> str:
    name = as_text(body.get("role")) or as_text(body.get("type")) or as_text(message.get("type")) or "user"
    return _ROLES.get(name, name)


def _message(role: str, body: JsonObject) -> Message:
    content = body.get("content", body.get("parts"))
    parts = content if isinstance(content, list) else [content]
    plain = [text for part in parts for text in block_texts(part) if text.strip()]
    ids = (as_text(part.get("id")) for part in parts if isinstance(part, dict))
    return Message(
        role=_ROLES.get(role, role),
        text="\n".join(block_texts(content)),
        tool_call_id=as_text(body.get("tool_call_id")) or (next(ids, None) if role == "tool" else None),
        last_block=plain[-1] if plain else None,
    )


def _calls(body: JsonObject) -> Iterator[JsonObject]:
    extra = body.get("additional_kwargs")
    listed = body.get("tool_calls") or (extra.get("tool_calls") if isinstance(extra, dict) else None)
    parts = body.get("parts", body.get("content"))
    yield from (call for call in (listed if isinstance(listed, list) else ()) if isinstance(call, dict))
    if not listed and isinstance(parts, list):
        yield from (part for part in parts if isinstance(part, dict) and part.get("type") in _CALL_TYPES)


def _arguments(call: JsonObject) -> JsonObject:
    function = call.get("function")
    inner = function if isinstance(function, dict) else call
    found = unfold(next((inner[key] for key in ("args", "arguments", "input") if key in inner), None))
    return found if isinstance(found, dict) else {}


def _document(item: JsonValue) -> Found | None:
    if isinstance(item, str):
        return Found(text=item)
    if not isinstance(item, dict):
        return None
    inner = next((item[key] for key in ("kwargs", "document", "node") if isinstance(item.get(key), dict)), item)
    body = inner if isinstance(inner, dict) else item
    texts = (body[key] for key in _DOCUMENT_TEXTS if isinstance(body.get(key), str))
    text, identity = as_text(next(texts, None)), _first(body, _DOCUMENT_IDS) or _first(item, _DOCUMENT_IDS)
    metadata = unfold(body.get("metadata", body.get("document.metadata")))
    if text is None and identity is None:
        return None
    return Found(
        text=text,
        id=as_text(identity),
        score=_score(item, body, metadata if isinstance(metadata, dict) else {}),
        metadata=metadata if isinstance(metadata, dict) else {},
    )


def _score(item: JsonObject, body: JsonObject, metadata: JsonObject) -> float | None:
    stated = _first(item, _DOCUMENT_SCORES) or _first(body, _DOCUMENT_SCORES) or _first(metadata, _METADATA_SCORES)
    return as_number(stated)


def _first(value: JsonObject, names: tuple[str, ...]) -> JsonValue:
    return next((value[name] for name in names if isinstance(value.get(name), str | int | float)), None)
