"""Prompts that OTel's GenAI instrumentations hand over instead of writing them."""

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.util.genai.completion_hook import load_completion_hook
from opentelemetry.util.genai.handler import TelemetryHandler
from opentelemetry.util.genai.types import InputMessage, OutputMessage, RetrievalDocument, Text

import ragtrace
from ragtrace.otel import RagCompletionHook, RagSpanProcessor
from ragtrace.otel import span_processor as processors

GATE = "The gate opens at 06:00."


def run(handler: TelemetryHandler, *, tell: bool = False) -> None:
    """Retrieve and answer as an instrumentation of OTel's does."""
    with handler.workflow(name="rag"):
        with handler.retrieval(provider="shelf") as retrieval:
            retrieval.query_text = "When?"
            retrieval.documents = [RetrievalDocument(id="d0", score=0.5)]
            if tell:
                ragtrace.retrieved([GATE])
        with handler.inference("openai", request_model="m") as model:
            model.system_instruction = [Text(content="Be brief.")]
            model.input_messages = [InputMessage(role="user", parts=[Text(content=f"{GATE} When?")])]
            model.output_messages = [
                OutputMessage(role="assistant", parts=[Text(content="At six.")], finish_reason="stop")
            ]


def provider_with(processor: RagSpanProcessor) -> TracerProvider:
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(processor)
    return provider


def test_prompts_are_had_with_content_capture_off(captured_calls, monkeypatch):
    """The hook, found by its entry point, brings prompt and answer although nothing of them is on the spans.

    The passages are not on the spans either: the application tells them.
    """
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_COMPLETION_HOOK", "ragtrace")
    provider = provider_with(RagSpanProcessor())
    run(TelemetryHandler(tracer_provider=provider, completion_hook=load_completion_hook()), tell=True)
    provider.shutdown()

    (record,) = captured_calls.inputs
    assert [(p["text"], p["received"]) for p in record["passages"]] == [(GATE, "full")]
    assert captured_calls.answers == ["At six."]


def test_with_content_capture_on_the_lookup_tells_the_texts(captured_calls, monkeypatch):
    """With content on the spans, ids of documents are there, and the application's lookup tells the texts."""
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "SPAN_ONLY")
    provider = provider_with(RagSpanProcessor(document_lookup=lambda ids: dict.fromkeys(ids, GATE)))
    run(TelemetryHandler(tracer_provider=provider))
    provider.shutdown()

    (record,) = captured_calls.inputs
    assert [(p["id"], p["text"], p["score"]) for p in record["passages"]] == [("d0", GATE, 0.5)]


def test_without_content_and_hook_nothing_is_known(captured_calls):
    """With content capture off and no hook, the call is recorded with unknown passages."""
    provider = provider_with(RagSpanProcessor())
    run(TelemetryHandler(tracer_provider=provider))
    provider.shutdown()

    assert [record["passages"] for record in captured_calls.inputs] == [None]
    assert captured_calls.answers == [None]


def test_the_hook_alone_says_what_it_lacks(caplog):
    """Without a span processor nobody would take the prompts: the hook says so, once."""
    processors._live.clear()
    hook = RagCompletionHook()
    for _ in range(2):
        hook.on_completion(inputs=[], outputs=[], system_instruction=[])

    assert [record.getMessage() for record in caplog.records] == [
        "ragtrace: the completion hook needs a `ragtrace.RagSpanProcessor` on the tracer provider"
    ]


@pytest.mark.parametrize("value", [3, b"raw", object()])
def test_contents_of_other_forms_are_left_alone(captured_calls, value):
    """What an instrumentation hands over in a form of its own spoils nothing."""
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(RagSpanProcessor())
    with provider.get_tracer("app").start_as_current_span("chat") as span:
        span.set_attribute("gen_ai.operation.name", "chat")
        RagCompletionHook().on_completion(inputs=value, outputs=value, system_instruction=value, span=span)
    provider.shutdown()

    assert captured_calls.spans == ()
