"""Turn a call that is over into the record that ragtrace captures."""

from asyncio import CancelledError
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from langchain_core.messages import AIMessage
from opentelemetry.context import attach, detach
from opentelemetry.instrumentation.utils import is_instrumentation_enabled

from ragtrace.capture import CapturedCall, UnwrittenCall, hears_retrieved, tell_retrieved
from ragtrace.model import JsonValue, Passage
from ragtrace.semconv import (
    MARK_ABANDONED,
    MARK_INDIRECT,
    MARK_SENT_TO_ADAPTER,
    USER_REFERENCE,
    USER_RELEVANT_IDS,
    USER_ROLE,
)
from ragtrace_instrumentation_langchain.calls import Call, Ending, Generation, Retrieval
from ragtrace_instrumentation_langchain.citations import read_citations, resolve
from ragtrace_instrumentation_langchain.indirect import find_feeders
from ragtrace_instrumentation_langchain.join import Place, find_place
from ragtrace_instrumentation_langchain.memory import HERE, Conversation, Here
from ragtrace_instrumentation_langchain.passages import Gathered, gather
from ragtrace_instrumentation_langchain.runs import RunTable
from ragtrace_instrumentation_langchain.several import find_answers
from ragtrace_instrumentation_langchain.shapes import Choice, choose_generation, find_question

_MOST_REMEMBERED = 50
_LEFT = (GeneratorExit, CancelledError)
_THREAD = "thread_id"
_INTERNAL_KEYS = frozenset({USER_REFERENCE, USER_RELEVANT_IDS, USER_ROLE, "checkpoint_ns", "checkpoint_id"})
_INTERNAL_PREFIXES = ("langfuse_", "langgraph_", "ls_", "lc_", "__pregel")
_INTERNAL_TAGS = ("seq:step:", "graph:step:", "map:key:", "langsmith:", "retry:attempt:", USER_ROLE)


def finish(call: Call, table: RunTable) -> None:
    """Close a call and submit what it was; what is written of it is decided on the background thread."""
    if not table.close(call):
        return
    if call.generations:
        size = call.characters + sum(map(len, call.generations[-1].prompt.parts))
    elif _THREAD in call.metadata and call.root is not None and call.root.kind != "retriever":
        # It may go on in another call of the same conversation.
        size = call.characters
    else:
        _remember(call, table)
        return
    here = HERE.get()
    call.client.submit(UnwrittenCall(write=lambda: _write(call, table, here=here), size=size))


def _remember(call: Call, table: RunTable) -> None:
    """Keep what plain code retrieved for the model call to come: at once, since that must be done in its context."""
    for retrieval in _outermost(call) if _is_wanted(call) else ():
        table.loose.add(retrieval)
        if hears_retrieved(table.hear):
            tell_retrieved(_passages(retrieval), teller=table.hear)
    call.forget()


def _passages(retrieval: Retrieval) -> tuple[Passage, ...]:
    return tuple(
        Passage(
            text=found.text,
            rank=rank,
            id=found.id,
            score=found.score,
            # Made JSON on the background thread.
            metadata=cast("Mapping[str, JsonValue]", found.metadata),
        )
        for rank, found in enumerate(retrieval.documents)
    )


def _write(call: Call, table: RunTable, *, here: Here) -> Sequence[CapturedCall]:
    try:
        return _make_records(call, table, here=here)
    finally:
        call.forget()


def _make_records(call: Call, table: RunTable, *, here: Here) -> Sequence[CapturedCall]:
    if not _is_wanted(call):
        return ()
    ending = call.ending or Ending(is_abandoned=True)
    thread = str(call.metadata.get(_THREAD) or "")
    conversation = table.conversations.find(thread) if thread else Conversation()
    choice = choose_generation(call.generations, ending)
    if choice is None or (call.is_interrupted and choice.confidence != "high"):
        if thread:
            table.conversations.save(thread, _interrupted(conversation, call))
        return ()
    # With retrievals of its own, a call lacks at most those made meanwhile in threads that lost the callbacks.
    has_own = call.is_resumed or any(r.source in ("retriever", "tool") for r in _outermost(call))
    since = call.root.start_ns if has_own and call.root else 0
    loose = table.loose.claim(choice.generation.prompt.parts, here=here, since_ns=since)
    gathered = gather(call, choice.generation, loose=loose, conversation=conversation)
    broke_off = call.ending is not None and call.ending.is_broken
    if gathered.passages is None and broke_off and _is_complete(choice.generation):
        # It broke off before the model was asked that was to answer; what an earlier one said is no answer.
        return ()
    if thread:
        table.conversations.save(thread, _continued(conversation, gathered))
    place = find_place(call)
    if place is None:
        return ()
    if not thread and (answers := find_answers(call, ending)):
        return [
            _describe(call, one.choice, one.gathered, place=place, question=one.question, is_abandoned=False)
            for one in answers
        ]
    question = _question(call, choice, gathered, conversation)
    is_abandoned = ending.is_abandoned or isinstance(choice.generation.error, _LEFT)
    return [_describe(call, choice, gathered, place=place, question=question, is_abandoned=is_abandoned)]


def _is_wanted(call: Call) -> bool:
    """Tell whether instrumentation was on where the call began."""
    if call.around is None:
        return False
    token = attach(call.around)
    try:
        return bool(is_instrumentation_enabled())
    finally:
        detach(token)


def _describe(
    call: Call, choice: Choice, gathered: Gathered, *, place: Place, question: str, is_abandoned: bool
) -> CapturedCall:
    generation, metadata = choice.generation, call.metadata
    cited = read_citations(generation.message) if isinstance(generation.message, AIMessage) else ()
    feeders = find_feeders(call.generations, generation, gathered.passages or ())
    parts = [part for feeder in (*feeders, generation) for part in feeder.prompt.parts]
    error = None if isinstance(generation.error, _LEFT) else generation.error
    marks = {
        MARK_ABANDONED: is_abandoned,
        MARK_INDIRECT: bool(feeders),
        MARK_SENT_TO_ADAPTER: generation.prompt.has_foreign_blocks,
    }
    is_sure = choice.confidence != "high" or not (gathered.is_linked or is_abandoned)
    return CapturedCall(
        question=question,
        answer=choice.answer,
        passages=gathered.passages,
        prompt_parts=tuple(parts),
        start_ns=min([r.start_ns for r in gathered.retrievals] or [generation.run.start_ns]),
        end_ns=generation.end_ns or generation.run.start_ns,
        context=place.context,
        provider=place.provider,
        question_rewritten=_rewritten(gathered.retrievals, question),
        candidates=gathered.candidates,
        reference=_text(metadata.get(USER_REFERENCE)),
        relevant_ids=_texts(metadata.get(USER_RELEVANT_IDS)),
        citations=resolve(cited, gathered.passages or ()) if cited else (),
        model=generation.model,
        response_id=generation.response_id,
        trace_name=_text(metadata.get("langfuse_trace_name")),
        session=_text(metadata.get("langfuse_session_id")),
        user=_text(metadata.get("langfuse_user_id")),
        conversation=_text(metadata.get(_THREAD)),
        tags=tuple(dict.fromkeys((*_texts(metadata.get("langfuse_tags")), *_own_tags(call.tags)))),
        metadata={k: v for k, v in metadata.items() if _is_users(k)},
        confidence=choice.confidence if is_sure else "medium",
        marks=tuple(mark for mark, holds in marks.items() if holds),
        error=error,
    )


def _is_complete(generation: Generation) -> bool:
    return bool(generation.end_order) and generation.error is None


def _question(call: Call, choice: Choice, gathered: Gathered, conversation: Conversation) -> str:
    asked = (call.question or "").strip() or (conversation.question if call.is_resumed else _first_asked(call))
    queries = _queries(gathered.retrievals)
    return asked or (queries[0] if queries else None) or (choice.generation.prompt.question or "").strip()


def _first_asked(call: Call) -> str | None:
    """Return the question that the first step was given: of a stream that broke off, the root's input is unknown."""
    step = next((run for run in call.runs if run.parent is call.root), None)
    return find_question(step.given) if step is not None and step.kind == "chain" else None


def _rewritten(retrievals: Sequence[Retrieval], question: str) -> str | None:
    queries = _queries(retrievals)
    if all(query.strip() == question.strip() for query in queries):
        return None
    return "\n".join(queries)


def _queries(retrievals: Sequence[Retrieval]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(r.query for r in retrievals if r.query and r.source != "history"))


def _outermost(call: Call) -> Iterator[Retrieval]:
    return (retrieval for retrieval in call.retrievals if not retrieval.is_nested)


def _interrupted(conversation: Conversation, call: Call) -> Conversation:
    """Keep the question and the passages for the call that will resume this one."""
    was_pending = conversation.pending if call.is_resumed else ()
    return Conversation(
        earlier=conversation.earlier,
        question=(call.question or "").strip() or (conversation.question if call.is_resumed else None),
        pending=(*was_pending, *_outermost(call)),
    )


def _continued(conversation: Conversation, gathered: Gathered) -> Conversation:
    """Keep the passages for later turns, whose prompts may hold them again."""
    news = {r.tool_call_id or f"#{r.order}": r for r in gathered.retrievals if r.source in ("retriever", "manual")}
    return Conversation(earlier=dict(list({**conversation.earlier, **news}.items())[-_MOST_REMEMBERED:]))


def _is_users(key: str) -> bool:
    return key not in _INTERNAL_KEYS and not key.startswith(_INTERNAL_PREFIXES)


def _own_tags(tags: Sequence[str]) -> Iterator[str]:
    return (tag for tag in tags if not tag.startswith(_INTERNAL_TAGS))


def _text(value: object) -> str | None:
    return None if value is None or value == "" else str(value)


def _texts(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    return tuple(map(str, value)) if isinstance(value, (list, tuple, set, frozenset)) else ()
