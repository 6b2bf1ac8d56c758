"""A record lands in the trace of whatever else traces the chain."""

import asyncio
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

import pytest
from langchain_kit import Records, Writer, stuff_chain
from langfuse import propagate_attributes
from langfuse.langchain import CallbackHandler
from opentelemetry import trace
from tracers import BATCH, LANGFUSE_KEY, ONE_BY_ONE, SEVERAL, Traced, echo_chain, ids_of, place_of

Way = Callable[[object, list[str]], object]
QUESTIONS = [f"question number {i}?" for i in range(4)]
EACH_ITS_OWN_TRACE = ONE_BY_ONE | SEVERAL


def ways(named: dict[str, Way]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("way", [pytest.param(way, id=name) for name, way in named.items()])


def check_each_under_its_root(records: Records, traced: Traced) -> None:
    assert [place_of(call) for call in records] == [traced.root_of(call.question) for call in records]
    assert {call.provider for call in records} == {traced.application.provider}
    assert traced.handler.open_runs == 0


@pytest.mark.parametrize("is_first", [True, False], ids=["ragtrace first", "langfuse first"])
@ways(EACH_ITS_OWN_TRACE)
def test_lands_under_the_root_of_langfuses_handler(way: Way, is_first: bool, traced: Traced, records: Records):
    """Beside Langfuse's handler, in any order, each record hangs under the root of its own call."""
    other = CallbackHandler(public_key=LANGFUSE_KEY)
    way({"callbacks": [traced.handler, other] if is_first else [other, traced.handler]}, QUESTIONS)

    assert len(records) == (1 if way in ONE_BY_ONE.values() else 4)
    check_each_under_its_root(records, traced)


@ways(EACH_ITS_OWN_TRACE | BATCH)
def test_lands_under_the_root_of_openinference(way: Way, traced: Traced, records: Records, openinference: None):
    """Beside OpenInference's instrumentor each record hangs under the root of its own call."""
    way({"callbacks": [traced.handler]}, QUESTIONS)

    assert len(records) == (1 if way in ONE_BY_ONE.values() else 4)
    check_each_under_its_root(records, traced)


@pytest.mark.parametrize("is_first", [True, False], ids=["ragtrace first", "langfuse first"])
@ways(BATCH)
def test_follows_langfuses_handler_into_the_one_trace_of_a_batch(
    way: Way, is_first: bool, traced: Traced, records: Records
):
    """A batch is one trace to Langfuse's handler; each record hangs under the span of its own item there."""
    other = CallbackHandler(public_key=LANGFUSE_KEY)
    config = {"callbacks": [traced.handler, other] if is_first else [other, traced.handler]}
    copy_context().run(way, config, QUESTIONS)
    items = {
        str(span.attributes["langfuse.observation.input"]).strip('"'): ids_of(span)
        for span in traced.spans
        if span.name == "rag"
    }

    assert {call.question: place_of(call) for call in records} == items


# OpenInference calls what Langfuse's handler sets as an attribute.
@pytest.mark.filterwarnings("ignore:Calling .text")
def test_langfuses_root_goes_before_openinferences(traced: Traced, records: Records, openinference: None):
    """Where both trace a chain, the record is in Langfuse's trace."""
    echo_chain().invoke(QUESTIONS[0], {"callbacks": [traced.handler, CallbackHandler(public_key=LANGFUSE_KEY)]})
    roots = [
        ids_of(span)
        for span in traced.spans
        if span.name == "rag" and span.instrumentation_scope.name == "langfuse-sdk"
    ]

    assert [place_of(records[0])] == roots


@ways(ONE_BY_ONE | SEVERAL | BATCH)
def test_lands_under_the_applications_span(way: Way, traced: Traced, records: Records):
    """Where nothing else traces the chain, the record hangs under the span that the application is in."""
    with traced.application.provider.get_tracer("app").start_as_current_span("POST /ask") as span:
        way({"callbacks": [traced.handler]}, QUESTIONS[:1] if way is SEVERAL["threads"] else QUESTIONS)
    own = span.get_span_context()
    in_a_bare_thread = way is SEVERAL["threads"]

    assert {place_of(call) for call in records} == {(0, 0) if in_a_bare_thread else (own.trace_id, own.span_id)}


@ways(ONE_BY_ONE | SEVERAL | BATCH)
def test_starts_a_trace_of_its_own_where_there_is_none(way: Way, traced: Traced, records: Records):
    """Where nothing is traced, each record starts a trace."""
    way({"callbacks": [traced.handler]}, QUESTIONS)

    assert {place_of(call) for call in records} == {(0, 0)}


def test_is_not_drawn_into_a_trace_that_leaked(traced: Traced, records: Records):
    """A span that Langfuse's handler left behind in the context after a batch is not taken for the parent."""

    def leak_and_invoke() -> bool:
        echo_chain().batch(QUESTIONS[:2], {"callbacks": [CallbackHandler(public_key=LANGFUSE_KEY)]})
        has_leaked = trace.get_current_span() is not trace.INVALID_SPAN
        echo_chain().invoke(QUESTIONS[3], {"callbacks": [traced.handler]})
        return has_leaked

    has_leaked = copy_context().run(leak_and_invoke)

    assert has_leaked
    assert [place_of(call) for call in records] == [(0, 0)]


def test_is_not_fooled_by_the_users_own_spans(traced: Traced, records: Records):
    """A span of the user's own that bears the chain's name is not taken for the chain's."""
    with traced.application.provider.get_tracer("langfuse-sdk").start_as_current_span("rag"):
        pass
    echo_chain().invoke(QUESTIONS[0], {"callbacks": [traced.handler, CallbackHandler(public_key=LANGFUSE_KEY)]})

    check_each_under_its_root(records, traced)


def invoke(chain: Any, config: Any) -> object:
    return chain.invoke("q?", config)


def ainvoke(chain: Any, config: Any) -> object:
    return asyncio.run(chain.ainvoke("q?", config))


@pytest.mark.parametrize("run", [invoke, ainvoke])
def test_other_handlers_miss_nothing_of_a_string_model(run: Any, traced: Traced, records: Records):
    """Beside us Langfuse's handler records the generation of a string model, in asynchronous code too."""
    run(stuff_chain(model=Writer()), {"callbacks": [traced.handler, CallbackHandler(public_key=LANGFUSE_KEY)]})
    types = [span.attributes["langfuse.observation.type"] for span in traced.spans if span.attributes]

    assert types.count("generation") == 1
    check_each_under_its_root(records, traced)


def test_the_callers_context_is_kept(traced: Traced, records: Records):
    """Session and tags that Langfuse's `propagate_attributes` put into the context go with the record."""
    with propagate_attributes(session_id="s-1", user_id="u-1", tags=["beta"]):
        asyncio.run(
            echo_chain().ainvoke("q?", {"callbacks": [traced.handler, CallbackHandler(public_key=LANGFUSE_KEY)]})
        )
    context = records[0].context or {}

    assert {key: value for key, value in context.items() if key.startswith("langfuse.propagated.")} == {
        "langfuse.propagated.session_id": "s-1",
        "langfuse.propagated.user_id": "u-1",
        "langfuse.propagated.tags": ["beta"],
    }


def test_a_sampled_out_application_span_is_kept_as_parent(records: Records, traced: Traced):
    """Under a span that the application's sampler dropped, the record says so by its parent."""
    dropped = trace.NonRecordingSpan(trace.SpanContext(trace_id=7, span_id=8, is_remote=False))
    with trace.use_span(dropped):
        echo_chain().invoke("q?", {"callbacks": [traced.handler]})

    assert place_of(records[0]) == (7, 8)
    assert trace.get_current_span(records[0].context).get_span_context().trace_flags == 0
