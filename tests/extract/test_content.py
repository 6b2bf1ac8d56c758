"""The forms in which libraries write messages, answers and documents."""

import json

import pytest

from ragtrace.extract.content import (
    Found,
    Message,
    Said,
    block_texts,
    find_documents,
    read_documents,
    read_messages,
    read_said,
)
from ragtrace.extract.values import is_cut, plain, unfold


def serialised(kind: str, **fields: object) -> dict[str, object]:
    """A message as LangChain serialises it."""
    return {"lc": 1, "type": "constructor", "id": ["langchain", kind], "kwargs": {"type": kind, **fields}}


@pytest.mark.parametrize(
    "written",
    [
        "Hello?",
        ["user", "Hello?"],
        {"role": "user", "content": "Hello?"},
        {"messages": [{"type": "human", "content": "Hello?"}], "tools": []},
        [[serialised("human", content="Hello?")]],
        {"type": "human", "data": {"content": "Hello?"}},
        {"prompts": ["Hello?"]},
        [{"role": "user", "parts": [{"type": "text", "content": "Hello?"}]}],
        {"role": "user", "content": [{"type": "image_url", "image_url": {}}, {"type": "text", "text": "Hello?"}]},
    ],
)
def test_a_persons_message_is_read_in_every_form(written):
    """The same message comes out, whichever library wrote it."""
    assert read_messages(written) == (Message(role="user", text="Hello?", last_block="Hello?"),)


def test_what_is_no_message_gives_none():
    """Values that hold no message are left out."""
    assert [read_messages(value) for value in (None, 3, " ", {"a": 1}, [])] == [()] * 5


def test_tool_results_are_read_with_their_call():
    """A tool's result is text whether the convention calls it response or result, structured or not."""
    parts = [
        [{"type": "tool_call_response", "id": "c1", "response": "At six."}],
        [{"type": "tool_call_response", "id": "c1", "result": {"at": "six"}}],
    ]

    assert [(m.text, m.tool_call_id) for part in parts for m in read_messages([{"role": "tool", "parts": part}])] == [
        ("At six.", "c1"),
        ('{"at": "six"}', "c1"),
    ]


def test_documents_and_wrapped_blocks_are_text():
    """Document and search-result blocks carry their texts; encoded files and deep nests do not."""
    blocks = [
        {"type": "document", "source": {"type": "text", "data": "Inside a source."}},
        {"type": "document", "source": {"type": "base64", "data": "AAAA"}},
        {"type": "search_result", "content": [{"type": "text", "text": "Inside a result."}]},
        {"type": "non_standard", "value": {"type": "text", "text": "Inside a wrap."}},
        {"type": "reasoning", "content": "Hidden."},
    ]
    deep: list[object] = ["too deep"]
    for _ in range(9):
        deep = [deep]

    assert list(block_texts(blocks)) == ["Inside a source.", "Inside a result.", "Inside a wrap."]
    assert list(block_texts(deep)) == []


@pytest.mark.parametrize(
    "written",
    [
        "At six.",
        {"role": "assistant", "content": "At six."},
        {"generations": [[{"text": "At six.", "message": serialised("ai", content="At six.")}]], "llm_output": None},
        {"generations": [[{"text": "At six."}]]},
        {"choices": [{"message": {"role": "assistant", "content": "At six."}}]},
        [{"role": "assistant", "parts": [{"type": "text", "content": "At six."}]}],
    ],
)
def test_an_answer_is_read_in_every_form(written):
    """The same answer comes out, whichever library wrote it."""
    assert read_said(written) == Said(text="At six.")


@pytest.mark.parametrize(
    "written",
    [
        {"content": "", "tool_calls": [{"name": "search", "args": {"query": "gate"}, "id": "c1"}]},
        {"content": "", "tool_calls": [{"function": {"name": "search", "arguments": '{"query": "gate"}'}}]},
        {"content": None, "additional_kwargs": {"tool_calls": [{"function": {"arguments": '{"query": "gate"}'}}]}},
        [{"role": "assistant", "parts": [{"type": "tool_call", "name": "search", "arguments": {"query": "gate"}}]}],
        {"role": "assistant", "content": [{"type": "tool_use", "name": "search", "input": {"query": "gate"}}]},
    ],
)
def test_tool_calls_are_told_from_answers(written):
    """A message that only asks for a tool says so, with the arguments."""
    assert read_said(written) == Said(text="", arguments=({"query": "gate"},), calls_tools=True)


def test_broken_arguments_are_empty():
    """Arguments that are no JSON object count as none; what is no answer at all is None."""
    call = {"content": "", "tool_calls": [{"args": "query: gate"}]}

    assert read_said(call) == Said(text="", arguments=({},), calls_tools=True)
    assert [read_said(value) for value in (None, 3, {"a": 1}, [])] == [None] * 4


def test_documents_are_read_in_every_form():
    """Text, id, score and metadata are found under the names that libraries give them."""
    written = [
        {"page_content": "A.", "id": "1", "metadata": {"relevance_score": 0.5}, "type": "Document"},
        {"lc": 1, "kwargs": {"page_content": "B.", "id": "2", "metadata": {}}},
        {"document": {"text": "C.", "id": "3"}, "score": 0.25},
        {"node": {"text": "D.", "id_": "4"}, "score": 0.125},
        {"id": "5", "score": None},
        "E.",
        {"nothing": "here"},
        7,
    ]

    assert read_documents(written) == (
        Found(text="A.", id="1", score=0.5, metadata={"relevance_score": 0.5}),
        Found(text="B.", id="2"),
        Found(text="C.", id="3", score=0.25),
        Found(text="D.", id="4", score=0.125),
        Found(text=None, id="5"),
        Found(text="E."),
    )
    assert [read_documents(value) for value in ([], {"documents": []}, [7], "text", None, {"a": 1})] == [
        (),
        (),
        None,
        None,
        None,
        None,
    ]


def test_written_documents_are_found_inside_any_value():
    """LangChain's documents are found wherever a chain's output holds them."""
    value = {"answer": "A.", "context": [{"type": "Document", "page_content": "A."}, {"type": "Document"}]}

    assert find_documents(value) == (Found(text="A."),)


def test_attributes_become_plain_json():
    """Native structures become JSON, of any type and depth; bare words and numbers in texts stay texts."""
    deep: list[object] = []
    for _ in range(20):
        deep = [deep]

    assert plain(("a", {"b": 1.5}, None, b"c")) == ["a", {"b": 1.5}, None, "b'c'"]
    assert json.dumps(plain(deep)).count("[") == 12
    assert [unfold(text) for text in ("2024", "true", '{"a": 1}', "{no json")] == ["2024", "true", {"a": 1}, "{no json"]


def test_cut_json_is_told_from_text():
    """JSON that lost its end is cut; whole JSON, prompts that begin with a bracket, and nests too deep are not."""
    texts = ['[{"role": "us', '[{"role": "user"}]', "[INST] Who?", "{context}", "[" * 100_000 + '"', 3]

    assert [is_cut(text) for text in texts] == [True, False, False, False, False, False]
