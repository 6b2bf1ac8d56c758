"""What the tests of the LangChain instrumentation share."""

from collections.abc import Iterator

import pytest
from langchain_kit import Records, make_handler
from langfuse import Langfuse
from openinference.instrumentation.langchain import LangChainInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tracers import LANGFUSE_KEY, Application, Traced

from ragtrace.capture.guard import raising
from ragtrace_instrumentation_langchain import RagCallbackHandler


@pytest.fixture
def records() -> Records:
    """Keep what was captured."""
    return Records()


@pytest.fixture
def handler(records: Records) -> Iterator[RagCallbackHandler]:
    """Capture into `records`; our own failures show, and nothing may be left open."""
    with raising():
        made = make_handler(records)
        yield made
        assert made.open_runs == 0


@pytest.fixture(scope="session")
def application() -> Iterator[Application]:
    """A tracer provider of the application's own, and a Langfuse client that traces into it and sends nothing."""
    provider, exporter = TracerProvider(shutdown_on_exit=False), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    client = Langfuse(
        public_key=LANGFUSE_KEY,
        secret_key="sk-lf-none",
        base_url="http://127.0.0.1:9",
        tracer_provider=provider,
        span_exporter=InMemorySpanExporter(),
    )
    yield Application(provider=provider, exporter=exporter)
    client.shutdown()
    provider.shutdown()


@pytest.fixture
def traced(application: Application, records: Records) -> Iterator[Traced]:
    """The application, with our handler watching its provider."""
    application.exporter.clear()
    with raising():
        yield Traced(application=application, handler=make_handler(records, tracer_provider=application.provider))


@pytest.fixture
def openinference(traced: Traced) -> Iterator[None]:
    """OpenInference, tracing every chain into the provider."""
    LangChainInstrumentor().instrument(tracer_provider=traced.application.provider)
    yield
    LangChainInstrumentor().uninstrument()
