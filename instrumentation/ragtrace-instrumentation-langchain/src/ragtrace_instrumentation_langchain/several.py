"""Tell apart the answers of a program that asks several questions under one root: in a loop, or side by side."""

from collections.abc import Sequence
from dataclasses import dataclass

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


def find_answers(call: Call, ending: Ending) -> Sequence[Answer]:
    """Return the answers of a call if its output holds several, each of them with a search of its own; else nothing.

    A summary beside an answer, or an answer in two languages, has no search of its own: that is one answer.
    """
    generations = _speakers(call, ending)
    if len(generations) < 2:
        return ()
    found = [_searches(generation, generations, call) for generation in generations]
    if not all(found) or not _are_apart(generations, found):
        return ()
    return [
        Answer(
            choice=Choice(generation=generation, answer=generation.text, confidence="high"),
            gathered=gather(call, generation, loose=(), conversation=Conversation(), only=searches),
            question=_question(generation, generations, searches, call),
        )
        for generation, searches in zip(generations, found, strict=True)
    ]


def _are_apart(generations: Sequence[Generation], found: Sequence[Sequence[Retrieval]]) -> bool:
    """Tell whether no answer shares a search with another, or was shown what another's search found."""
    searches = [retrieval for some in found for retrieval in some]
    if len({retrieval.order for retrieval in searches}) < len(searches):
        return False
    return not any(
        shows(document.text, generation.prompt.parts)
        for generation, own in zip(generations, found, strict=True)
        for retrieval in searches
        if retrieval not in own
        for document in retrieval.documents
        if all(document.text != mine.text for some in own for mine in some.documents)
    )


def _speakers(call: Call, ending: Ending) -> list[Generation]:
    """Return the model calls whose texts are values of the output, one for each, in the order of their ends."""
    usable = [
        g
        for g in call.generations
        if g.end_order and g.error is None and g.role != "helper" and g.text and not g.arguments
        if not g.run.is_in_retriever and g.run.tool is None
    ]
    left = [text.strip() for text in ending.texts]
    speakers = []
    for generation in sorted(usable, key=lambda g: g.end_order):
        said = (generation.text or "").strip()
        if said in left:
            left.remove(said)
            speakers.append(generation)
    return speakers


def _searches(generation: Generation, others: Sequence[Generation], call: Call) -> list[Retrieval]:
    """Return what was retrieved for one of several answers: in its own chain, else since the answer before it."""
    before = [r for r in call.retrievals if r.order < generation.run.order and r.run is not None and not r.is_nested]
    scope = _scope(generation, others)
    own = [r for r in before if r.run is not None and _is_inside(r.run, scope)]
    if own or scope is not generation.run:
        return own
    earlier = [g.run.order for g in others if g.run.order < generation.run.order]
    return [r for r in before if r.order > max(earlier, default=0)]


def _scope(generation: Generation, others: Sequence[Generation]) -> Run:
    """Return the outermost run around a model call that is around none of the others."""
    scope = generation.run
    elsewhere = {id(run) for other in others if other is not generation for run in _above(other.run)}
    for run in _above(generation.run):
        if id(run) in elsewhere:
            break
        scope = run
    return scope


def _above(run: Run) -> list[Run]:
    above = []
    while run.parent is not None:
        run = run.parent
        above.append(run)
    return above


def _is_inside(run: Run, scope: Run) -> bool:
    return run is scope or any(above is scope for above in _above(run))


def _question(generation: Generation, others: Sequence[Generation], searches: Sequence[Retrieval], call: Call) -> str:
    given = _scope(generation, others).given
    asked = find_question(given) if given is not None else None
    queries = [retrieval.query for retrieval in searches if retrieval.query]
    return (asked or (queries[0] if queries else None) or call.question or generation.prompt.question or "").strip()
