"""The application, instrumented by OpenTelemetry's GenAI package, with a lookup for the texts of documents."""

from app import PASSAGES, make_chain
from opentelemetry.instrumentation.genai.langchain import LangChainInstrumentor
from opentelemetry.sdk.trace import TracerProvider

import ragtrace

provider = TracerProvider()
provider.add_span_processor(ragtrace.RagSpanProcessor(document_lookup=lambda ids: {i: PASSAGES[i] for i in ids}))
LangChainInstrumentor().instrument(tracer_provider=provider)
print(make_chain().invoke("When does the gate open on working days?"))
ragtrace.flush(timeout_seconds=5)
