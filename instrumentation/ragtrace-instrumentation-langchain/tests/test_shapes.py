"""Every shape in the catalogue is captured right."""

import pytest
from langchain_kit import Records
from shape_catalogue import SHAPES, TABLE, Shape, received_texts, write_page

from ragtrace_instrumentation_langchain import RagCallbackHandler


@pytest.mark.parametrize("shape", [pytest.param(shape, id=shape.run.__name__) for shape in SHAPES])
def test_question_passages_and_answer_are_found(shape: Shape, handler: RagCallbackHandler, records: Records):
    """Question, retrieved and received passages and the answer are right in every shape of RAG application."""
    shape.run({"callbacks": [handler]})
    call = records[-1]
    passages = call.passages or ()

    assert len(records) == shape.records
    assert (call.question, call.question_rewritten, call.answer) == (shape.question, shape.rewritten, shape.answer)
    assert (None if call.passages is None else tuple(p.text for p in passages)) == shape.retrieved
    assert received_texts(call) == shape.received
    assert tuple(p.text for p in call.candidates) == shape.candidates
    assert tuple(p.source for p in passages) == (shape.sources or ("retriever",) * len(passages))
    assert (call.confidence, call.marks) == (shape.confidence, shape.marks)


def test_the_page_shows_what_capture_does():
    """docs/shapes.md is what running every shape gives; `python shape_catalogue.py` writes it anew."""
    assert TABLE.read_text(encoding="utf-8") == write_page()
