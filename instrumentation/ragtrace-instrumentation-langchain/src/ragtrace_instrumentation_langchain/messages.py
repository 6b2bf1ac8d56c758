"""Read the text out of LangChain messages: what a model was sent, what it said, what a person asked."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage

from ragtrace_instrumentation_langchain.documents import Found, snapshot

_DEEPEST_BLOCK = 6
_PLAIN_TYPES = frozenset({"text", "input_text", "output_text"})
_SILENT_TYPES = frozenset(
    {"image", "image_url", "input_image", "audio", "input_audio", "video", "file", "thinking", "reasoning"}
    | {"redacted_thinking", "tool_use", "tool_call", "function_call", "server_tool_use"}
)


@dataclass(slots=True, kw_only=True)
class ToolResult:
    """A tool's result as it stands in a prompt."""

    call_id: str
    text: str
    documents: tuple[Found, ...]
    """What the tool attached beside the text; the model was not sent it."""
    is_earlier: bool
    """It stands before the person's last message: it belongs to an earlier turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cited:
    """A stretch of an answer for which the provider named a source."""

    start: int
    end: int
    text: str | None = None
    """The cited words of the source."""
    names: tuple[str, ...] = ()
    """Ids, addresses or titles of the source."""
    index: int | None = None
    """Number of the source among those sent."""


@dataclass(slots=True)
class Prompt:
    """The texts that one model call was sent."""

    parts: tuple[str, ...]
    question: str | None = None
    """The last thing that a person said in it."""
    tool_results: tuple[ToolResult, ...] = ()
    has_foreign_blocks: bool = False
    """Some text is in blocks that only some providers' adapters pass on."""


def read_prompt(messages: Sequence[BaseMessage]) -> Prompt:
    """Keep the texts of the messages; strings are shared, not copied."""
    parts: list[str] = []
    question = None
    for message in messages:
        content, kind = message.content, message.type
        if type(content) is not str or kind == "tool":
            return _read_blocks(messages)
        if content:
            parts.append(content)
        if kind == "human":
            question = content
    return Prompt(tuple(parts), question)


def _read_blocks(messages: Sequence[BaseMessage]) -> Prompt:
    """Keep the texts of messages of any kind."""
    parts: list[str] = []
    question, last_human, is_foreign = None, -1, False
    tools: list[tuple[int, BaseMessage]] = []
    for index, message in enumerate(messages):
        content = message.content
        if isinstance(content, str):
            parts.append(content)
        else:
            parts.extend(_block_texts(content, _DEEPEST_BLOCK))
            is_foreign = is_foreign or _has_foreign_blocks(content)
        if message.type == "human":
            question, last_human = said_by(message), index
        elif message.type == "tool":
            tools.append((index, message))
    results = tuple(_tool_result(message, is_earlier=index < last_human) for index, message in tools)
    return Prompt(tuple(part for part in parts if part), question, results, is_foreign)


def message_text(message: BaseMessage) -> str:
    """Return what a model said in a message, without its reasoning and its tool calls."""
    if isinstance(message.content, str):
        return str(message.content)
    return "".join(_block_texts(message.content, _DEEPEST_BLOCK))


def said_by(message: BaseMessage) -> str | None:
    """Return a person's own words: the last text block, since documents and pictures come before them."""
    if isinstance(message.content, str):
        return message.content.strip() or None
    plain = [text for block in message.content if (text := _plain_text(block))]
    return plain[-1] if plain else None


def find_human(messages: Sequence[object]) -> str | None:
    """Return what the person said last, in a list of messages of any of the forms that LangChain takes."""
    for message in reversed(messages):
        if isinstance(message, BaseMessage):
            if message.type == "human":
                return said_by(message)
            continue
        role, content = _role_and_content(message)
        if role in ("user", "human") and isinstance(content, str):
            return content.strip() or None
        if role in ("user", "human") and isinstance(content, list):
            plain = [text for block in content if (text := _plain_text(block))]
            return plain[-1] if plain else None
    return None


def _role_and_content(message: object) -> tuple[object, object]:
    if isinstance(message, Mapping):
        return message.get("role") or message.get("type"), message.get("content")
    if isinstance(message, (tuple, list)) and len(message) == 2:
        return message[0], message[1]
    return None, None


def _plain_text(block: object) -> str | None:
    if isinstance(block, str):
        return block.strip() or None
    if isinstance(block, Mapping) and block.get("type") in _PLAIN_TYPES:
        text = block.get("text")
        return text.strip() or None if isinstance(text, str) else None
    return None


def _tool_result(message: BaseMessage, *, is_earlier: bool) -> ToolResult:
    artifact = getattr(message, "artifact", None)
    return ToolResult(
        call_id=getattr(message, "tool_call_id", ""),
        text=message_text(message),
        documents=snapshot(artifact) if isinstance(artifact, list) else (),
        is_earlier=is_earlier,
    )


def _has_foreign_blocks(content: object) -> bool:
    return isinstance(content, list) and any(
        isinstance(block, Mapping) and block.get("type") not in _PLAIN_TYPES | _SILENT_TYPES for block in content
    )


def _block_texts(content: object, depth: int) -> Iterator[str]:
    """Yield the texts of a message's content: a string, a block, or a list of blocks."""
    if isinstance(content, str):
        yield content
    elif depth and isinstance(content, (list, tuple)):
        for block in content:
            yield from _block_texts(block, depth - 1)
    elif depth and isinstance(content, Mapping) and content.get("type") not in _SILENT_TYPES:
        if isinstance(text := content.get("text"), str):
            yield text
            return
        for inner in _inside(content):
            yield from _block_texts(inner, depth - 1)


def _inside(block: Mapping[str, object]) -> Iterator[object]:
    """Yield what a document, search result, tool result or wrapped block holds; never encoded files."""
    source = block.get("source")
    if isinstance(source, Mapping) and source.get("type") != "base64":
        yield source.get("data") or source.get("content")
    for key in ("content", "value"):
        yield block.get(key)
