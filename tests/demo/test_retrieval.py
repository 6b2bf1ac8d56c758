"""Retrieval and token budget of the demo."""

import pytest
from langchain_core.documents import Document

from ragtrace.demo.budget import TokenBudget
from ragtrace.demo.corpus import load_passages, load_questions
from ragtrace.demo.retriever import Bm25Retriever
from ragtrace.demo.words import count_tokens, head_within, terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Calibrated sensors", ["calibr", "sensor"]),
        ("雪深计F1", ["雪深", "深计", "f1"]),
        ("電", ["電"]),
        ("датчика давления", ["датчик", "давлен"]),
        ("", []),
    ],
)
def test_terms_are_word_heads_and_character_pairs(text, expected):
    """Words are indexed by their first six letters, Chinese and Japanese by pairs of characters."""
    assert terms(text) == expected


def test_tokens_count_a_cjk_character_as_one():
    """A token is one CJK character or four others."""
    assert [count_tokens(t) for t in ("", "abcd", "abcde", "雪深计", "雪深计abcd")] == [0, 1, 2, 3, 4]


def test_heads_end_at_a_word():
    """A text is cut where a word ends, or after any CJK character."""
    assert head_within("one two three four", 3) == "one two"
    assert head_within("保修期为三十六个月", 4) == "保修期为"
    assert head_within("short", 10) == "short"
    assert head_within("extraordinary", 1) == ""


def test_budget_cuts_passages_and_drops_the_last():
    """Long passages lose their ends, and what does not fit any more is dropped."""
    documents = [Document(page_content=text) for text in ("aaaa bbbb cccc", "dddd eeee", "ffff")]

    assert TokenBudget(a_passage=2, in_all=2).fit(documents) == "[1] aaaa\n\n[2] dddd"


def test_budget_drops_nothing_that_fits():
    """Everything that fits is sent whole."""
    documents = [Document(page_content="aaaa bbbb"), Document(page_content="cccc")]

    assert TokenBudget(a_passage=10, in_all=10).fit(documents) == "[1] aaaa bbbb\n\n[2] cccc"


def test_retriever_finds_the_passage_that_answers():
    """For at least nine in ten questions that can be answered a passage that answers is among the six found."""
    retriever = Bm25Retriever.over(load_passages())
    questions = [q for q in load_questions() if q.passages]
    found = [q.id for q in questions if {d.id for d in retriever.invoke(q.question)} & set(q.passages)]

    assert len(found) / len(questions) >= 0.9


def test_retriever_returns_documents_with_scores():
    """A document carries its id, title, language and score, best first."""
    documents = Bm25Retriever.over(load_passages(), k=2).invoke("desiccant cartridge DC-1 of the Firn")

    assert documents[0].id == "en-firn#5"
    assert documents[0].metadata["document"] == "Firn snow sensor: technical manual"
    assert documents[0].metadata["score"] > documents[1].metadata["score"]


def test_retriever_returns_nothing_for_strange_words():
    """A query that shares no term with the corpus finds nothing."""
    assert Bm25Retriever.over(load_passages()).invoke("zzzz qqqq") == []
