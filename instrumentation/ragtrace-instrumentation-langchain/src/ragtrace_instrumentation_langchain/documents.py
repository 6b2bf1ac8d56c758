"""Find LangChain documents in whatever a run was given or returned, and keep their strings."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from operator import attrgetter
from typing import NamedTuple, overload

from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.messages.base import TextAccessor
from langchain_core.prompt_values import ChatPromptValue, PromptValue, StringPromptValue
from pydantic import BaseModel

_DEEPEST = 4
_MOST_VALUES = 500
_LEAVES = (str, int, float, bytes, type(None), BaseMessage, PromptValue)
PLAIN = frozenset(
    {
        str,
        TextAccessor,
        int,
        float,
        bool,
        bytes,
        type(None),
        AIMessage,
        HumanMessage,
        ChatPromptValue,
        StringPromptValue,
    }
)
"""Types of values that hold no documents: what most steps of a chain return."""
_text, _id, _metadata = attrgetter("page_content"), attrgetter("id"), attrgetter("metadata")


class Found(NamedTuple):
    """A document as it was when we saw it: callers change theirs later, in place."""

    text: str
    id: str | None
    metadata: Mapping[str, object]
    score: float | None = None
    """Where it is known beside the metadata."""


class Snapshot(Sequence[Found]):
    """Documents as they are now, in three lists: an object for each would cost more than all the rest of a call."""

    __slots__ = ("_ids", "_metadata", "_texts", "characters")

    def __init__(self, documents: Sequence[Document]) -> None:
        self._texts = list(map(_text, documents))
        self._ids = list(map(_id, documents))
        # Copies, since applications write into theirs.
        self._metadata = list(map(dict, map(_metadata, documents)))
        self.characters = sum(map(len, self._texts))
        """How much text there is."""

    def __len__(self) -> int:
        return len(self._texts)

    @overload
    def __getitem__(self, index: int) -> Found: ...
    @overload
    def __getitem__(self, index: slice) -> list[Found]: ...
    def __getitem__(self, index: int | slice) -> Found | list[Found]:
        if isinstance(index, slice):
            return list(map(Found, self._texts[index], self._ids[index], self._metadata[index]))
        return Found(self._texts[index], self._ids[index], self._metadata[index])


def snapshot(documents: Iterable[object]) -> tuple[Found, ...]:
    """Keep the strings of the documents among the given values, in order."""
    return tuple(found for document in documents if (found := _found(document)) is not None)


def is_plain(value: object) -> bool:
    """Tell, without looking far, that a value holds no documents: most of what steps of a chain return."""
    if type(value) is dict:
        return PLAIN.issuperset(map(type, value.values()))
    return type(value) in PLAIN


def find_documents(value: object) -> tuple[Found, ...]:
    """Return the documents inside a value, in order, looking a few levels deep."""
    return () if is_plain(value) else snapshot(_documents(value))


def holds_documents(value: object) -> bool:
    """Tell whether there is any document inside a value."""
    return not is_plain(value) and next(_documents(value), None) is not None


def _found(document: object) -> Found | None:
    if isinstance(document, Document):
        return Found(document.page_content, document.id, document.metadata.copy())
    if not isinstance(document, Mapping) or not isinstance(text := document.get("page_content"), str):
        return None
    identifier, metadata = document.get("id"), document.get("metadata")
    return Found(
        text,
        identifier if isinstance(identifier, str) else None,
        dict(metadata) if isinstance(metadata, Mapping) else {},
    )


def _documents(value: object) -> Iterator[object]:
    """Walk a value, depth first, in order, within bounds."""
    stack: list[tuple[object, int]] = [(value, _DEEPEST)]
    seen = 0
    while stack and seen < _MOST_VALUES:
        item, depth = stack.pop()
        seen += 1
        if isinstance(item, Document) or _is_written_document(item):
            yield item
        elif depth:
            stack.extend((inner, depth - 1) for inner in reversed(_inside(item)))


def _is_written_document(value: object) -> bool:
    """A checkpointer gives documents back as plain mappings."""
    return isinstance(value, dict) and value.get("type") == "Document" and "page_content" in value


def _inside(value: object) -> list[object]:
    if isinstance(value, _LEAVES):
        return []
    if isinstance(value, Mapping):
        return list(value.values())
    if isinstance(value, (list, tuple)):
        # A conversation holds no documents outside its tool results, which are read elsewhere.
        return [] if value and isinstance(value[0], BaseMessage) else list(value[:_MOST_VALUES])
    if isinstance(value, BaseModel):
        return list(vars(value).values())
    if is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, field.name) for field in fields(value)]
    return []
