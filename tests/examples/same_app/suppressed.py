"""The application, once with instrumentation suppressed and once without."""

from app import make_chain
from opentelemetry.instrumentation.utils import suppress_instrumentation

chain = make_chain()
with suppress_instrumentation():
    print(chain.invoke("Does anybody see this?"))
print(chain.invoke("When does the gate open on working days?"))
