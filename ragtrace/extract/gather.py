"""Put together what retrieval brought before a model answered."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ragtrace.extract.content import Found, Message, find_documents
from ragtrace.extract.step import RETRIEVING, Step
from ragtrace.model import Passage, PassageSource

DocumentLookup = Callable[[Sequence[str]], Mapping[str, str]]
"""Returns the texts of documents by id; one that it does not know is left out."""
_WINDOW = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieved:
    """The passages of one answer."""

    steps: tuple[Step, ...] = ()
    """The retrievals that count, in the order in which they ended."""
    passages: tuple[Passage, ...] | None = None
    """None: unknown."""
    candidates: tuple[Passage, ...] = ()
    """What an inner retriever found, or one before a reranker, and was dropped."""
    has_ids_only: bool = False
    """Some document came without its text, and nobody could tell it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    documents: tuple[Found, ...]
    kind: PassageSource = "retriever"


def gather(
    steps: Sequence[Step],
    generator: Step,
    *,
    root: Step | None,
    nested: Sequence[Step],
    lookup: DocumentLookup | None,
) -> Retrieved:
    """Return what was retrieved before a model was asked.

    Args:
        steps: All steps of the call.
        generator: The model call that answered.
        root: What the whole call happened in.
        nested: Retrievals inside other retrievals.
        lookup: Tells the texts of documents that come as ids.
    """
    before = [s for s in steps if (s.span.end_ns or s.span.start_ns) <= generator.span.start_ns]
    outer = [s for s in before if s.kind in RETRIEVING and s not in nested]
    reranked = [s for s in outer if s.kind == "reranker"]
    counted = sorted(reranked or outer, key=lambda s: s.span.end_ns or s.span.start_ns)
    documents = _with_texts([step.documents for step in counted if step.documents is not None], lookup)
    sources = [_Source(documents=found) for found in documents]
    sources += _from_tools(generator.messages, sources)
    if not counted and not sources:
        sources = _from_input(root) or _from_chains(before)
    if not counted and not sources:
        return Retrieved()
    has_ids_only = any(document.text is None for source in sources for document in source.documents)
    if has_ids_only or len(documents) < len(counted) or any(step.is_cut for step in counted):
        return Retrieved(steps=tuple(counted), has_ids_only=has_ids_only)
    passages = _passages(sources)
    dropped = [s for s in (*nested, *(outer if reranked else ())) if s in before and s not in counted]
    return Retrieved(
        steps=tuple(counted), passages=passages, candidates=_dropped([s.documents or () for s in dropped], passages)
    )


def shows(text: str, prompt: str) -> bool:
    """Tell cheaply whether a prompt holds a piece of a text."""
    stripped = text.strip()
    starts = {0, max(0, len(stripped) // 2 - _WINDOW // 2), max(0, len(stripped) - _WINDOW)}
    pieces = (max(stripped[start : start + _WINDOW].splitlines(), key=len, default="") for start in starts)
    return any(piece.strip() and piece.strip() in prompt for piece in pieces)


def _from_tools(messages: Sequence[Message], sources: Sequence[_Source]) -> list[_Source]:
    """Return the tool results in a prompt that no retrieval brought; those of earlier turns are history."""
    last_user = max((i for i, message in enumerate(messages) if message.role == "user"), default=-1)
    documents = [document for source in sources for document in source.documents]
    found: list[_Source] = []
    for index, message in enumerate(messages):
        is_brought = any(document.text and shows(document.text, message.text) for document in documents)
        # Without their texts, documents cannot be told from other results: those of retrieval stay unknown.
        if message.role == "tool" and message.text.strip() and not is_brought:
            kind: PassageSource = "history" if index < last_user else "tool"
            found.append(_Source(documents=(Found(text=message.text, id=message.tool_call_id),), kind=kind))
    return found


def _from_input(root: Step | None) -> list[_Source]:
    """Return the documents that the whole call was given."""
    documents = find_documents(root.given) if root else ()
    return [_Source(documents=documents, kind="manual")] if documents else []


def _from_chains(before: Iterable[Step]) -> list[_Source]:
    """Return the documents that a plain function brought: they are in its output and not in its input."""
    for step in sorted(before, key=lambda s: s.span.end_ns or 0):
        is_open = step.kind in ("chain", "tool", "foreign") and not find_documents(step.given)
        if is_open and (documents := find_documents(step.returned)):
            return [_Source(documents=documents)]
    return []


def _with_texts(groups: Sequence[Sequence[Found]], lookup: DocumentLookup | None) -> list[tuple[Found, ...]]:
    """Fill in the texts of documents that came as ids, as far as they can be had."""
    wanted = [d.id for documents in groups for d in documents if d.text is None and d.id is not None]
    texts = lookup(wanted) if lookup and wanted else {}
    return [
        tuple(d if d.text is not None else replace(d, text=texts.get(d.id or "")) for d in documents)
        for documents in groups
    ]


def _passages(sources: Sequence[_Source]) -> tuple[Passage, ...]:
    """Return each document once, ranked in the order of retrieval."""
    found: dict[str, tuple[Found, PassageSource]] = {}
    for source in sources:
        for document in source.documents:
            found.setdefault(document.text or "", (document, source.kind))
    return tuple(
        Passage(text=text, rank=rank, id=d.id, score=d.score, metadata=d.metadata, source=kind)
        for rank, (text, (d, kind)) in enumerate(found.items())
    )


def _dropped(groups: Iterable[Sequence[Found]], passages: Sequence[Passage]) -> tuple[Passage, ...]:
    def fresh() -> Iterator[Found]:
        seen = {passage.text for passage in passages}
        for document in (document for group in groups for document in group):
            if document.text and document.text not in seen:
                seen.add(document.text)
                yield document

    return tuple(
        Passage(text=d.text or "", rank=rank, id=d.id, score=d.score, metadata=d.metadata)
        for rank, d in enumerate(fresh())
    )
