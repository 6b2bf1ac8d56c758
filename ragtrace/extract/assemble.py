"""Put the steps of a trace together into RAG calls, by the same rules whatever wrote the spans."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ragtrace.extract.answering import Choice, Ending, asked_last, choose_answer, find_question, read_ending
from ragtrace.extract.conventions import read_step
from ragtrace.extract.feeders import find_feeders
from ragtrace.extract.gather import DocumentLookup, Retrieved, gather
from ragtrace.extract.span import Span
from ragtrace.extract.step import RETRIEVING, Step
from ragtrace.extract.tree import Group, Tree
from ragtrace.model import Confidence, Passage
from ragtrace.semconv import (
    MARK_CAPPED,
    MARK_CONTEXTS_UNKNOWN,
    MARK_ERROR,
    MARK_IDS_ONLY,
    MARK_INDIRECT,
    MARK_MASKED,
    MARK_PROMPT_UNKNOWN,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembled:
    """One RAG call of a trace, before its passages are held against its prompt."""

    root: Span
    """The span that the whole call happened in; the generator's where there is none."""
    generator: Span
    started_ns: int
    """When the first retrieval began, else the generator."""
    question: str
    question_rewritten: str | None
    passages: tuple[Passage, ...] | None
    """None: unknown, and a mark says why."""
    candidates: tuple[Passage, ...]
    prompt_parts: tuple[str, ...]
    answer: str | None
    model: str | None
    response_id: str | None
    conversation: str | None
    confidence: Confidence
    marks: tuple[str, ...]


def assemble(spans: Iterable[Span], *, document_lookup: DocumentLookup | None = None) -> tuple[Assembled, ...]:
    """Return the RAG calls of one trace, in order of time.

    A model call for which nothing was retrieved is none. Several traces at once are a mistake of the caller.

    Args:
        spans: All spans of the trace that there are.
        document_lookup: Tells the texts of documents where the convention carries ids only.
    """
    return assemble_steps([read_step(span) for span in spans], document_lookup=document_lookup)


def assemble_steps(steps: Sequence[Step], *, document_lookup: DocumentLookup | None = None) -> tuple[Assembled, ...]:
    """Return the RAG calls of a trace whose spans are read already; otherwise as `assemble`."""
    tree = Tree(steps)
    calls = (_assemble(group, tree, document_lookup) for group in tree.groups())
    return tuple(sorted((call for call in calls if call), key=lambda call: call.started_ns))


def _assemble(group: Group, tree: Tree, lookup: DocumentLookup | None) -> Assembled | None:
    models = [s for s in group.steps if s.kind == "model" and not tree.is_inside(s, RETRIEVING)]
    outside_tools = [s for s in models if not tree.is_inside(s, ("tool",))]
    choice = choose_answer(outside_tools or models, _ending(group))
    if choice is None:
        return None
    nested = [s for s in group.steps if s.kind in RETRIEVING and tree.is_inside(s, RETRIEVING)]
    retrieved = gather(group.steps, choice.step, root=group.root, nested=nested, lookup=lookup)
    if not retrieved.steps and retrieved.passages is None:
        return None
    feeders = find_feeders(models, choice.step, retrieved.passages or ())
    return _describe(group, choice, retrieved, feeders=feeders)


def _ending(group: Group) -> Ending:
    root = group.root
    # The output of a model call that stands alone would prove itself.
    return Ending(texts=(), values=()) if root is None or root.kind == "model" else read_ending(root.returned)


def _describe(group: Group, choice: Choice, retrieved: Retrieved, *, feeders: Sequence[Step]) -> Assembled:
    generator = choice.step
    parts = tuple(message.text for step in (*feeders, generator) for message in step.messages if message.text)
    queries = tuple(dict.fromkeys(step.query for step in retrieved.steps if step.query))
    asked = find_question(group.root.given) if group.root and group.root.kind != "model" else None
    question = asked or (queries[0] if queries else None) or asked_last(generator) or ""
    is_plain = all(query.strip() == question.strip() for query in queries)
    starts = [step.span.start_ns for step in retrieved.steps]
    # Held against a prompt that is not all there, passages would seem withheld that were received.
    is_known = bool(parts) and not generator.is_cut
    return Assembled(
        root=(group.root or generator).span,
        generator=generator.span,
        started_ns=min([*starts, generator.span.start_ns]),
        question=question,
        question_rewritten=None if is_plain else "\n".join(queries),
        passages=retrieved.passages if is_known else None,
        candidates=retrieved.candidates,
        prompt_parts=parts,
        answer=choice.answer,
        model=generator.model,
        response_id=generator.response_id,
        conversation=generator.conversation,
        confidence=_confidence(choice, group),
        marks=_marks(generator, retrieved, is_indirect=bool(feeders)),
    )


def _confidence(choice: Choice, group: Group) -> Confidence:
    return "medium" if group.is_linked and choice.confidence == "high" else choice.confidence


def _marks(generator: Step, retrieved: Retrieved, *, is_indirect: bool) -> tuple[str, ...]:
    is_known = retrieved.passages is not None and bool(generator.messages) and not generator.is_cut
    found = {
        MARK_CONTEXTS_UNKNOWN: not is_known,
        MARK_INDIRECT: is_indirect,
        MARK_IDS_ONLY: retrieved.has_ids_only,
        MARK_PROMPT_UNKNOWN: not generator.messages,
        MARK_CAPPED: generator.is_cut or any(step.is_cut for step in retrieved.steps),
        MARK_MASKED: generator.is_masked or any(step.is_masked for step in retrieved.steps),
        MARK_ERROR: generator.span.is_error,
    }
    return tuple(mark for mark, holds in found.items() if holds)
