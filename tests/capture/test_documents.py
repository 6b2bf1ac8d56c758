"""Reading other libraries' objects."""

from types import SimpleNamespace

import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from ragtrace.capture.documents import to_answer, to_passages, to_texts
from ragtrace.errors import ConfigError
from ragtrace.model import Passage


class Node:
    """Like LlamaIndex's text node."""

    node_id = "n1"
    metadata = {"page": 2}  # noqa: RUF012 - as the library does

    def get_content(self) -> str:
        return "node text"


def _manual(text: str, **known: object) -> Passage:
    return Passage(text=text, source="manual", **{"rank": 0, **known})


@pytest.mark.parametrize(
    ("document", "passage"),
    [
        ("plain", _manual("plain")),
        (Document(page_content="lc", id="7", metadata={"a": 1}), _manual("lc", id="7", metadata={"a": 1})),
        ((Document(page_content="lc"), 0.5), _manual("lc", score=0.5)),
        (
            {"text": "t", "id": 3, "score": 1, "metadata": {"k": "v"}},
            _manual("t", id="3", score=1.0, metadata={"k": "v"}),
        ),
        ({"content": "c", "relevance_score": 0.25}, _manual("c", score=0.25)),
        (Node(), _manual("node text", id="n1", metadata={"page": 2})),
        (SimpleNamespace(node=Node(), score=0.9), _manual("node text", id="n1", score=0.9, metadata={"page": 2})),
        (
            SimpleNamespace(content="hay", meta={"m": 1}, id="h", score="high"),
            _manual("hay", id="h", metadata={"m": 1}),
        ),
    ],
)
def test_documents_of_many_libraries_become_passages(document, passage):
    """LangChain, LlamaIndex, Haystack, dictionaries, texts and pairs with a score."""
    assert to_passages([document]) == (passage,)


def test_ranks_follow_the_list():
    """The order is the retriever's."""
    assert [p.rank for p in to_passages(["a", "b", "c"])] == [0, 1, 2]


def test_one_text_is_one_passage():
    """A text is not taken apart into letters."""
    assert to_passages("whole") == (_manual("whole"),)


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ([3], "a retrieved passage came as int"),
        ([{"nothing": 1}], "a retrieved passage came as dict"),
        ((d for d in ["a"]), "retrieved passages came as generator: expected a list"),
    ],
)
def test_what_cannot_be_read_is_named(documents, message):
    """A list of something else says what it is; an iterator is not used up."""
    with pytest.raises(ConfigError, match=message):
        to_passages(documents)


@pytest.mark.parametrize(
    ("messages", "texts"),
    [
        ("one", ("one",)),
        ([{"role": "system", "content": "be kind"}, {"role": "user", "content": "q"}], ("be kind", "q")),
        ([SystemMessage("be kind"), HumanMessage("q")], ("be kind", "q")),
        ([("system", "be kind")], ("system", "be kind")),
        (
            [HumanMessage([{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "u"}}])],
            ("see",),
        ),
        ([{"role": "assistant", "content": None, "tool_calls": []}], ()),
    ],
)
def test_prompts_of_many_shapes_become_texts(messages, texts):
    """A text, chat dictionaries, message objects, parts of messages; images are no text."""
    assert to_texts(messages) == texts


def test_an_unknown_message_is_named():
    """What is no message says what it is."""
    with pytest.raises(ConfigError, match="a prompt message came as object"):
        to_texts([object()])


@pytest.mark.parametrize(
    ("answer", "text"), [("a", "a"), (AIMessage("b"), "b"), (AIMessage([{"type": "text", "text": "c"}, "d"]), "c\nd")]
)
def test_answers_are_texts_or_messages(answer, text):
    """An answer may come as the message that holds it."""
    assert to_answer(answer) == text
