"""Calls that end badly, late or not at all are captured for what they were, and nothing of them stays behind."""

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManager
from langchain_core.messages import BaseMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda, RunnablePassthrough
from langchain_kit import PROMPT, Records, Shelf, Talker, make_handler, says, stuff_chain, write_out
from uuid_utils.compat import uuid7

from ragtrace_instrumentation_langchain import RagCallbackHandler
from ragtrace_instrumentation_langchain.runs import RunTable

QUESTION = "When does the gate open?"
LONG = "The gate opens at six on working days and at eight on all other days."


def refuse(_messages: Sequence[BaseMessage]) -> str:
    raise ConnectionError("overloaded")


async def cancel_waiting(waiting: list[Any], work: Any) -> None:
    """Run something until one more waits, then cancel it."""
    before = len(waiting)
    task = asyncio.ensure_future(work)
    while len(waiting) == before:
        await asyncio.sleep(0.0005)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_a_failing_retriever_leaves_no_record(handler: RagCallbackHandler, records: Records):
    """Where retrieval fails nothing was answered; the error is the application's, unchanged."""
    with pytest.raises(ConnectionError, match="the index is down"):
        stuff_chain(Shelf(fails=True)).invoke(QUESTION, {"callbacks": [handler]})

    assert records == []


def test_a_failing_model_is_recorded_with_its_error(handler: RagCallbackHandler, records: Records):
    """Where the generator fails the record says so, with what it was sent and without an answer."""
    with pytest.raises(ConnectionError, match="overloaded"):
        stuff_chain(model=Talker(reply=refuse)).invoke(QUESTION, {"callbacks": [handler]})
    (call,) = records

    assert (call.answer, str(call.error), len(call.passages or ())) == (None, "overloaded", 2)


def test_a_broken_stream_is_recorded_with_what_was_said(handler: RagCallbackHandler, records: Records):
    """Where a stream breaks the record holds the answer so far."""
    chain = stuff_chain(model=Talker(reply=lambda _m: LONG, breaks_after=4))
    with pytest.raises(ConnectionError):
        list(chain.stream(QUESTION, {"callbacks": [handler]}))
    (call,) = records

    assert (call.question, call.answer, str(call.error)) == (QUESTION, "The gate opens at ", "the stream broke")


def test_retrieval_cancelled_midway_leaves_nothing_behind(handler: RagCallbackHandler, records: Records):
    """A cancelled retrieval, of which LangChain tells nobody, leaves no open run."""
    shelf = Shelf(waits=True)
    asyncio.run(cancel_waiting(shelf.waiting, stuff_chain(shelf).ainvoke(QUESTION, {"callbacks": [handler]})))

    assert (records, handler.open_runs) == ([], 0)


def test_generation_cancelled_midway_is_abandoned(handler: RagCallbackHandler, records: Records):
    """A cancelled generation is recorded as abandoned, without an answer and without an error."""
    model = Talker(reply=lambda _m: LONG, waits=True)
    asyncio.run(cancel_waiting(model.waiting, stuff_chain(model=model).ainvoke(QUESTION, {"callbacks": [handler]})))
    (call,) = records

    assert (call.answer, call.marks, call.error) == (None, ("abandoned",), None)


def test_a_cancelled_stream_is_abandoned_with_what_was_said(handler: RagCallbackHandler, records: Records):
    """A stream whose task is cancelled is recorded as abandoned, with the answer so far."""

    waiting: list[str] = []

    async def read() -> None:
        async for part in stuff_chain(model=says(LONG)).astream(QUESTION, {"callbacks": [handler]}):
            waiting.append(part)
            await asyncio.Event().wait()

    asyncio.run(cancel_waiting(waiting, read()))
    (call,) = records

    assert call.marks == ("abandoned",)
    assert LONG.startswith(call.answer or "?")


@pytest.mark.parametrize("has_parser", [True, False])
def test_an_abandoned_stream_is_recorded_when_the_model_ends(
    has_parser: bool, handler: RagCallbackHandler, records: Records
):
    """A stream that its reader closes ends before its model does; one record is made, marked abandoned."""
    chain = stuff_chain(model=says(LONG))
    stream = (chain if has_parser else chain.first | chain.middle[0] | says(LONG)).stream(
        QUESTION, {"callbacks": [handler]}
    )
    next(stream)
    stream.close()
    (call,) = records

    assert (call.question, call.marks, call.error) == (QUESTION, ("abandoned",), None)
    assert LONG.startswith(call.answer or "?")


def test_an_abandoned_asynchronous_stream_is_recorded_once(handler: RagCallbackHandler, records: Records):
    """An asynchronous stream that is closed early tells of its model only after its end; one record is made."""

    async def read_one() -> None:
        stream = stuff_chain(model=says(LONG)).astream(QUESTION, {"callbacks": [handler]})
        await anext(stream)
        await stream.aclose()

    asyncio.run(read_one())
    (call,) = records

    assert (call.question, call.marks) == (QUESTION, ("abandoned",))


def _rewriting_chain(shelf: Shelf | None = None, *, generator: Talker) -> Runnable[Any, Any]:
    """Rewrite the question with a model, search with that and answer."""
    rewrite = ChatPromptTemplate.from_template("Rewrite for a search: {question}") | says("opening hours")
    search = rewrite | StrOutputParser() | (shelf or Shelf()) | write_out
    return RunnablePassthrough.assign(context=search) | PROMPT | generator | StrOutputParser()


@pytest.mark.parametrize("streams", [False, True])
def test_a_generator_that_fails_behind_another_model_is_the_generator(
    streams: bool, handler: RagCallbackHandler, records: Records
):
    """Where the model fails that was to answer, what another one said on the way is no answer."""
    chain, config = _rewriting_chain(generator=Talker(reply=refuse)), RunnableConfig(callbacks=[handler])
    with pytest.raises(ConnectionError, match="overloaded"):
        list(chain.stream({"question": QUESTION}, config)) if streams else chain.invoke({"question": QUESTION}, config)
    (call,) = records

    assert (call.question, call.question_rewritten, call.answer) == (QUESTION, "opening hours", None)
    assert (str(call.error), len(call.passages or ())) == ("overloaded", 2)


def test_a_call_cancelled_before_its_generator_leaves_no_record(handler: RagCallbackHandler, records: Records):
    """Cancelled while it searches: the model that wrote the query did not answer."""
    shelf = Shelf(waits=True)
    chain = _rewriting_chain(shelf, generator=says(LONG))
    asyncio.run(cancel_waiting(shelf.waiting, chain.ainvoke({"question": QUESTION}, {"callbacks": [handler]})))

    assert (records, handler.open_runs) == ([], 0)


def test_what_goes_on_in_a_thread_after_a_cancellation_is_no_call_of_its_own(records: Records):
    """A step in a thread cannot be cancelled: what it asks when its call is over is told to nobody."""
    handler, goes_on, waiting = make_handler(records), threading.Event(), list[str]()

    def step(question: str) -> str:
        waiting.append(question)
        goes_on.wait(5)
        Shelf().invoke(question)
        return str(says(LONG).invoke(question).content)

    async def run() -> None:
        await cancel_waiting(waiting, RunnableLambda(step).ainvoke(QUESTION, {"callbacks": [handler]}))
        goes_on.set()

    # The loop waits for its threads.
    asyncio.run(run())

    assert (records, handler.open_runs) == ([], 0)


def test_a_cancelled_retriever_outside_any_chain_is_let_go(records: Records):
    """A bare retriever that is cancelled tells nobody; it is let go with its task."""
    handler = make_handler(records)
    shelf = Shelf(waits=True)
    asyncio.run(cancel_waiting(shelf.waiting, shelf.ainvoke(QUESTION, {"callbacks": [handler]})))

    assert handler.open_runs == 0


def test_cancelled_models_outside_any_chain_are_bounded(records: Records):
    """Of bare models that were cancelled, a stream may be read on elsewhere: the last few wait, the others are let go."""
    handler, model = make_handler(records), Talker(reply=refuse, waits=True)

    async def cancel_many() -> None:
        for _ in range(100):
            await cancel_waiting(model.waiting, model.ainvoke(QUESTION, {"callbacks": [handler]}))

    asyncio.run(cancel_many())

    assert handler.open_runs == 2 * 64


def test_a_call_that_never_ends_is_let_go_after_an_hour(records: Records):
    """A call whose end never comes is finished by a later call, with what the generator said."""
    now = [0.0]
    handler = RagCallbackHandler(client=records, runs=RunTable(clock=lambda: now[0]))
    handler.on_chain_start(None, QUESTION, run_id=uuid7(), name="lost")
    now[0] = 3599.0
    stuff_chain().invoke(QUESTION, {"callbacks": [handler]})
    held = handler.open_runs
    now[0] = 3700.0
    stuff_chain().invoke(QUESTION, {"callbacks": [handler]})

    assert (held, handler.open_runs, len(records)) == (2, 0, 2)


def test_steps_of_a_very_long_call_are_let_go(handler: RagCallbackHandler):
    """A call with more steps than are held lets go of those that ended, and of all at its end."""
    root = uuid7()
    handler.on_chain_start(None, QUESTION, run_id=root, name="long")
    for _ in range(10_010):
        step = uuid7()
        handler.on_chain_start(None, QUESTION, run_id=step, parent_run_id=root, name="step")
        handler.on_chain_end({"found": []}, run_id=step)
    held = handler.open_runs
    handler.on_chain_end("Done.", run_id=root)

    assert held < 20


def test_an_answer_in_a_call_that_never_ends_is_not_lost(records: Records):
    """A call that is let go after an hour is recorded if a model had answered in it."""
    now = [0.0]
    handler = RagCallbackHandler(client=records, runs=RunTable(clock=lambda: now[0]))
    lost = uuid7()
    handler.on_chain_start(None, QUESTION, run_id=lost, name="lost")
    says("At 06:00.").invoke("Question", {"callbacks": CallbackManager([handler], parent_run_id=lost)})
    now[0] = 4000.0
    stuff_chain().invoke("Another?", {"callbacks": [handler]})

    assert [(call.question, call.answer, call.marks) for call in records] == [
        (QUESTION, "At 06:00.", ("abandoned",)),
        ("Another?", "At 06:00.", ()),
    ]


def test_open_calls_are_bounded(records: Records):
    """Beyond ten thousand open calls the one that was idle longest is let go."""
    handler = make_handler(records)
    for _ in range(10_050):
        handler.on_chain_start(None, QUESTION, run_id=uuid7(), name="lost")

    assert handler.open_runs <= 2 * 10_001


async def _cancel_many(handler: RagCallbackHandler, times: int) -> None:
    shelf, model = Shelf(waits=True), Talker(reply=refuse, waits=True)
    slow = [(shelf.waiting, stuff_chain(shelf)), (model.waiting, stuff_chain(model=model))]
    for number in range(times):
        waiting, chain = slow[number % 2]
        await cancel_waiting(waiting, chain.ainvoke(QUESTION, {"callbacks": [handler]}))
        stream = stuff_chain(model=says(LONG)).astream(QUESTION, {"callbacks": [handler]})
        await anext(stream)
        await stream.aclose()


@pytest.mark.parametrize("times", [50, pytest.param(5_000, marks=[pytest.mark.soak, pytest.mark.timeout(900)])])
def test_cancelled_and_abandoned_calls_leave_the_table_empty(times: int, handler: RagCallbackHandler):
    """However many calls are cancelled or abandoned, no run stays open."""
    asyncio.run(_cancel_many(handler, times))

    assert handler.open_runs == 0
