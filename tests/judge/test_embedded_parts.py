"""The parts of the embedded judge that whole answers do not reach."""

from ragtrace.judge.lexical.answers import split_answer
from ragtrace.judge.lexical.evidence import Evidence
from ragtrace.judge.lexical.features import compare
from ragtrace.judge.lexical.polarity import find_denials
from ragtrace.judge.lexical.questions import expected_answer, has_odd_number, lacks_number
from ragtrace.judge.lexical.tokens import character_grams, tokenise


def test_a_claim_may_hold_its_own_question():
    """Question and answer are told apart by the call's question, by a question mark or by a question word."""
    assert [
        split_answer(claim, question)
        for claim, question in (
            ("How long is the warranty: 24 months", "How long is the warranty?"),
            ("How long is the warranty", "How long is the warranty?"),
            ("Who built it? Acme", ""),
            ("誰が作ったか。：アクメ", ""),
            ("Torque: 25 Nm", ""),
            ("It was 5:30 pm", ""),
        )
    ] == [
        ("How long is the warranty", "24 months"),
        None,
        ("Who built it?", "Acme"),
        ("誰が作ったか。:", "アクメ"),
        None,
        None,
    ]


def test_questions_ask_for_years_numbers_moments_or_things():
    """What is asked for decides which answers are odd."""
    assert [
        expected_answer(q) for q in ("In which year?", "How many?", "When did it end?", "Who came?", "Tell me.")
    ] == [
        "year",
        "number",
        "moment",
        "thing",
        "unknown",
    ]
    assert (lacks_number("In which year?", "233"), lacks_number("In which year?", "in 1998")) == (True, False)
    assert (lacks_number("How many?", "the anthem"), lacks_number("How many?", "six")) == (True, False)
    assert (has_odd_number("Who came?", "1996"), has_odd_number("How many?", "1996")) == (True, False)


def test_long_stretches_without_a_stop_are_cut():
    """A page of running text is compared in pieces, not as one sentence; without a blank it is cut anywhere."""
    evidence = Evidence(["word " * 300, "字" * 700])

    assert [len(sentence.text) for sentence in evidence.sentences] == [599, 599, 299, 601, 99]


def test_no_passages_support_nothing():
    """Without evidence every share is 0."""
    found = compare("Who built it? Acme", Evidence([]))

    assert (found.best, found.values["cov_best1"], found.values["found"]) == ((), 0.0, 0.0)


def test_what_a_negation_denies_comes_first():
    """The nearest telling word is what is denied; set phrases deny nothing; a lone "not" denies nothing either."""
    assert [find_denials(text) for text in ("It is not covered.", "Not.", "これをしなければならない。", "…")] == [
        (("cover",),),
        (),
        (),
        (),
    ]


def test_numbers_match_however_they_are_written():
    """Grouped digits, decimal commas, percent signs and number words are one number."""
    keys = [token.key for token in tokenise("1,250 and 3,5 and 3.5% and zwei, два, 2")]

    assert [key for key in keys if key != "and"] == ["1250", "3.5", "3.5", "2", "2", "2"]


def test_grams_are_shorter_where_characters_say_more():
    """Two characters of Chinese, four of others."""
    assert (character_grams("保修期"), character_grams("Lids up")) == (
        {"保修", "修期"},
        {"lids", "ids ", "ds u", "s up"},
    )
