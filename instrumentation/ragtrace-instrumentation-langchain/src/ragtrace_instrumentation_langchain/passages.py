"""Gather the passages of a call from all places where documents were seen."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import cast

from ragtrace.capture import shows
from ragtrace.model import JsonValue, Passage, PassageSource
from ragtrace_instrumentation_langchain.calls import Call, Generation, Retrieval
from ragtrace_instrumentation_langchain.documents import Found
from ragtrace_instrumentation_langchain.memory import Conversation

_SCORE_KEYS = ("relevance_score", "score", "similarity_score", "rerank_score", "_score")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """What retrieval brought for one answer."""

    retrievals: tuple[Retrieval, ...]
    """Those that count, in the order in which they ended."""
    passages: tuple[Passage, ...] | None
    """None: no retrieval was seen, so what the generator could know is unknown."""
    candidates: tuple[Passage, ...]
    """What an inner retriever found and the outer one dropped."""
    is_linked: bool
    """Some retrieval happened outside the call; its text or its query tied it to the prompt."""


def gather(
    call: Call,
    generation: Generation,
    *,
    loose: Sequence[Retrieval],
    conversation: Conversation,
    only: Sequence[Retrieval] | None = None,
) -> Gathered:
    """Put together what was retrieved before a model call began: all of it, or `only` some."""
    before = [r for r in (call.retrievals if only is None else only) if r.order < generation.run.order]
    pending = conversation.pending if call.is_resumed else ()
    counted = [*pending, *loose, *(retrieval for retrieval in before if not retrieval.is_nested)]
    counted += _unseen(generation, counted, conversation)
    nested = [retrieval for retrieval in before if retrieval.is_nested]
    passages = to_passages(counted)
    known = _Known(passage.text for passage in passages)
    return Gathered(
        retrievals=tuple(counted),
        passages=passages if counted else None,
        candidates=tuple(passage for passage in to_passages(nested) if known.add(passage.text)),
        is_linked=bool(loose),
    )


def to_passages(retrievals: Iterable[Retrieval]) -> tuple[Passage, ...]:
    """Return each document once, ranked in the order of retrieval."""
    known = _Known(())
    found = [
        (document, retrieval.source)
        for retrieval in retrievals
        for document in retrieval.documents
        if known.add(document.text)
    ]
    return tuple(_to_passage(document, rank, source=source) for rank, (document, source) in enumerate(found))


class _Known:
    """Texts seen before, told apart without hashing them whole: a prompt's worth of text costs a millisecond."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._by_ends: dict[tuple[int, str, str], list[str]] = {}
        for text in texts:
            self.add(text)

    def add(self, text: str) -> bool:
        """Remember a text; False if it was known."""
        alike = self._by_ends.setdefault((len(text), text[:24], text[-24:]), [])
        if text in alike:
            return False
        alike.append(text)
        return True


def _to_passage(document: Found, rank: int, *, source: PassageSource) -> Passage:
    return Passage(
        text=document.text,
        rank=rank,
        id=document.id,
        score=_score(document.metadata) if document.score is None else document.score,
        # Values of any type: `ragtrace.capture` makes them JSON on its own thread.
        metadata=cast("Mapping[str, JsonValue]", document.metadata),
        source=source,
    )


def _score(metadata: Mapping[str, object]) -> float | None:
    for key in _SCORE_KEYS:
        value = metadata.get(key)
        if isinstance(value, Real):
            return float(value)
    return None


def _unseen(generation: Generation, counted: Sequence[Retrieval], conversation: Conversation) -> Iterator[Retrieval]:
    """Yield what the prompt holds although no retrieval of this call brought it.

    That is what earlier turns brought, and what tools returned of which no event told.
    """
    seen_calls = {retrieval.tool_call_id for retrieval in counted}
    for result in generation.prompt.tool_results:
        earlier = conversation.earlier.get(result.call_id)
        if result.call_id in seen_calls or not result.text:
            continue
        is_history = result.is_earlier or earlier is not None
        if not is_history and any(_brought(retrieval, result.text) for retrieval in counted):
            continue
        documents = earlier.documents if earlier else result.documents or (Found(result.text, None, {}),)
        yield _retrieval(generation, documents, source="history" if is_history else "tool")
    for retrieval in conversation.earlier.values():
        if retrieval.tool_call_id is None and _brought(retrieval, *generation.prompt.parts):
            yield _retrieval(generation, retrieval.documents, source="history")


def _brought(retrieval: Retrieval, *texts: str) -> bool:
    return any(shows(document.text, texts) for document in retrieval.documents)


def _retrieval(generation: Generation, documents: Sequence[Found], *, source: PassageSource) -> Retrieval:
    return Retrieval(documents, generation.run.order, generation.run, source)
