"""Read the citations that a provider reports with an answer, and tell which passages they name."""

import re
from collections.abc import Iterator, Mapping, Sequence

from langchain_core.messages import BaseMessage

from ragtrace.model import Citation, Passage
from ragtrace_instrumentation_langchain.messages import Cited, message_text

_NAME_KEYS = ("url", "title", "source", "document_title", "file_id", "filename", "id", "document_id")
_SHORTEST_QUOTE = 8
_NUMBERED = re.compile(r"^(?:doc(?:ument)?[-_: ]?)?(\d{1,4})$", re.IGNORECASE)


def read_citations(message: BaseMessage) -> tuple[Cited, ...]:
    """Return the citations of an answer, with offsets in its text."""
    if isinstance(message.content, str):
        return tuple(_by_offset(message))
    found: list[Cited] = []
    start = 0
    for block in message.content:
        if isinstance(block, Mapping):
            found.extend(_of_block(block, start))
        text = block if isinstance(block, str) else message_text(message.model_copy(update={"content": [block]}))
        start += len(text)
    return (*found, *_by_offset(message))


def resolve(cited: Sequence[Cited], passages: Sequence[Passage]) -> tuple[Citation, ...]:
    """Name the passages that are meant; a citation of something else is left out."""
    citations = []
    for citation in cited:
        indexes = _meant(citation, passages)
        if indexes:
            citations.append(Citation(start=citation.start, end=citation.end, passages=indexes))
    return tuple(citations)


def _meant(cited: Cited, passages: Sequence[Passage]) -> tuple[int, ...]:
    quote = (cited.text or "").strip()
    if len(quote) >= _SHORTEST_QUOTE:
        by_text = tuple(i for i, passage in enumerate(passages) if quote in passage.text)
        if by_text:
            return by_text[:1]
    by_name = tuple(i for i, passage in enumerate(passages) if _is_named(passage, cited.names))
    if by_name:
        return by_name
    numbers = [int(match[1]) for name in cited.names if (match := _NUMBERED.match(name))]
    if cited.index is not None:
        numbers.append(cited.index)
    return tuple(dict.fromkeys(number for number in numbers if number < len(passages)))


def _is_named(passage: Passage, names: tuple[str, ...]) -> bool:
    return passage.id in names or any(passage.metadata.get(key) in names for key in ("source", "url", "title"))


def _of_block(block: Mapping[str, object], start: int) -> Iterator[Cited]:
    text = block.get("text")
    length = len(text) if isinstance(text, str) else 0
    for citation in _mappings(block.get("citations")):
        yield _cited(citation, start, start + length)
    for annotation in _mappings(block.get("annotations")):
        first, last = annotation.get("start_index"), annotation.get("end_index")
        if isinstance(first, int) and isinstance(last, int):
            yield _cited(annotation, start + first, start + last)
        else:
            yield _cited(annotation, start, start + length)


def _by_offset(message: BaseMessage) -> Iterator[Cited]:
    """Citations beside the text: `start` and `end` count in the whole answer."""
    for place in (message.additional_kwargs, message.response_metadata):
        for citation in _mappings(place.get("citations")):
            start, end = citation.get("start"), citation.get("end")
            if isinstance(start, int) and isinstance(end, int):
                yield _cited({**citation, "cited_text": None}, start, end)


def _cited(citation: Mapping[str, object], start: int, end: int) -> Cited:
    text = citation.get("cited_text")
    index = next((citation[key] for key in ("document_index", "search_result_index") if key in citation), None)
    names = [citation.get(key) for key in _NAME_KEYS]
    ids = citation.get("document_ids")
    names += ids if isinstance(ids, list) else []
    names += [source.get("id") for source in _mappings(citation.get("sources"))]
    return Cited(
        start=start,
        end=end,
        text=text if isinstance(text, str) else None,
        names=tuple(name for name in names if isinstance(name, str) and name),
        index=index if isinstance(index, int) else None,
    )


def _mappings(value: object) -> list[Mapping[str, object]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []
