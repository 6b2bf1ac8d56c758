"""Calls rebuilt from spans that real instrumentations wrote."""

from dataclasses import replace

import pytest

from ragtrace.extract import Assembled, assemble
from ragtrace.extract.conventions import read_step
from ragtrace.extract.span import Span
from ragtrace.semconv import (
    MARK_CAPPED,
    MARK_CONTEXTS_UNKNOWN,
    MARK_ERROR,
    MARK_IDS_ONLY,
    MARK_MASKED,
    MARK_PROMPT_UNKNOWN,
)
from tests.extract.recordings import ANSWER, CONVENTIONS, DOGS, GATE, QUESTION, changed, recorded

TEXTS = {"d0": GATE, "d1": DOGS}


def the_call(spans: list[Span], **options: object) -> Assembled:
    (call,) = assemble(spans, **options)
    return call


def look_up(ids):
    return {identity: TEXTS[identity] for identity in ids if identity in TEXTS}


def texts(call: Assembled) -> list[str] | None:
    return None if call.passages is None else [passage.text for passage in call.passages]


@pytest.mark.parametrize("shape", ["chain", "agent"])
@pytest.mark.parametrize("convention", CONVENTIONS)
def test_every_convention_gives_the_same_call(convention, shape):
    """Question, passages, prompt and answer of one application are the same, whatever wrote its spans."""
    call = the_call(recorded(convention, shape), document_lookup=look_up)

    prompts = {"chain": (f"Use only: {GATE}", QUESTION), "agent": (QUESTION, f"{GATE}\n\n{DOGS}")}
    assert (call.question, call.answer, texts(call), call.prompt_parts, call.marks) == (
        QUESTION,
        ANSWER,
        [GATE, DOGS],
        prompts[shape],
        (),
    )
    assert call.question_rewritten == (None if shape == "chain" else "gate")


@pytest.mark.parametrize("convention", ["openinference", "langfuse"])
def test_ids_and_metadata_of_documents_are_kept(convention):
    """Where the convention has them, passages carry the documents' ids and metadata."""
    call = the_call(recorded(convention, "chain"))

    assert call.passages is not None
    assert [(p.id, p.rank, dict(p.metadata), p.source) for p in call.passages] == [
        ("d0", 0, {"page": 0}, "retriever"),
        ("d1", 1, {"page": 1}, "retriever"),
    ]


def test_ids_without_texts_leave_the_passages_unknown():
    """OTel's retrieval spans carry ids only: without a lookup, or where it does not know one, passages are unknown."""
    spans = recorded("otel_genai", "chain")
    calls = [the_call(spans), the_call(spans, document_lookup=lambda ids: {"d0": GATE})]

    assert [(c.passages, c.marks, c.answer) for c in calls] == [
        (None, (MARK_CONTEXTS_UNKNOWN, MARK_IDS_ONLY), ANSWER)
    ] * 2


@pytest.mark.parametrize(
    ("convention", "name", "key"),
    [
        ("otel_genai", "chat talker-1", "gen_ai.input.messages"),
        ("langfuse", "Talker", "langfuse.observation.input"),
        ("openllmetry", "Talker.chat", "gen_ai.input.messages"),
    ],
)
def test_a_cut_prompt_is_not_held_against_the_passages(convention, name, key):
    """A prompt whose JSON lost its end would make received passages look withheld; they are unknown instead."""
    spans = recorded(convention, "chain")
    whole = next(str(span.attributes[key]) for span in spans if span.name == name)
    call = the_call(changed(spans, name, {key: whole[:60]}), document_lookup=look_up)

    assert call.passages is None
    assert {MARK_CAPPED, MARK_CONTEXTS_UNKNOWN} <= set(call.marks)


@pytest.mark.parametrize(
    ("convention", "name", "key"),
    [
        ("otel_genai", "retrieval", "gen_ai.retrieval.documents"),
        ("langfuse", "Shelf", "langfuse.observation.output"),
        ("openllmetry", "vector_db_retrieve Shelf", "traceloop.entity.output"),
    ],
)
def test_cut_documents_are_unknown(convention, name, key):
    """Documents whose JSON lost its end are not all there: passages are unknown, and the mark says so."""
    spans = recorded(convention, "chain")
    whole = next(str(span.attributes[key]) for span in spans if span.name == name)
    call = the_call(changed(spans, name, {key: whole[:30]}), document_lookup=look_up)

    assert (call.passages, call.answer) == (None, ANSWER)
    assert {MARK_CAPPED, MARK_CONTEXTS_UNKNOWN} <= set(call.marks)


def test_evicted_documents_are_read_from_the_output():
    """A span that lost its first document attributes to the limit still has them in its output; without it, none."""
    spans = recorded("openinference", "chain")
    gone = {f"retrieval.documents.0.document.{key}": None for key in ("content", "metadata", "id")}
    found = the_call(changed(spans, "Shelf", gone))
    lost = the_call(changed(spans, "Shelf", {**gone, "output.value": None}))

    assert texts(found) == [GATE, DOGS]
    assert (lost.passages, lost.marks) == (None, (MARK_CONTEXTS_UNKNOWN, MARK_CAPPED))


def test_hidden_content_is_marked():
    """Content that the instrumentation was told to hide is marked as masked."""
    hidden = {"llm.input_messages.0.message.content": "__REDACTED__"}
    call = the_call(changed(recorded("openinference", "chain"), "Talker", hidden))

    assert MARK_MASKED in call.marks


def test_a_prompt_that_is_not_on_the_span_is_unknown():
    """With content capture off there is no prompt: nothing tells what was received, nor what was answered."""
    off = {"gen_ai.input.messages": None, "gen_ai.output.messages": None}
    call = the_call(changed(recorded("otel_genai", "chain"), "chat talker-1", off), document_lookup=look_up)

    assert (call.passages, call.prompt_parts, call.answer, call.confidence) == (None, (), None, "low")
    assert call.marks == (MARK_CONTEXTS_UNKNOWN, MARK_PROMPT_UNKNOWN)


def test_native_attributes_are_read_as_their_json():
    """An attribute may be a structure instead of its JSON text."""
    sent = [{"role": "user", "parts": [{"type": "text", "content": f"{GATE}\n{QUESTION}"}]}]
    said = [{"role": "assistant", "parts": [{"type": "text", "content": ANSWER}]}]
    documents = [{"id": "d0", "content": GATE, "score": 0.5}]
    spans = changed(
        recorded("otel_genai", "chain"),
        "chat talker-1",
        {"gen_ai.input.messages": sent, "gen_ai.output.messages": said},
    )
    call = the_call(changed(spans, "retrieval", {"gen_ai.retrieval.documents": documents}))

    assert call.passages is not None
    assert [(p.text, p.score) for p in call.passages] == [(GATE, 0.5)]
    assert (call.prompt_parts, call.answer) == ((f"{GATE}\n{QUESTION}",), ANSWER)


def test_older_names_of_attributes_are_read():
    """Prompts and answers under the names of before are read as those of today."""
    older = {
        "gen_ai.input.messages": None,
        "gen_ai.output.messages": None,
        "gen_ai.system_instructions": None,
        "gen_ai.prompt.0.role": "system",
        "gen_ai.prompt.0.content": f"Use: {GATE}",
        "gen_ai.prompt.1.role": "user",
        "gen_ai.prompt.1.content": QUESTION,
        "gen_ai.completion.0.content": ANSWER,
        "gen_ai.completion.0.role": "assistant",
    }
    call = the_call(changed(recorded("openllmetry", "chain"), "Talker.chat", older))

    assert (call.prompt_parts, call.answer, texts(call)) == ((f"Use: {GATE}", QUESTION), ANSWER, [GATE, DOGS])


def test_system_instructions_are_a_part_of_the_prompt():
    """Instructions that stand on an attribute of their own come first in the prompt."""
    apart = {"gen_ai.system_instructions": '[{"type": "text", "content": "Be brief."}]'}
    call = the_call(changed(recorded("otel_genai", "chain"), "chat talker-1", apart), document_lookup=look_up)

    assert call.prompt_parts == ("Be brief.", f"Use only: {GATE}", QUESTION)


def test_a_failed_model_call_is_no_answer():
    """A generator that failed leaves a call without an answer, marked."""
    failed = [replace(span, is_error=True) if span.name == "Talker" else span for span in recorded("langfuse", "chain")]
    call = the_call(changed(failed, "Talker", {"langfuse.observation.output": None}))

    assert (call.answer, call.marks, call.confidence) == (None, (MARK_ERROR,), "low")


def test_a_model_call_without_retrieval_is_no_rag_call():
    """A trace in which nothing was retrieved holds no call of ours, and neither does one without a model."""
    spans = recorded("openinference", "chain")

    assert assemble([span for span in spans if span.name != "Shelf"]) == ()
    assert assemble([span for span in spans if span.name != "Talker"]) == ()
    assert assemble([]) == ()


def test_what_langfuse_shows_of_other_spans_is_read():
    """Langfuse types the retrievals of OpenLLMetry and OTel as plain spans, and wraps nothing of what they say."""
    retrieval = Span(
        id="1",
        trace_id="t",
        name="vector_db_retrieve Shelf",
        start_ns=0,
        end_ns=1,
        attributes={
            "langfuse.observation.type": "span",
            "gen_ai.operation.name": "vector_db_retrieve",
            "langfuse.observation.input": {"query": QUESTION, "kwargs": {}},
            "langfuse.observation.output": {"documents": [{"page_content": GATE}], "count": 1},
        },
    )
    chain = replace(
        retrieval,
        attributes={
            "langfuse.observation.type": "chain",
            "langfuse.observation.input": {"inputs": QUESTION, "kwargs": {}},
            "langfuse.observation.output": {"outputs": ANSWER, "kwargs": {}},
        },
    )
    steps = [read_step(span) for span in (retrieval, chain)]

    assert [(step.kind, step.query, step.given, step.returned) for step in steps] == [
        ("retriever", QUESTION, None, {"documents": [{"page_content": GATE}], "count": 1}),
        ("chain", None, QUESTION, ANSWER),
    ]


def test_a_model_span_of_openllmetry_may_have_no_operation():
    """A span with messages, and no kind of OpenLLMetry's own, is a model call."""
    spans = changed(recorded("openllmetry", "chain"), "Talker.chat", {"gen_ai.operation.name": None})

    assert the_call(spans).answer == ANSWER
