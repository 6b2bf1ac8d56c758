"""Every shape of RAG application in the catalogue, captured from the spans of another instrumentation."""

import warnings
from collections.abc import Iterator, Sequence

import pytest
from openinference.instrumentation.langchain import LangChainInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from shape_catalogue import SHAPES, Shape, received_texts

import ragtrace
from ragtrace.capture import CapturedCall, UnwrittenCall

NOT_IN_ONE_TRACE = {"imperative", "imperative_thread", "resumed"}
"""Retrieval and answer are in traces of their own."""
NO_RETRIEVAL_SEEN = {"hidden_search", "told"}
"""Nothing on any span says that anything was retrieved, and no span is current where the application would tell."""
READ_OTHERWISE = {"agent_own_artifact"}
"""What a tool attached beside its text is one passage, the text, since the prompt is all that was sent."""

IN_ANY_ORDER = {"two_retrievers"}
"""They run side by side, and whichever ends first comes first."""


class Written(list[CapturedCall]):
    """A client that keeps what was captured."""

    def submit(self, call: CapturedCall | UnwrittenCall) -> None:
        self.extend(call.write() if isinstance(call, UnwrittenCall) else (call,))


@pytest.fixture
def written() -> Iterator[Written]:
    client = Written()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(ragtrace.RagSpanProcessor(client=client))
    instrumentor = LangChainInstrumentor()
    instrumentor.instrument(tracer_provider=provider)
    # OpenInference calls what LangChain no longer likes to be called.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield client
    instrumentor.uninstrument()
    provider.shutdown()


def test_spans_give_what_the_handler_gives(written):
    """Question, passages, what was received of them, answer and candidates are those that our handler records."""
    found = {shape.run.__name__: _run(shape, written) for shape in SHAPES}
    different = {
        shape.run.__name__
        for shape in SHAPES
        if found[shape.run.__name__]
        != (
            shape.question,
            shape.rewritten,
            _in_order(shape, shape.retrieved),
            _in_order(shape, shape.received),
            shape.answer,
            shape.candidates,
        )
    }

    assert different == NOT_IN_ONE_TRACE | NO_RETRIEVAL_SEEN | READ_OTHERWISE
    assert {name for name in different if found[name] is not None} == READ_OTHERWISE


def _run(shape: Shape, written: Written) -> tuple[object, ...] | None:
    """Run a shape and return what was captured of its last call."""
    written.clear()
    shape.run({"callbacks": []})
    if not written:
        return None
    call = written[-1]
    retrieved = None if call.passages is None else _in_order(shape, [passage.text for passage in call.passages])
    candidates = tuple(candidate.text for candidate in call.candidates)
    return (
        call.question,
        call.question_rewritten,
        retrieved,
        _in_order(shape, received_texts(call)),
        call.answer,
        candidates,
    )


def _in_order(shape: Shape, texts: Sequence[str] | None) -> tuple[str, ...] | None:
    if texts is None:
        return None
    return tuple(sorted(texts) if shape.run.__name__ in IN_ANY_ORDER else texts)
