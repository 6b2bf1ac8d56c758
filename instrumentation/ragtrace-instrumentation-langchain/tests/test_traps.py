"""What LangChain's callbacks do that one would not expect, and that capture is right all the same."""

import asyncio
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from typing import Any

import pytest
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_core.caches import InMemoryCache
from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.tracers.context import _configure_hooks
from langchain_kit import DOGS, GATE, PROMPT, Records, Shelf, Writer, says, stuff_chain, write_out
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt
from opentelemetry.instrumentation.utils import suppress_instrumentation
from shape_catalogue import KeepFirst

from ragtrace_instrumentation_langchain import LangchainInstrumentor, RagCallbackHandler
from ragtrace_instrumentation_langchain.runs import RunTable

QUESTION = "When does the gate open?"


def texts(call: Any) -> list[str]:
    return [passage.text for passage in call.passages]


def test_callbacks_on_the_model_alone_see_no_chain(handler: RagCallbackHandler, records: Records):
    """A handler given to the model only sees no retrieval: the passages are unknown, not empty."""
    model = says("At 06:00.").with_config(callbacks=[handler])
    stuff_chain(model=model).invoke(QUESTION)

    assert [(call.passages, call.answer) for call in records] == [(None, "At 06:00.")]


def test_callbacks_on_retriever_and_model_are_linked(handler: RagCallbackHandler, records: Records):
    """A handler given to retriever and model, but not to the chain, still puts both into one record."""
    config = {"callbacks": [handler]}
    stuff_chain(Shelf().with_config(config), says("At 06:00.").with_config(config)).invoke(QUESTION)

    assert [(call.question, texts(call), call.confidence) for call in records] == [(QUESTION, [GATE, DOGS], "medium")]


def test_a_handler_inside_a_chain_takes_its_first_run_for_the_root(handler: RagCallbackHandler, records: Records):
    """A handler that is attached halfway down captures from there on."""
    inner = stuff_chain().with_config(callbacks=[handler])
    (RunnableLambda(lambda x: x["q"]) | inner).invoke({"q": QUESTION})

    assert [(call.question, texts(call)) for call in records] == [(QUESTION, [GATE, DOGS])]


@pytest.mark.parametrize("run", ["invoke", "ainvoke"])
def test_one_handler_given_twice_makes_one_record(run: str, handler: RagCallbackHandler, records: Records):
    """`callbacks=[h, h]` makes one record."""
    chain = stuff_chain()
    config = {"callbacks": [handler, handler]}
    chain.invoke(QUESTION, config) if run == "invoke" else asyncio.run(chain.ainvoke(QUESTION, config))

    assert len(records) == 1


@pytest.mark.parametrize("run", ["invoke", "ainvoke"])
def test_two_handlers_make_one_record(run: str, records: Records):
    """Two handlers on one chain, and the instrumentor beside them, make one record."""
    config = {"callbacks": [RagCallbackHandler(client=records), RagCallbackHandler(client=records)]}
    LangchainInstrumentor().instrument(client=records)
    try:
        chain = stuff_chain()
        chain.invoke(QUESTION, config) if run == "invoke" else asyncio.run(chain.ainvoke(QUESTION, config))
    finally:
        LangchainInstrumentor().uninstrument()

    assert len(records) == 1


class Listener(BaseCallbackHandler):
    """Another tool's handler, which notes the starts that it hears."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def on_llm_start(self, *args: Any, **kwargs: Any) -> None:
        self.heard.append("model")

    def on_retriever_start(self, *args: Any, **kwargs: Any) -> None:
        self.heard.append("retriever")


class InlineListener(Listener):
    run_inline = True


def test_string_models_in_asynchronous_code_are_heard_by_all(handler: RagCallbackHandler, records: Records):
    """A handler that is not inline hears of a string model although ours is inline."""
    listener = Listener()
    asyncio.run(stuff_chain(model=Writer()).ainvoke(QUESTION, {"callbacks": [handler, listener]}))

    assert (listener.heard, len(records)) == (["retriever", "model"], 1)


def test_another_inline_handler_does_not_silence_us(handler: RagCallbackHandler, records: Records):
    """Where another tool's inline handler silences the rest, as LangSmith's does, we still hear string models."""
    listener = InlineListener()
    asyncio.run(stuff_chain(model=Writer()).ainvoke(QUESTION, {"callbacks": [listener, handler]}))

    assert (listener.heard, [call.answer for call in records]) == (["retriever", "model"], ["At 06:00."])


def test_the_applications_context_variables_are_untouched(handler: RagCallbackHandler):
    """What the application put into its context is there after the call."""
    variable: ContextVar[str] = ContextVar("application", default="unset")
    variable.set("mine")

    async def run() -> str:
        variable.set("task's")
        await stuff_chain().ainvoke(QUESTION, {"callbacks": [handler]})
        return variable.get()

    assert (asyncio.run(run()), variable.get()) == ("task's", "mine")


class AsyncListener(AsyncCallbackHandler):
    """An asynchronous handler, for which synchronous code makes an event loop at each event."""


def test_asynchronous_handlers_in_synchronous_code_do_not_disturb(handler: RagCallbackHandler, records: Records):
    """Beside an asynchronous handler in synchronous code the record is whole."""
    stuff_chain().invoke(QUESTION, {"callbacks": [AsyncListener(), handler]})

    assert [texts(call) for call in records] == [[GATE, DOGS]]


class BrokenClient:
    """Takes no calls."""

    def submit(self, call: Any, /) -> None:
        raise RuntimeError("no room")


def test_a_failure_of_ours_changes_nothing(caplog: pytest.LogCaptureFixture):
    """Where capture fails the chain returns what it would have; the failure is logged."""
    handler = RagCallbackHandler(client=BrokenClient(), runs=RunTable())
    answer = stuff_chain().invoke(QUESTION, {"callbacks": [handler]})

    assert (answer, handler.open_runs) == ("At 06:00.", 0)
    assert "following a LangChain run failed with RuntimeError" in caplog.text


def test_retrieval_in_a_bare_thread_inside_a_chain_is_found(records: Records):
    """A retrieval whose callbacks got lost in a thread is found by its text, where all chains are followed."""
    LangchainInstrumentor().instrument(client=records)
    try:

        def search(question: str) -> str:
            with ThreadPoolExecutor(1) as pool:
                return write_out(pool.submit(Shelf().invoke, question).result())

        chain = {"context": RunnableLambda(search), "question": RunnablePassthrough()} | PROMPT | says("At 06:00.")
        chain.invoke(QUESTION)
    finally:
        LangchainInstrumentor().uninstrument()

    assert [(call.question, texts(call)) for call in records] == [(QUESTION, [GATE, DOGS])]


def test_documents_changed_afterwards_are_kept_as_they_were(handler: RagCallbackHandler, records: Records):
    """A step that cuts the documents in place does not change what was retrieved."""

    def cut(documents: list[Document]) -> list[Document]:
        for document in documents:
            document.page_content = document.page_content[:30]
            document.metadata["cut"] = True
        return documents

    stuff_chain(Shelf() | RunnableLambda(cut)).invoke(QUESTION, {"callbacks": [handler]})
    (call,) = records

    assert texts(call) == [GATE, DOGS]
    assert [dict(passage.metadata) for passage in call.passages or ()] == [{}, {}]


def test_a_cached_answer_is_captured(handler: RagCallbackHandler, records: Records):
    """An answer from the cache of a chat model is captured like the first."""
    model = says("At 06:00.")
    model.cache = InMemoryCache()
    for _ in range(2):
        stuff_chain(model=model).invoke(QUESTION, {"callbacks": [handler]})

    assert [call.answer for call in records] == ["At 06:00.", "At 06:00."]


def test_a_cached_answer_of_a_string_model_makes_no_event_and_no_record(handler: RagCallbackHandler, records: Records):
    """A string model whose answer is cached tells nobody that it was asked; there is no record then."""
    model = Writer()
    model.cache = InMemoryCache()
    for _ in range(2):
        stuff_chain(model=model).invoke(QUESTION, {"callbacks": [handler]})

    assert [call.answer for call in records] == ["At 06:00."]


def test_a_retriever_that_does_not_hand_on_its_callbacks_is_still_the_outer_one(
    handler: RagCallbackHandler, records: Records
):
    """Of a retriever that asks another one on its own, the outer one's documents count, the inner one's are candidates."""

    def rerank(query: str) -> list[Document]:
        return Shelf().invoke(query)[:1]

    stuff_chain(Shelf(find=rerank)).invoke(QUESTION, {"callbacks": [handler]})
    (call,) = records

    assert (texts(call), [p.text for p in call.candidates]) == ([GATE], [DOGS])


def test_documents_without_ids_are_told_apart_by_text(handler: RagCallbackHandler, records: Records):
    """Rerankers make new documents without ids; dropped ones are known by their text."""

    retriever = ContextualCompressionRetriever(base_retriever=Shelf(), base_compressor=KeepFirst())
    stuff_chain(retriever).invoke(QUESTION, {"callbacks": [handler]})
    (call,) = records

    assert [(p.text, p.id, p.score) for p in call.passages or ()] == [(GATE, None, 0.9)]
    assert [(p.text, p.id) for p in call.candidates] == [(DOGS, "d1")]


def test_an_interrupt_gives_no_warning_and_no_record(handler: RagCallbackHandler, records: Records):
    """A graph that stops to ask a person is no failure and no answer yet."""

    def ask(_state: Any) -> Any:
        interrupt("May I?")

    builder = StateGraph(MessagesState)
    builder.add_node("ask", ask)
    builder.add_edge(START, "ask")
    builder.add_edge("ask", END)
    graph = builder.compile(checkpointer=InMemorySaver())
    with warnings.catch_warnings(record=True) as caught:
        graph.invoke({"messages": [("user", QUESTION)]}, {"callbacks": [handler], "configurable": {"thread_id": "1"}})

    assert (records, [str(w.message) for w in caught if "ragtrace" in str(w.message)]) == ([], [])


def test_nothing_is_captured_under_suppression(handler: RagCallbackHandler, records: Records):
    """OpenTelemetry's suppression key, under which judges work, is honoured."""
    with suppress_instrumentation():
        stuff_chain().invoke(QUESTION, {"callbacks": [handler]})

    assert records == []


def test_uninstrumenting_leaves_langchain_as_it_was(records: Records):
    """After `uninstrument()` LangChain's hooks are the same objects as before, and nothing is captured."""
    before = list(_configure_hooks)
    LangchainInstrumentor().instrument(client=records)
    copy_context().run(stuff_chain().invoke, QUESTION)
    LangchainInstrumentor().uninstrument()
    stuff_chain().invoke(QUESTION)

    assert (_configure_hooks, len(records)) == (before, 1)
