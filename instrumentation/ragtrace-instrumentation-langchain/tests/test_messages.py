"""The text of messages of every form is read, and nothing else of them."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.prompt_values import ChatPromptValue

from ragtrace.model import Citation, Passage
from ragtrace_instrumentation_langchain.citations import read_citations, resolve
from ragtrace_instrumentation_langchain.messages import message_text, read_prompt
from ragtrace_instrumentation_langchain.shapes import find_question

TEXT_DOCUMENT = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "plain"}}
SPLIT_DOCUMENT = {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "split"}]}}
FOUND = {"type": "search_result", "source": "a", "title": "b", "content": [{"type": "text", "text": "found"}]}
RESULT = {"type": "tool_result", "tool_use_id": "1", "content": "returned"}
WRAPPED = {"type": "non_standard", "value": FOUND}
PICTURE = {"type": "image", "source": {"type": "base64", "data": "aGk="}}
FILE = {"type": "document", "source": {"type": "base64", "data": "aGk="}}
THOUGHT = {"type": "thinking", "thinking": "hm"}


def test_blocks_are_read_in_order_without_files_and_thoughts():
    """Text, documents, search and tool results are read in order; pictures, files and thoughts are not text."""
    blocks: list[Any] = ["bare", TEXT_DOCUMENT, PICTURE, SPLIT_DOCUMENT, FOUND, FILE, RESULT, WRAPPED, THOUGHT]
    prompt = read_prompt([SystemMessage("rules"), HumanMessage([*blocks, {"type": "text", "text": "Why?"}])])

    assert prompt.parts == ("rules", "bare", "plain", "split", "found", "returned", "found", "Why?")
    assert (prompt.question, prompt.has_foreign_blocks) == ("Why?", True)


def test_a_tool_result_before_the_last_question_is_of_an_earlier_turn():
    """Tool results are told apart by the turn that they belong to."""
    prompt = read_prompt(
        [
            HumanMessage("a"),
            ToolMessage("one", tool_call_id="1"),
            HumanMessage("b"),
            ToolMessage("two", tool_call_id="2"),
        ]
    )

    assert [(r.call_id, r.text, r.is_earlier) for r in prompt.tool_results] == [("1", "one", True), ("2", "two", False)]


def test_an_answer_is_its_text_blocks():
    """Of an answer in blocks the text is read, without reasoning."""
    assert (
        message_text(AIMessage([THOUGHT, {"type": "text", "text": "At "}, {"type": "text", "text": "six."}]))
        == "At six."
    )


@pytest.mark.parametrize(
    ("inputs", "question"),
    [
        ("  Why? ", "Why?"),
        ({"question": "Why?", "other": "x"}, "Why?"),
        ({"input": {"query": "Why?"}}, "Why?"),
        ({"anything": "Why?", "number": 3}, "Why?"),
        ({"one": "a", "two": "b"}, None),
        ({"messages": [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "So."}]}, "Why?"),
        ({"messages": [{"type": "human", "content": [PICTURE, {"type": "text", "text": "Why?"}]}]}, "Why?"),
        ({"messages": [{"role": "user", "content": [PICTURE]}]}, None),
        ([("user", "Why?")], "Why?"),
        ([HumanMessage("Why?"), AIMessage("So.")], "Why?"),
        (HumanMessage("Why?"), "Why?"),
        (HumanMessage([PICTURE]), None),
        (ChatPromptValue(messages=[HumanMessage("Why?")]), "Why?"),
        ([3], None),
        (None, None),
    ],
)
def test_the_question_is_found_in_every_form_of_input(inputs: object, question: str | None):
    """A question is found as text, under its usual names, and as the person's last message."""
    assert find_question(inputs) == question


PASSAGES = (
    Passage(text="The gate opens at 06:00 sharp.", rank=0, id="a", metadata={"url": "http://handbook/gate"}),
    Passage(text="Dogs are allowed.", rank=1, id="b"),
)


def test_citations_in_blocks_name_passages_by_their_words():
    """Anthropic's citations carry the cited words, which tell the passage."""
    cited = {"type": "char_location", "cited_text": "opens at 06:00", "document_index": 1}
    message = AIMessage(["So: ", {"type": "text", "text": "at six.", "citations": [cited]}])

    assert resolve(read_citations(message), PASSAGES) == (Citation(start=4, end=11, passages=(0,)),)


def test_citations_by_offset_name_passages_by_address_or_number():
    """Annotations name an address, other providers a document's number; what names no passage is left out."""
    blocks: list[Any] = [
        {
            "type": "text",
            "text": "At six. Dogs too.",
            "annotations": [
                {"type": "citation", "url": "http://handbook/gate", "start_index": 0, "end_index": 7},
                {"type": "citation", "url": "http://elsewhere"},
            ],
        }
    ]
    numbered = {"start": 8, "end": 17, "document_ids": ["doc-1"], "sources": [{"id": "b"}]}
    message = AIMessage(blocks, additional_kwargs={"citations": [numbered]})

    assert resolve(read_citations(message), PASSAGES) == (
        Citation(start=0, end=7, passages=(0,)),
        Citation(start=8, end=17, passages=(1,)),
    )


def test_citations_by_number_alone():
    """Where only a number is given, it counts the passages."""
    cited = {"start": 0, "end": 3, "document_index": 1}
    by_name = {"start": 3, "end": 4, "document_ids": ["doc_0", "doc_9"]}
    message = AIMessage("Yes.", response_metadata={"citations": [cited, by_name]})

    assert resolve(read_citations(message), PASSAGES) == (
        Citation(start=0, end=3, passages=(1,)),
        Citation(start=3, end=4, passages=(0,)),
    )
