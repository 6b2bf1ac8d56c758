"""Rag-calls made of the spans that other instrumentations write."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from langchain_kit import DOGS, GATE, Shelf, Talker, asks_tool, says, stuff_chain
from langfuse import Langfuse
from langfuse.langchain import CallbackHandler
from openinference.instrumentation.langchain import LangChainInstrumentor
from opentelemetry.context import _SUPPRESS_INSTRUMENTATION_KEY, attach, detach, set_value
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, Decision, Sampler, SamplingResult
from opentelemetry.trace import Tracer, set_span_in_context

import ragtrace
from ragtrace.capture.client import reset
from ragtrace.otel import RagSpanProcessor
from ragtrace.otel.open_traces import Content
from ragtrace_instrumentation_langchain import RagCallbackHandler

PROMPT = f"Context: {GATE}"


@pytest.fixture
def processor() -> RagSpanProcessor:
    return RagSpanProcessor()


@pytest.fixture
def provider(processor) -> Iterator[TracerProvider]:
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(processor)
    yield provider
    provider.shutdown()


@pytest.fixture
def tracer(provider) -> Tracer:
    return provider.get_tracer("app")


@pytest.fixture
def openinference(provider) -> Iterator[None]:
    instrumentor = LangChainInstrumentor()
    instrumentor.instrument(tracer_provider=provider)
    yield
    instrumentor.uninstrument()


def retrieve(tracer: Tracer, *texts: str, query: str = "When?", name: str = "search") -> None:
    """Write a retrieval span that carries texts."""
    with tracer.start_as_current_span(name) as span:
        span.set_attribute("gen_ai.operation.name", "retrieval")
        span.set_attribute("gen_ai.retrieval.query.text", query)
        documents = [{"id": text[:4], "content": text} for text in texts]
        span.set_attribute("gen_ai.retrieval.documents", json.dumps(documents))


def answer(tracer: Tracer, text: str = "At 06:00.", *, prompt: str = PROMPT) -> None:
    """Write a model span."""
    with tracer.start_as_current_span("chat") as span:
        span.set_attribute("gen_ai.operation.name", "chat")
        sent = [{"role": "user", "parts": [{"type": "text", "content": prompt}]}]
        said = [{"role": "assistant", "parts": [{"type": "text", "content": text}]}]
        span.set_attribute("gen_ai.input.messages", json.dumps(sent))
        span.set_attribute("gen_ai.output.messages", json.dumps(said))


def received(record: dict) -> list[tuple[str, str]]:
    return [(passage["text"] or passage.get("cut", ""), passage["received"]) for passage in record["passages"]]


@pytest.mark.usefixtures("openinference")
def test_openinference_spans_become_a_rag_call(captured_calls):
    """A chain that only OpenInference instruments is captured, in the trace and under the root span of its own."""
    stuff_chain(Shelf(texts=[GATE, DOGS])).invoke("When does the gate open?")

    (record,) = captured_calls.inputs
    assert (record["question"], captured_calls.answers) == ("When does the gate open?", ["At 06:00."])
    assert received(record) == [(GATE, "full"), (DOGS, "full")]


@pytest.mark.usefixtures("openinference")
def test_an_agent_is_captured_with_its_tools_passages(captured_calls):
    """An agent's retrieval happens inside a tool; its passages count, and the query that the model wrote is kept."""
    from langchain.agents import create_agent
    from langchain_core.tools import create_retriever_tool

    def reply(messages):
        return "At six." if messages[-1].type == "tool" else asks_tool("search", query="gate")

    agent = create_agent(Talker(reply=reply), [create_retriever_tool(Shelf(), "search", "Search.")])
    agent.invoke({"messages": [("user", "When does the gate open?")]})

    (record,) = captured_calls.inputs
    assert (record["question"], record["question_rewritten"]) == ("When does the gate open?", "gate")
    assert received(record) == [(GATE, "full"), (DOGS, "full")]


def test_langfuse_spans_become_a_rag_call(captured_calls, provider):
    """A chain that only Langfuse's handler traces is captured."""
    client = Langfuse(
        public_key="pk-spans",
        secret_key="sk",
        base_url="http://127.0.0.1:9",
        tracer_provider=provider,
        should_export_span=lambda span: False,
    )
    handler = CallbackHandler(public_key="pk-spans")
    stuff_chain().invoke("When does the gate open?", {"callbacks": [handler]})
    client.shutdown()

    (record,) = captured_calls.inputs
    assert (record["question"], received(record)) == ("When does the gate open?", [(GATE, "full"), (DOGS, "full")])


@pytest.mark.usefixtures("openinference")
def test_a_handlers_own_record_stands(captured_calls, tracer):
    """Where our handler records a chain too, its record is the only one in the trace."""
    with tracer.start_as_current_span("request"):
        stuff_chain().invoke("When does the gate open?", {"callbacks": [RagCallbackHandler()]})

    assert len(captured_calls.spans) == 1


def test_the_record_is_under_the_calls_own_root(captured_calls, tracer):
    """In a request with other work, the rag-call belongs under the span that the call happened in."""
    with tracer.start_as_current_span("request") as request:
        retrieve(tracer, GATE, DOGS)
        answer(tracer)

    (span,) = captured_calls.spans
    assert span.parent is not None
    assert span.context is not None
    assert span.context.trace_id == request.get_span_context().trace_id
    (record,) = captured_calls.inputs
    assert (record["question"], received(record)) == ("When?", [(GATE, "full"), (DOGS, "absent")])


def test_each_answer_of_a_trace_is_a_call(captured_calls, tracer):
    """A batch job with one span around it gives a rag-call for each retrieval and the answer after it."""
    with tracer.start_as_current_span("batch"):
        for query, text in (("When?", GATE), ("Dogs?", DOGS)):
            retrieve(tracer, text, query=query)
            answer(tracer, f"About {query}", prompt=text)

    asked = [(record["question"], received(record)) for record in captured_calls.inputs]
    assert sorted(asked) == [("Dogs?", [(DOGS, "full")]), ("When?", [(GATE, "full")])]


def test_what_is_not_sampled_costs_nothing(captured_calls, processor):
    """A trace that the sampler drops is never seen by the processor, and gives no call."""
    provider = TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False)
    provider.add_span_processor(processor)
    tracer = provider.get_tracer("app")
    with tracer.start_as_current_span("request"):
        retrieve(tracer, GATE)
        answer(tracer)
    provider.shutdown()

    assert captured_calls.spans == ()


def test_suppressed_calls_are_not_captured(captured_calls, tracer):
    """Work done under suppression, a judge's for example, gives no call."""
    token = attach(set_value(_SUPPRESS_INSTRUMENTATION_KEY, True))
    try:
        with tracer.start_as_current_span("request"):
            retrieve(tracer, GATE)
            answer(tracer)
    finally:
        detach(token)

    assert captured_calls.spans == ()


def test_traces_beyond_the_bounds_are_given_up(captured_calls):
    """Running traces are bounded in bytes and in time; what is given up is counted, and later ones are captured."""
    clock = iter([0.0, 1.0, 2.0, 700.0, 701.0, 702.0, 703.0, 704.0, 705.0])
    processor = RagSpanProcessor(limit_bytes=20_000, limit_seconds=600, clock=lambda: next(clock))
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(processor)
    tracer = provider.get_tracer("app")
    with tracer.start_as_current_span("large"):
        retrieve(tracer, GATE * 500)
    forgotten = tracer.start_span("never ended")
    with tracer.start_as_current_span("request"):
        retrieve(tracer, GATE)
        answer(tracer)
    forgotten.end()
    given_up = processor.given_up
    provider.shutdown()

    assert (given_up, len(captured_calls.spans)) == (2, 1)


def test_an_error_in_the_processor_stays_in_it(caplog):
    """Whatever fails inside never reaches the application; it is logged once."""
    broken = RagSpanProcessor(clock=lambda: float("no number"))
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(broken)
    for _ in range(2):
        with provider.get_tracer("app").start_as_current_span("request"):
            pass
    provider.shutdown()

    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert "noting the start of a span failed with ValueError" in caplog.text


def test_spans_end_on_any_thread(captured_calls, tracer):
    """Retrieval and generation on other threads belong to the trace that they were started for."""
    with tracer.start_as_current_span("request") as request, ThreadPoolExecutor(1) as pool:
        context = set_span_in_context(request)

        def in_thread() -> None:
            token = attach(context)
            retrieve(tracer, GATE)
            answer(tracer)
            detach(token)

        pool.submit(in_thread).result()

    assert len(captured_calls.spans) == 1


def test_the_public_name_and_flushing(captured_calls, processor):
    """`ragtrace.RagSpanProcessor` is the public name; flushing a provider flushes capture."""
    assert ragtrace.RagSpanProcessor is RagSpanProcessor
    assert processor.force_flush(1_000)


def test_ids_are_looked_up(captured_calls):
    """Where an instrumentation writes ids only, the application's lookup tells the texts."""
    processor = RagSpanProcessor(document_lookup=lambda ids: dict.fromkeys(ids, GATE))
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(processor)
    tracer = provider.get_tracer("app")
    with tracer.start_as_current_span("request"):
        with tracer.start_as_current_span("retrieval") as span:
            span.set_attributes({"gen_ai.operation.name": "retrieval", "gen_ai.retrieval.documents": '[{"id": "d0"}]'})
        answer(tracer)
    provider.shutdown()

    assert received(captured_calls.inputs[0]) == [(GATE, "full")]


def test_says_is_no_rag(captured_calls, openinference):
    """A chain that retrieves nothing gives no call."""
    (says("Hello.") | (lambda message: message.content)).invoke("Hello?")

    assert captured_calls.spans == ()


class RecordOnly(Sampler):
    """Lets processors see spans that are not exported."""

    def should_sample(self, *args: object, **kwargs: object) -> SamplingResult:
        return SamplingResult(Decision.RECORD_ONLY)

    def get_description(self) -> str:
        return "record only"


def test_spans_that_are_recorded_and_not_sampled_are_left_alone(captured_calls):
    """What the sampler keeps from the exporter gives no call, even if processors see it."""
    provider = TracerProvider(sampler=RecordOnly(), shutdown_on_exit=False)
    provider.add_span_processor(RagSpanProcessor())
    tracer = provider.get_tracer("app")
    with tracer.start_as_current_span("request"):
        retrieve(tracer, GATE)
        answer(tracer)
    provider.shutdown()

    assert captured_calls.spans == ()


def test_after_shutdown_nothing_is_captured(captured_calls, processor, tracer):
    """A trace that still runs at shutdown gives no call, and passages told outside a trace belong to none."""
    ragtrace.retrieved([GATE])
    with tracer.start_as_current_span("request") as span:
        retrieve(tracer, GATE)
        answer(tracer)
        processor.shutdown()
    processor.note_content(span, Content((), (), ()))

    assert captured_calls.spans == ()


def test_a_forked_child_forgets_the_parents_traces(captured_calls, processor, tracer):
    """A trace that ran when the process forked is the parent's alone."""
    with tracer.start_as_current_span("request"):
        retrieve(tracer, GATE)
        answer(tracer)
        processor.after_fork_in_child()
    with tracer.start_as_current_span("next request"):
        retrieve(tracer, GATE)
        answer(tracer)

    assert len(captured_calls.spans) == 1


def test_flushing_says_when_it_cannot(processor):
    """With several projects and none named, there is nothing to flush to: false, and no exception."""
    try:
        for number in range(2):
            ragtrace.configure(base_url=f"http://127.0.0.1:9/{number}", public_key=f"pk{number}", secret_key="sk")
        is_flushed = processor.force_flush(10)
    finally:
        reset()

    assert is_flushed is False
