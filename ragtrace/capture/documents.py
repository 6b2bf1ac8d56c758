"""Read passages and message texts from whatever object a library keeps them in, importing none of the libraries."""

from collections.abc import Iterable, Mapping, Sequence

from ragtrace.errors import ConfigError
from ragtrace.model import Passage, PassageSource

_TEXTS = ("page_content", "text", "content", "document")
_IDS = ("id", "node_id", "id_", "doc_id")
_SCORES = ("score", "relevance_score")
_METADATA = ("metadata", "meta")


def to_passages(documents: Iterable[object], *, source: PassageSource = "manual") -> tuple[Passage, ...]:
    """Return passages for documents of LangChain, LlamaIndex or Haystack, dictionaries, texts, (document, score).

    Raises:
        ConfigError: one of them has no text that we can find, or they are an iterator, which reading would use up.
    """
    if isinstance(documents, str):
        documents = [documents]
    if not isinstance(documents, Sequence):
        raise ConfigError(f"retrieved passages came as {type(documents).__name__}: expected a list")
    return tuple(_to_passage(document, rank, source=source) for rank, document in enumerate(documents))


def to_texts(messages: object) -> tuple[str, ...]:
    """Return the texts of messages: one text, chat dictionaries, message objects, or a list of any of them.

    Raises:
        ConfigError: something in there is none of these.
    """
    if isinstance(messages, str):
        return (messages,)
    if isinstance(messages, Sequence):
        return tuple(text for message in messages for text in to_texts(message))
    found = _first(messages, ("content", "text", "page_content"))
    if found is None and _has_type(messages):
        return ()
    if found is None:
        raise ConfigError(f"a prompt message came as {type(messages).__name__}: expected text or `content`")
    return to_texts(found)


def to_answer(answer: object) -> str:
    """Return an answer's text: a text, or a message that holds one."""
    return "\n".join(to_texts(answer))


def _to_passage(document: object, rank: int, *, source: PassageSource) -> Passage:
    if isinstance(document, tuple) and len(document) == 2 and isinstance(document[1], int | float):
        document, score = document
    else:
        score = _first(document, _SCORES)
    node = _first(document, ("node",)) or document
    text = _text(node)
    if text is None:
        raise ConfigError(f"a retrieved passage came as {type(document).__name__}: expected something with a text")
    metadata = _first(node, _METADATA)
    identity = _first(node, _IDS)
    return Passage(
        text=text,
        rank=rank,
        id=None if identity is None else str(identity),
        score=float(score) if isinstance(score, int | float) else None,
        metadata=metadata if isinstance(metadata, Mapping) else {},
        source=source,
    )


def _text(node: object) -> str | None:
    if isinstance(node, str):
        return node
    get_content = getattr(node, "get_content", None)
    found = get_content() if callable(get_content) else _first(node, _TEXTS)
    return found if isinstance(found, str) else None


def _first(value: object, names: Sequence[str]) -> object:
    """Return the first of some keys or attributes that is there."""
    if isinstance(value, str):
        return None
    if isinstance(value, Mapping):
        return next((value[name] for name in names if value.get(name) is not None), None)
    return next((found for name in names if (found := getattr(value, name, None)) is not None), None)


def _has_type(value: object) -> bool:
    """Say whether this is a part of a message other than text, such as an image."""
    return isinstance(value, Mapping) and ("type" in value or "role" in value)
