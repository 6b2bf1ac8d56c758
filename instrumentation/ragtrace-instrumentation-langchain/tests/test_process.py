"""The instrumentation is found, switched off and run as other OpenTelemetry instrumentations are."""

import asyncio
import subprocess
import sys
from dataclasses import dataclass, field

import pytest
import uvloop
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_kit import DEPOT, DOGS, GATE, Records, Shelf, asks_tool, says, stuff_chain, write_out
from pydantic import BaseModel

import ragtrace
from ragtrace.capture import rag_call
from ragtrace_instrumentation_langchain import LangchainInstrumentor, RagCallbackHandler
from ragtrace_instrumentation_langchain.documents import find_documents

_COUNT_HOOKS = """
from opentelemetry.instrumentation.auto_instrumentation import initialize
initialize()
from langchain_core.tracers.context import _configure_hooks
print(sum("ragtrace" in hook[0].name for hook in _configure_hooks))
"""


@pytest.mark.parametrize(("disabled", "hooks"), [("langchain", "1"), ("langchain,ragtrace_langchain", "0")])
def test_auto_instrumentation_finds_it_unless_it_is_disabled(disabled: str, hooks: str):
    """`opentelemetry-instrument` loads it, unless OTEL_PYTHON_DISABLED_INSTRUMENTATIONS names `ragtrace_langchain`."""
    environment = {"OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": disabled, "OTEL_TRACES_EXPORTER": "none"}
    run = subprocess.run(
        [sys.executable, "-c", _COUNT_HOOKS], env=environment, capture_output=True, text=True, check=True
    )

    assert run.stdout.strip() == hooks


def test_the_instrumentor_captures_every_chain_in_every_thread(records: Records):
    """Chains that were given no handler are captured, and in batches too, whose steps run in threads."""
    LangchainInstrumentor().instrument(client=records)
    try:
        stuff_chain().batch(["one?", "two?"])
    finally:
        LangchainInstrumentor().uninstrument()

    assert sorted(call.question for call in records) == ["one?", "two?"]


def test_works_on_uvloop(handler: RagCallbackHandler, records: Records):
    """On uvloop a call is captured as on asyncio's own loop."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(stuff_chain().ainvoke("When?", {"callbacks": [handler]}))

    assert [call.question for call in records] == ["When?"]


def test_a_call_arrives_as_a_rag_call_span(captured_calls):
    """With nothing but a handler on the chain, the span holds question, received passages and answer."""
    stuff_chain(Shelf(texts=(GATE,))).invoke("When?", {"callbacks": [RagCallbackHandler()]})

    assert captured_calls.answers == ["At 06:00."]
    assert [(i["question"], [(p["text"], p["received"]) for p in i["passages"]]) for i in captured_calls.inputs] == [
        ("When?", [(GATE, "full")])
    ]


def test_telling_what_was_retrieved_outside_any_chain(records: Records):
    """Plain code that tells what it retrieved is linked to the model call whose prompt holds it."""
    handler = RagCallbackHandler(client=records)
    documents = ragtrace.retrieved([Document(page_content=DEPOT)])
    says("In 1998.").invoke(f"{write_out(documents)} When did it close?", {"callbacks": [handler]})

    assert [[(p.text, p.source) for p in call.passages or ()] for call in records] == [[(DEPOT, "manual")]]


def test_a_tool_message_made_by_a_plain_function_is_a_passage(handler: RagCallbackHandler, records: Records):
    """What a plain function put into the prompt as a tool's result is a passage, unless a retriever brought it."""
    messages = [
        HumanMessage("When?"),
        asks_tool("search", "call-1"),
        ToolMessage(GATE, tool_call_id="call-1"),
        ToolMessage("", tool_call_id="call-2"),
    ]
    says("At six.").invoke(messages, {"callbacks": [handler]})
    retrieve = RunnableLambda(lambda q: [*messages[:2], ToolMessage(write_out(Shelf().invoke(q)), tool_call_id="c")])
    (retrieve | says("At six.")).invoke("When?", {"callbacks": [handler]})

    assert [[(p.text, p.source) for p in call.passages or ()] for call in records] == [
        [(GATE, "tool")],
        [(GATE, "retriever"), (DOGS, "retriever")],
    ]


def test_passages_of_an_earlier_turn_without_tools_are_found_by_their_text(
    handler: RagCallbackHandler, records: Records
):
    """A prompt that still holds an earlier turn's passages has them, marked as history."""
    config = {"callbacks": [handler], "metadata": {"thread_id": "t-9"}}
    first = stuff_chain(Shelf(texts=(GATE,)))
    first.invoke("When?", config)
    history = RunnableLambda(lambda q: f"Earlier: {GATE}\n{write_out(Shelf(texts=(DOGS,)).invoke(q))}\n{q}")
    (history | says("Yes.")).invoke("Dogs?", config)

    assert [(p.text, p.source) for p in records[-1].passages or ()] == [(DOGS, "retriever"), (GATE, "history")]


@dataclass
class State:
    question: str
    documents: list[Document] = field(default_factory=list)


class Model(BaseModel):
    question: str
    documents: list[Document]


@pytest.mark.parametrize("kind", [State, Model])
def test_states_of_any_kind_are_read(kind: type, handler: RagCallbackHandler, records: Records):
    """Question and documents are found in dataclasses and pydantic models, too."""
    given = kind(question="When?", documents=[Document(page_content=GATE)])
    (RunnableLambda(lambda s: write_out(s.documents)) | says("At six.")).invoke(given, {"callbacks": [handler]})

    assert [(call.question, [p.text for p in call.passages or ()]) for call in records] == [("When?", [GATE])]


def test_documents_written_as_mappings_are_read():
    """Documents that a checkpointer gives back as mappings are documents."""
    written = {"type": "Document", "page_content": GATE, "id": "a", "metadata": {"page": 3}}
    odd = {"type": "Document", "page_content": DOGS, "id": 7, "metadata": None}

    assert [
        tuple(found) for found in find_documents({"state": [written, odd, {"type": "Document", "page_content": 1}]})
    ] == [
        (GATE, "a", {"page": 3}, None),
        (DOGS, None, {}, None),
    ]
    assert find_documents([AIMessage("no")]) == ()
    assert find_documents(object()) == ()


def test_structured_output_without_an_answer_field_is_written_whole(handler: RagCallbackHandler, records: Records):
    """Structured output is recorded as its answer field, else as JSON."""
    chain = stuff_chain().first | RunnableLambda(lambda _x: "Extract.") | says('{"opens": "06:00", "days": 5}')
    (chain | RunnableLambda(lambda m: {"opens": "06:00", "days": 5})).invoke("When?", {"callbacks": [handler]})

    assert [call.answer for call in records] == ['{"opens": "06:00", "days": 5}']


def test_a_rag_call_block_keeps_what_it_is_told(captured_calls):
    """Inside a `rag_call` block, passages belong to the block."""
    with rag_call("When?") as call:
        ragtrace.retrieved([Document(page_content=GATE)])
        call.answer("At six.")

    assert [[p["text"] for p in i["passages"]] for i in captured_calls.inputs] == [[GATE]]


def test_a_rag_call_block_around_a_chain_is_one_call(captured_calls):
    """The handler tells what the block is not told: passages, prompt and, in the end, the answer."""
    chain, config = stuff_chain(), {"callbacks": [RagCallbackHandler()]}
    with rag_call("When, please?", user="u1"):
        chain.invoke("When?", config)
    with rag_call("When, please?") as call:
        call.answer(str(chain.invoke("When?", config)).upper())
    with rag_call("When, please?") as call:
        call.retrieved([DEPOT])
        chain.invoke("When?", config)

    assert [i["question"] for i in captured_calls.inputs] == ["When, please?"] * 3
    received = [[(p["text"], p["received"]) for p in i["passages"]] for i in captured_calls.inputs]
    assert received == [[(GATE, "full"), (DOGS, "full")]] * 2 + [[(DEPOT, "undetermined")]]
    first, second, third = captured_calls.answers
    assert (second, third) == (str(first).upper(), first)


def test_a_block_of_another_project_takes_nothing(captured_calls, records: Records):
    """What a handler is to send elsewhere is sent there."""
    handler = RagCallbackHandler(client=records)
    with rag_call("When, please?") as call:
        stuff_chain().invoke("When?", {"callbacks": [handler]})
        call.answer("At six.")

    assert ([c.question for c in records], [i["question"] for i in captured_calls.inputs]) == (
        ["When?"],
        ["When, please?"],
    )


def test_a_chain_that_answers_nothing_leaves_the_block_alone(captured_calls):
    """Only calls that answered complete a block."""
    with rag_call("When, please?") as call:
        RunnableLambda(lambda x: x).invoke("When?", {"callbacks": [RagCallbackHandler()]})
        call.answer("At six.")

    assert [(i["question"], i["passages"]) for i in captured_calls.inputs] == [("When, please?", None)]
