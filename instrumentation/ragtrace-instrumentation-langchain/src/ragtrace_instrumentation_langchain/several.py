"""Tell apart the answers of a program that asks several questions under one root: in a loop, or side by side."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ragtrace.capture import shows
from ragtrace_instrumentation_langchain.calls import Call, Ending, Generation, Retrieval, Run
from ragtrace_instrumentation_langchain.memory import Conversation
from ragtrace_instrumentation_langchain.passages import Gathered, gather
from ragtrace_instrumentation_langchain.shapes import Choice, find_question


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One of several answers."""

    choice: Choice
    gathered: Gathered
    question: str


@dataclass(slots=True, kw_only=True, eq=False)
class _Part:
    """One answer's share of a call."""

    generation: Generation
    scope: Run
    """The outermost run around the model call that is around no other answer's."""
    searches: list[Retrieval]


def find_answers(call: Call, ending: Ending) -> Sequence[Answer]:
    """Return the answers of a call if its output holds several, each of them with a search of its own; else nothing.

    A summary beside an answer, or an answer in two languages, has no search of its own: that is one answer.
    """
    parts = _share_out(call, _speakers(call, ending))
    if len(parts) < 2 or not all(part.searches for part in parts) or _build_on_each_other(parts):
        return ()
    return [
        Answer(
            choice=Choice(generation=part.generation, answer=part.generation.text, confidence="high"),
            gathered=gather(call, part.generation, loose=(), conversation=Conversation(), only=part.searches),
            question=_question(part, call),
        )
        for part in parts
    ]


def _speakers(call: Call, ending: Ending) -> list[Generation]:
    """Return the model calls whose texts are values of the output, one for each, in the order of their starts."""
    left = Counter(text.strip() for text in ending.texts)
    speakers = []
    for generation in call.generations:
        said = (generation.text or "").strip()
        if said and left[said] and _may_speak(generation):
            left[said] -= 1
            speakers.append(generation)
    return speakers


def _may_speak(generation: Generation) -> bool:
    run = generation.run
    has_ended = bool(generation.end_order) and generation.error is None
    return has_ended and generation.role != "helper" and not (generation.arguments or run.is_in_retriever or run.tool)


def _share_out(call: Call, generations: Sequence[Generation]) -> list[_Part]:
    """Give each answer the searches in its own chain; those in no answer's chain go to the answer that came next."""
    shared = Counter(id(run) for generation in generations for run in _around(generation.run))
    parts = [_Part(generation=g, scope=_scope(g.run, shared), searches=[]) for g in generations]
    by_scope = {id(part.scope): part for part in parts}
    waiting = iter(parts)
    following = next(waiting, None)
    for retrieval in sorted(call.retrievals, key=lambda one: one.order):
        if retrieval.run is None or retrieval.is_nested:
            continue
        while following is not None and following.generation.run.order < retrieval.order:
            following = next(waiting, None)
        owner = next((by_scope[id(run)] for run in _around(retrieval.run) if id(run) in by_scope), None)
        if owner is None and following is not None and following.scope is following.generation.run:
            owner = following
        if owner is not None and retrieval.order < owner.generation.run.order:
            owner.searches.append(retrieval)
    return parts


def _around(run: Run) -> Iterator[Run]:
    """Yield a run and those that it happens in."""
    inner: Run | None = run
    while inner is not None:
        yield inner
        inner = inner.parent


def _scope(run: Run, shared: Counter[int]) -> Run:
    scope = run
    for above in _around(run):
        if shared[id(above)] > 1:
            break
        scope = above
    return scope


def _build_on_each_other(parts: Sequence[_Part]) -> bool:
    """Tell whether an answer was shown what the search for the answer before it found, and its own did not."""
    return any(
        shows(document.text, later.generation.prompt.parts)
        for earlier, later in pairwise(parts)
        for own in [{document.text for search in later.searches for document in search.documents}]
        for search in earlier.searches
        for document in search.documents
        if document.text not in own
    )


def _question(part: _Part, call: Call) -> str:
    given = part.scope.given
    asked = find_question(given) if given is not None else None
    query = next((search.query for search in part.searches if search.query), None)
    return (asked or query or call.question or part.generation.prompt.question or "").strip()
