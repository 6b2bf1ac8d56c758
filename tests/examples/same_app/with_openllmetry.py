"""The application, instrumented by OpenLLMetry, with a span processor of ragtrace's."""

from app import make_chain
from opentelemetry.instrumentation.langchain import LangchainInstrumentor
from opentelemetry.sdk.trace import TracerProvider

import ragtrace

provider = TracerProvider()
provider.add_span_processor(ragtrace.RagSpanProcessor())
LangchainInstrumentor().instrument(tracer_provider=provider)
print(make_chain().invoke("When does the gate open on working days?"))
ragtrace.flush(timeout_seconds=5)
