"""The application, instrumented by OpenTelemetry's GenAI package, with a span processor of ragtrace's."""

from app import make_chain
from opentelemetry.instrumentation.genai.langchain import LangChainInstrumentor
from opentelemetry.sdk.trace import TracerProvider

import ragtrace

provider = TracerProvider()
provider.add_span_processor(ragtrace.RagSpanProcessor())
LangChainInstrumentor().instrument(tracer_provider=provider)
print(make_chain().invoke("When does the gate open on working days?"))
ragtrace.flush(timeout_seconds=5)
