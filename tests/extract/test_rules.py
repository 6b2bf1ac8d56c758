"""Which model call answered, what was asked, and which passages count."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from ragtrace.extract import Assembled, ObservationRow, assemble_steps, read_trace
from ragtrace.extract.answering import find_question
from ragtrace.extract.content import Found, Message, Said
from ragtrace.extract.span import Span
from ragtrace.extract.step import Step
from ragtrace.semconv import MARK_INDIRECT
from tests.extract.recordings import ANSWER, DOGS, GATE, QUESTION

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
DEPOT = "The depot in Gera closed in 1998."


def span(number: int, start: int, end: int, *, parent: int | None = 1) -> Span:
    return Span(
        id=str(number),
        trace_id="t",
        name="s",
        start_ns=start,
        end_ns=end,
        parent_id=None if parent is None else str(parent),
    )


def root(returned: object = ANSWER, given: object = QUESTION) -> Step:
    return Step(span=span(1, 0, 100, parent=None), kind="chain", given=given, returned=returned)


def retrieval(number: int = 2, start: int = 10, *texts: str, **fields: object) -> Step:
    documents = tuple(Found(text=text, id=text[:3]) for text in texts or (GATE,))
    step = Step(span=span(number, start, start + 5), kind="retriever", query=QUESTION, documents=documents)
    return replace(step, **fields)


def model(number: int, start: int, said: str | Said | None, *, sent: str = GATE, parent: int = 1) -> Step:
    return Step(
        span=span(number, start, start + 10, parent=parent),
        kind="model",
        messages=(Message(role="user", text=sent, last_block=sent),),
        said=Said(text=said) if isinstance(said, str) else said,
    )


def the_call(*steps: Step) -> Assembled:
    (call,) = assemble_steps(steps)
    return call


def texts(call: Assembled) -> list[tuple[str, str]]:
    return [(passage.text, passage.source) for passage in call.passages or ()]


def test_whose_words_are_in_the_output_answered():
    """Among several model calls, the one whose text is the output answered, although another spoke later."""
    call = the_call(root(), retrieval(), model(3, 20, ANSWER), model(4, 40, "Follow-up: dogs?"))

    assert (call.generator.id, call.answer, call.confidence) == ("3", ANSWER, "high")


def test_an_output_that_holds_the_answer_is_less_sure():
    """Where the output is more than the answer, or a part of it, the choice is of medium confidence."""
    more = the_call(root(returned={"text": f"Answer: {ANSWER}"}), retrieval(), model(3, 20, ANSWER))
    last = the_call(root(returned={"a": 1}), retrieval(), model(3, 20, "One."), model(4, 40, "Two."))

    assert (more.answer, more.confidence) == (ANSWER, "medium")
    assert (last.answer, last.confidence) == ("Two.", "low")


def test_structured_output_is_an_answer():
    """A model that answers by a tool call of its own is found by the values in the output."""
    said = Said(text="", arguments=({"answer": ANSWER, "sure": True},), calls_tools=True)
    by_call = the_call(root(returned={"answer": ANSWER, "sure": True, "extra": 1}), retrieval(), model(3, 20, said))
    other = replace(said, arguments=({"hour": "six o'clock, working days"},))
    as_json = the_call(root(returned=[{"hour": "six o'clock, working days"}]), retrieval(), model(3, 20, other))
    written = f'```json\n{{"answer": "{ANSWER}", "n": 1}}\n```'
    by_text = the_call(root(returned={"answer": ANSWER, "n": 1}), retrieval(), model(3, 20, written))
    by_word = the_call(root(returned={"x": "six o'clock, working days"}), retrieval(), model(3, 20, other))

    assert [call.answer for call in (by_call, as_json, by_text, by_word)] == [
        ANSWER,
        '{"hour": "six o\'clock, working days"}',
        ANSWER,
        "six o'clock, working days",
    ]


def test_helpers_of_retrieval_never_answer():
    """A model call inside a retriever is its machinery; one inside a tool counts only where there is no other."""
    helper = model(3, 11, ANSWER, parent=2)
    call = the_call(root(returned=None), retrieval(), helper, model(4, 20, "At six."))
    tool = Step(span=span(5, 30, 60), kind="tool", returned="x")
    inner = the_call(root(), retrieval(), tool, model(6, 35, ANSWER, parent=5))

    assert (call.generator.id, inner.generator.id) == ("4", "6")


def test_asking_for_tools_is_no_answer():
    """A call in which the model only asked for tools has no answer yet."""
    asks = Said(text="", arguments=({"query": "gate"},), calls_tools=True)
    conversation = {"messages": [{"type": "ai", "tool_calls": [{"args": {"query": "gate"}}]}, {"type": "tool_call"}]}

    assert assemble_steps([root(returned=conversation), retrieval(), model(3, 20, asks)]) == ()


def test_outputs_without_end_are_read_within_bounds():
    """An output that is nested without end is looked at only so deep."""
    deep: list[object] = [ANSWER]
    for _ in range(30):
        deep = [deep]
    call = the_call(root(returned=deep), retrieval(), model(3, 20, ANSWER))

    assert (call.answer, call.confidence) == (ANSWER, "medium")


@pytest.mark.parametrize(
    ("given", "question"),
    [
        ("  Who? ", "Who?"),
        ('{"question": "Who?"}', "Who?"),
        ({"input": {"query": "Who?"}}, "Who?"),
        ({"messages": [["system", "Be brief."], ["user", "Who?"], ["assistant", "Me."]]}, "Who?"),
        ([{"role": "user", "parts": [{"type": "text", "content": '{"question": "Who?"}'}]}], "Who?"),
        ({"role": "user", "content": "Who?"}, "Who?"),
        ({"topic": "Who?"}, "Who?"),
        ({"a": "Who?", "b": "What?"}, None),
        ({"question": {"input": {"query": {"text": "too deep"}}}}, None),
        ([{"role": "system", "content": "Be brief."}], None),
        (3, None),
    ],
)
def test_the_question_is_found_in_what_the_root_was_given(given, question):
    """A root's input is a text, a mapping with the question under a usual name, or messages."""
    assert find_question(given) == question


def test_without_a_root_the_query_or_the_prompt_asks():
    """Retrieval and model that only follow one another ask by the query, else by the prompt's last user message."""
    loose = [replace(retrieval(), span=span(2, 10, 15, parent=None)), model(3, 20, ANSWER, parent=9)]
    unasked = [replace(loose[0], query=None), loose[1]]

    assert [(the_call(*steps).question, the_call(*steps).confidence) for steps in (loose, unasked)] == [
        (QUESTION, "medium"),
        (GATE, "medium"),
    ]


def test_the_applications_span_around_one_call_asks_and_answers():
    """A plain span around retrieval and model is their root, if it says what came out."""
    around = replace(root(), kind="foreign", given={"question": "Open when?"})
    call = the_call(around, retrieval(), model(3, 20, ANSWER))

    assert (call.root.id, call.question, call.confidence) == ("1", "Open when?", "medium")


def test_what_a_reranker_dropped_is_a_candidate():
    """Passages are what the reranker kept; what only the retriever found is shown, never judged."""
    reranker = retrieval(3, 16, DOGS, kind="reranker")
    call = the_call(root(), retrieval(2, 10, GATE, DOGS, DOGS), reranker, model(4, 30, ANSWER))

    assert texts(call) == [(DOGS, "retriever")]
    assert [candidate.text for candidate in call.candidates] == [GATE]


def test_what_an_outer_retriever_dropped_is_a_candidate():
    """Of retrievers inside one another, the outermost counts."""
    inner = replace(retrieval(3, 11, GATE, DEPOT), span=span(3, 11, 14, parent=2))
    call = the_call(root(), retrieval(2, 10, GATE), inner, model(4, 30, ANSWER))

    assert (texts(call), [candidate.text for candidate in call.candidates]) == ([(GATE, "retriever")], [DEPOT])


def test_results_of_other_tools_are_passages():
    """What tools put into the prompt counts, unless retrieval brought it; before the last question, it is history."""
    sent = (
        Message(role="tool", text=DEPOT, tool_call_id="c0"),
        Message(role="user", text=QUESTION, last_block=QUESTION),
        Message(role="tool", text=f"Found: {GATE}", tool_call_id="c1"),
        Message(role="tool", text=DOGS, tool_call_id="c2"),
        Message(role="tool", text=" "),
    )
    call = the_call(root(), retrieval(), replace(model(3, 20, ANSWER), messages=sent))

    assert texts(call) == [(GATE, "retriever"), (DEPOT, "history"), (DOGS, "tool")]


def test_model_calls_that_read_for_the_generator_count():
    """In map-reduce, what the mapping calls were sent was received, too; a grader, whose words go nowhere, was not."""
    mapped = model(3, 20, "The gate opens at six.", sent=f"Summarise: {GATE}")
    grader = model(4, 32, "Relevant.", sent=f"Grade: {GATE}")
    final = model(5, 50, ANSWER, sent="Summaries: The gate opens at six.")
    call = the_call(root(), retrieval(), mapped, grader, final)

    assert call.prompt_parts == (f"Summarise: {GATE}", "Summaries: The gate opens at six.")
    assert call.marks == (MARK_INDIRECT,)


def test_documents_that_a_function_returns_are_passages():
    """Where no retriever is seen, the first step counts that returns documents and was not given any."""
    documents = [{"type": "Document", "page_content": GATE}]
    search = Step(span=span(2, 5, 8), kind="chain", given=QUESTION, returned={"docs": documents})
    passes = Step(span=span(3, 8, 9), kind="chain", given=documents, returned=documents)
    call = the_call(root(), passes, search, model(4, 20, ANSWER))

    assert texts(call) == [(GATE, "retriever")]


def test_what_was_retrieved_too_late_does_not_count():
    """A retrieval after the answer brought nothing to it."""
    late = retrieval(5, 50, DOGS)
    call = the_call(root(), retrieval(), model(3, 20, ANSWER), late)

    assert texts(call) == [(GATE, "retriever")]


def test_a_ring_of_parents_ends():
    """Spans that claim to be inside one another do not hang the reader."""
    ring = [replace(retrieval(), span=span(2, 10, 15, parent=3)), model(3, 20, ANSWER, parent=2)]

    assert assemble_steps(ring) == ()


def test_labels_come_from_the_root():
    """User, session, tags and the rest are the root's; what it lacks is the generator's."""
    generation = json.dumps([{"role": "user", "content": GATE}])
    base = {"trace_id": "t", "name": "n", "start_time": START, "end_time": START}
    rows = [
        ObservationRow(id="1", type="CHAIN", input=QUESTION, output=ANSWER, user_id="u", tags=("a",), **base),
        ObservationRow(id="2", type="RETRIEVER", parent_id="1", input=QUESTION, output=f'["{GATE}"]', **base),
        ObservationRow(
            id="3", type="GENERATION", parent_id="1", input=generation, output=ANSWER, session_id="s", model="m", **base
        ),
    ]
    (call,) = read_trace(rows)

    assert (call.user, call.tags, call.session, call.model, call.observation_id) == ("u", ("a",), "s", "m", "3")
    assert call.delivery is not None
    assert [placed.status for placed in call.delivery.passages] == ["full"]
