"""The demo's documents and questions."""

import re
from collections import Counter

from ragtrace.demo.corpus import CorpusPassage, load_passages, load_questions

_SPACED = ("en", "ru")


def _length(passage: CorpusPassage) -> int:
    """Words, or for a script without spaces a word for every two characters."""
    return len(passage.body.split()) if passage.language in _SPACED else len(passage.body) // 2


def test_corpus_is_large_enough_and_in_four_languages():
    """The corpus has at least 12 documents and 60 passages in English, Chinese, Japanese and Russian."""
    passages = load_passages()

    assert len({p.document for p in passages}) >= 12
    assert len(passages) >= 60
    assert {p.language for p in passages} == {"en", "zh", "ja", "ru"}


def test_passages_are_of_a_length_that_budgets_cut():
    """A passage has 60 to 200 words, or the equivalent."""
    assert [p.id for p in load_passages() if not 60 <= _length(p) <= 200] == []


def test_passage_ids_name_file_and_section():
    """A passage is named by its document and place in it, and starts with its heading."""
    first = load_passages()[0]

    assert (first.id, first.heading, first.text.split("\n")[0]) == (
        "en-calibration#1",
        "How often to calibrate",
        "How often to calibrate",
    )


def test_questions_name_passages_that_exist():
    """Every question names passages of the corpus, and has a reference unless the corpus is silent."""
    ids = {p.id for p in load_passages()}
    questions = load_questions()

    assert len(questions) >= 50
    assert [q.id for q in questions if not set(q.passages) <= ids] == []
    assert [q.id for q in questions if bool(q.passages) != (q.reference is not None)] == []
    assert len({q.id for q in questions}) == len(questions)
    assert set(Counter(q.kind for q in questions)) == {"single", "multi", "negation", "unanswerable"}


def test_references_say_what_the_passages_say():
    """Each number in a reference stands in one of the passages that answer the question."""
    texts = {p.id: p.text for p in load_passages()}
    strange = [
        (q.id, number)
        for q in load_questions()
        for number in re.findall(r"\d[\d,.:]*\d|\d", q.reference or "")
        if not any(number in texts[p] for p in q.passages)
    ]

    # "3 days, and 2 more, so 5 in all": the one sum.
    assert strange == [("q05", "5")]
