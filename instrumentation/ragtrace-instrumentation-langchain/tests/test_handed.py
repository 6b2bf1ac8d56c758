"""Faults that users of other tools reported do not happen here; and what a user says with a call is kept."""

import asyncio
import logging
import random
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_kit import (
    Records,
    Shelf,
    Talker,
    asks_tool,
    make_handler,
    says,
    stuff_chain,
    write_out,
)
from langfuse.langchain import CallbackHandler
from langgraph.graph import END, START, StateGraph
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from shape_catalogue import Found
from tracers import LANGFUSE_KEY, Traced, ids_of, place_of

from ragtrace_instrumentation_langchain import RagCallbackHandler, join
from ragtrace_instrumentation_langchain.memory import Conversation, Conversations
from ragtrace_instrumentation_langchain.runs import RunTable


class Reranker(BaseRetriever):
    """Keeps what names a warranty, of what another retriever returns."""

    base: BaseRetriever

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        found = self.base.invoke(query, {"callbacks": run_manager.get_child()})
        return [document for document in found if "warranty" in document.page_content]


def test_only_what_the_reranker_returned_is_retrieved(handler: RagCallbackHandler, records: Records):
    """Of a reranking retriever the outer list counts; what it dropped is kept apart."""
    texts = ("The depot closed in 1998.", "The warranty lasts 36 months from delivery.", "Blue is the default colour.")
    stuff_chain(Reranker(base=Shelf(texts=texts)), says("36 months.")).invoke(
        "How long is the warranty?", {"callbacks": [handler]}
    )
    (call,) = records

    assert [p.text for p in call.passages or ()] == ["The warranty lasts 36 months from delivery."]
    assert [p.text for p in call.candidates] == [texts[0], texts[2]]


def test_passages_that_nobody_told_of_are_unknown_not_empty(handler: RagCallbackHandler, records: Records):
    """Where no retrieval is seen the passages are unknown, which is not the same as none."""
    chain = (
        RunnableLambda(lambda q: {"context": "A: The gate opens at 06:00.\n\nB: Dogs are allowed.", "q": q})
        | ChatPromptTemplate.from_template("{context}\n\n{q}")
        | says("At 06:00.")
    )
    chain.invoke("When does the gate open?", {"callbacks": [handler]})

    assert [(c.question, c.passages, c.answer) for c in records] == [("When does the gate open?", None, "At 06:00.")]


def tagged_chain() -> Any:
    def reply(messages: Any) -> str:
        time.sleep(random.random() * 0.03)
        return str(messages[-1].content).rpartition("Question: ")[2]

    shelf = Shelf(find=lambda query: [Document(page_content=f"{query} fact")])
    return stuff_chain(shelf, Talker(reply=reply))


def test_forty_calls_at_once_with_one_handler_do_not_mix(traced: Traced, records: Records):
    """One handler serving tasks and threads at once keeps each call's passages, answer and trace apart."""
    config = {"callbacks": [traced.handler, CallbackHandler(public_key=LANGFUSE_KEY)]}
    chain = tagged_chain()

    async def tasks() -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(20):
                group.create_task(chain.ainvoke(f"TAG-{number}", config))

    with ThreadPoolExecutor(21) as pool:
        loop = pool.submit(asyncio.run, tasks())
        list(pool.map(lambda number: chain.invoke(f"TAG-{number}", config), range(20, 40)))
        loop.result()
    seen = sorted((call.question, [p.text for p in call.passages or ()], call.answer) for call in records)

    assert seen == sorted((f"TAG-{n}", [f"TAG-{n} fact"], f"TAG-{n}") for n in range(40))
    assert len({place_of(call)[0] for call in records}) == 40
    assert {place_of(call) for call in records} == {ids_of(span) for span in traced.spans if span.parent is None}
    assert traced.handler.open_runs == 0


@pytest.mark.parametrize("is_async", [True, False])
def test_a_graph_stays_in_one_trace(is_async: bool, traced: Traced, records: Records, caplog: pytest.LogCaptureFixture):
    """A graph called with `ainvoke` is one trace, and nothing is logged about detaching a context."""

    async def aretrieve(state: Found) -> Found:
        return {"documents": await Shelf(texts=("Line 4 runs until 23:40.",)).ainvoke(state["question"])}

    def retrieve(state: Found) -> Found:
        return {"documents": Shelf(texts=("Line 4 runs until 23:40.",)).invoke(state["question"])}

    def generate(state: Found) -> Found:
        return {"generation": str(says("Until 23:40.").invoke(write_out(state["documents"])).content)}

    builder = StateGraph(Found)
    builder.add_node("retrieve", aretrieve if is_async else retrieve)
    builder.add_node("generate", generate)
    builder.add_edge(START, "retrieve")
    builder.add_edge("retrieve", "generate")
    builder.add_edge("generate", END)
    graph = builder.compile()
    with caplog.at_level(logging.INFO):
        config = {"callbacks": [traced.handler, CallbackHandler(public_key=LANGFUSE_KEY)]}
        asyncio.run(graph.ainvoke({"question": "Until when?"}, config))
    (call,) = records

    assert [p.text for p in call.passages or ()] == ["Line 4 runs until 23:40."]
    assert {ids_of(span)[0] for span in traced.spans} == {place_of(call)[0]}
    assert "detach" not in caplog.text


def test_run_metadata_says_whose_call_it_was(handler: RagCallbackHandler, records: Records):
    """Session, user, tags, name, reference, labels and conversation are read from the run's metadata."""
    metadata = {
        "langfuse_session_id": "s-1",
        "langfuse_user_id": "u-1",
        "langfuse_tags": ["beta"],
        "langfuse_trace_name": "help desk",
        "ragtrace_reference": "At six.",
        "ragtrace_relevant_ids": ["d0", 7],
        "thread_id": "t-1",
        "team": "gates",
    }
    stuff_chain().invoke("When?", {"callbacks": [handler], "metadata": metadata, "tags": ["prod"]})
    (call,) = records

    assert (call.session, call.user, call.tags, call.trace_name) == ("s-1", "u-1", ("beta", "prod"), "help desk")
    assert (call.reference, call.relevant_ids, call.conversation) == ("At six.", ("d0", "7"), "t-1")
    assert (dict(call.metadata), call.model) == ({"thread_id": "t-1", "team": "gates"}, "talker-1")


@pytest.mark.parametrize("how", [{"tags": ["ragtrace_role:generator"]}, {"metadata": {"ragtrace_role": "generator"}}])
def test_the_user_may_name_the_generator(how: Any, handler: RagCallbackHandler, records: Records):
    """A model that the user marks as generator is the one that answered, whatever the output."""
    rewrite = RunnableLambda(lambda text: f"Shorten this please: {text}") | says("Six.") | StrOutputParser()
    chain = stuff_chain(model=says("The gate opens at six o'clock.").with_config(**how)) | rewrite
    chain.invoke("When?", {"callbacks": [handler]})

    assert [(call.answer, call.confidence) for call in records] == [("The gate opens at six o'clock.", "medium")]


def test_the_user_may_name_a_helper(handler: RagCallbackHandler, records: Records):
    """A model that the user marks as helper never counts as the one that answered."""
    check = says("The gate opens at six.").with_config(tags=["ragtrace_role:helper"])
    chain = stuff_chain(model=says("The gate opens at six.")) | check | StrOutputParser()
    chain.invoke("When?", {"callbacks": [handler]})

    assert [call.prompt_parts[0].startswith("Context:") for call in records] == [True]


def test_a_step_that_only_asks_for_a_tool_is_no_answer(handler: RagCallbackHandler, records: Records):
    """A planner's call that asks for a tool makes no record of its own."""
    Talker(reply=lambda _m: asks_tool("search", query="gate")).invoke("When?", {"callbacks": [handler]})

    assert records == []


def test_calls_that_the_applications_sampler_drops_are_dropped(handler: RagCallbackHandler):
    """Where the program's own sampler drops traces, a record is not sent as a trace of its own."""
    provider = TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False)

    assert join.is_sampled_out(provider, trace.set_span_in_context(trace.INVALID_SPAN))
    assert not join.is_sampled_out(
        TracerProvider(shutdown_on_exit=False), trace.set_span_in_context(trace.INVALID_SPAN)
    )


def test_a_retrieval_whose_text_is_not_in_the_prompt_is_not_linked(records: Records):
    """Plain code that retrieved for something else is not taken for the source of an unrelated answer."""
    config = {"callbacks": [make_handler(records)]}
    Shelf().invoke("gate hours", config)
    says("Hello!").invoke("Say hello.", config)

    assert [(call.question, call.passages) for call in records] == [("Say hello.", None)]


def test_plain_code_that_found_nothing_is_linked_by_its_query(records: Records):
    """Plain code whose search found nothing is an empty retrieval, if the prompt holds the query."""
    config = {"callbacks": [make_handler(records)]}
    Shelf(texts=()).invoke("gate hours", config)
    says("I do not know.").invoke("Answer without sources: gate hours", config)

    assert [(call.question, call.passages) for call in records] == [("gate hours", ())]


def test_rewrapped_and_escaped_text_is_still_evidence(records: Records):
    """A retrieval is linked to a prompt that holds its text as JSON or HTML."""
    config = {"callbacks": [make_handler(records)]}
    shelf = Shelf(texts=('Das "Tor" öffnet täglich um sechs Uhr früh & schließt um zehn Uhr abends.',))
    for escape in (
        lambda t: t.replace('"', '\\"').replace("ö", "\\u00f6"),
        lambda t: t.replace("&", "&amp;").replace('"', "&quot;"),
    ):
        text = shelf.invoke("Tor", config)[0].page_content
        says("Um sechs.").invoke(f"Quelle: {escape(text)}. Wann?", config)

    assert [len(call.passages or ()) for call in records] == [1, 1]


def test_the_loose_retrievals_are_bounded(records: Records):
    """Retrievals that no answer followed are forgotten beyond a bound."""
    table = RunTable()
    for number in range(300):
        Shelf(texts=(f"text {number} " + "x" * 100_000,)).invoke(
            "q", {"callbacks": [RagCallbackHandler(client=records, runs=table)]}
        )

    assert len(table.loose) == 159


def test_conversations_are_bounded():
    """Of many conversations the last ones are remembered, and of each its last retrievals."""
    conversations = Conversations(clock=lambda: 0.0)
    for number in range(300):
        conversations.save(str(number), Conversation())

    assert len(conversations) == 256
