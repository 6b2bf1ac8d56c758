"""Capture a Haystack pipeline with four lines around it.

Set LANGFUSE_BASE_URL, LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY first, or run `ragtrace serve`. Haystack reports its
own use over the network unless HAYSTACK_TELEMETRY_ENABLED is False.
"""

from haystack import Document, Pipeline, component
from haystack.components.builders import PromptBuilder
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

import ragtrace

DOCUMENTS = [
    Document(id="gate", content="The gate opens at 06:00 on working days and at 08:00 on Saturdays."),
    Document(id="depot", content="The gate of the old depot was closed in 1998."),
    Document(id="dogs", content="Dogs are allowed on the whole site, except in the canteen."),
]
TEMPLATE = """Answer from this:
{% for document in documents[:2] %}{{ document.content }}
{% endfor %}
Question: {{ question }}"""


@component
class FakeGenerator:
    """Stand for your model."""

    @component.output_types(replies=list[str])
    def run(self, prompt: str) -> dict[str, list[str]]:
        """Answer."""
        return {"replies": ["The gate opens at 06:00 on working days."]}


def make_pipeline() -> Pipeline:
    """Retriever, prompt of the two best passages, model."""
    store = InMemoryDocumentStore()
    store.write_documents(DOCUMENTS)
    pipeline = Pipeline()
    pipeline.add_component("retriever", InMemoryBM25Retriever(store, top_k=3))
    pipeline.add_component("prompt", PromptBuilder(TEMPLATE, required_variables=["documents", "question"]))
    pipeline.add_component("model", FakeGenerator())
    pipeline.connect("retriever.documents", "prompt.documents")
    pipeline.connect("prompt.prompt", "model.prompt")
    return pipeline


def ask(pipeline: Pipeline, question: str) -> str:
    """Answer, and say what was retrieved, sent and answered."""
    asked = {"retriever": {"query": question}, "prompt": {"question": question}}
    with ragtrace.rag_call(question) as call:
        outputs = pipeline.run(asked, include_outputs_from={"retriever", "prompt"})
        call.retrieved(outputs["retriever"]["documents"])
        call.prompt(outputs["prompt"]["prompt"])
        answer: str = outputs["model"]["replies"][0]
        call.answer(answer)
    return answer


print(ask(make_pipeline(), "When does the gate open on working days?"))
print("delivered" if ragtrace.flush(timeout_seconds=5) else "not delivered: see the log")
