"""Faults that the demo plants on purpose."""

import pytest

from ragtrace.demo.faults import Draft, Ledger, LedgerEntry, choose_questions, spoil, spoil_evenly

EN = Draft(
    question="How long is the warranty?",
    language="en",
    sentences=("The warranty is 36 months.", "It passes on to a new owner."),
    received="Length\nThe warranty is 36 months. It passes on to a new owner. Batteries have 24 months.",
    remembered=("Registering adds 12 months.",),
)


def _draft(language: str, sentence: str, received: str = "") -> Draft:
    return Draft(question="?", language=language, sentences=(sentence,), received=received, remembered=())


def test_invented_sentences_stand_in_no_passage():
    """An invention follows the honest answer and is in nothing that the model was sent."""
    spoilt = spoil(EN, "invented")

    assert spoilt is not None
    assert spoilt.sentences == (*EN.sentences, spoilt.planted)
    assert spoilt.planted not in EN.received


@pytest.mark.parametrize("language", ["zh", "ja", "ru", "tr"])
def test_inventions_exist_in_every_language(language):
    """Chinese, Japanese and Russian answers get an invention of their language, others an English one."""
    spoilt = spoil(_draft(language, "x"), "invented")

    assert spoilt is not None
    assert spoilt.planted.isascii() == (language == "tr")


@pytest.mark.parametrize(
    ("draft", "planted"),
    [
        (EN, "The warranty is 24 months."),
        (_draft("en", "The laboratory in Bristol is closed."), "The laboratory in Chengdu is closed."),
        (_draft("zh", "存放在成都的机房。"), "存放在贵阳的机房。"),
        (_draft("zh", "保修期为三十六个月。", "十二个"), None),
        (_draft("en", "It is free of charge.", "24 months"), None),
        (_draft("en", "Bristol, Chengdu, Sapporo, Almaty."), None),
    ],
)
def test_swaps_take_an_entity_or_number_of_the_same_kind(draft, planted):
    """A name is swapped for another of its family, else a number for another received number of the same length."""
    spoilt = spoil(draft, "swapped")

    assert (spoilt and spoilt.planted) == planted


@pytest.mark.parametrize(
    ("language", "sentence", "planted"),
    [
        ("en", "You must not drive.", "You may drive."),
        ("en", "A certificate is needed from day four.", "A certificate is not needed from day four."),
        ("zh", "一律不得入内。", "一律可以入内。"),
        ("ja", "アルコールは使わないでください。", "アルコールは使ってください。"),
        ("ru", "Ремонт занимает 20 дней.", "Ремонт не занимает 20 дней."),
        ("en", "Nothing to deny here.", None),
        ("tr", "Garanti iki yıl.", None),
    ],
)
def test_contradictions_turn_a_sentence_round(language, sentence, planted):
    """A contradiction says the opposite of a received sentence; a sentence without a known phrase is left alone."""
    spoilt = spoil(_draft(language, sentence), "contradicted")

    assert (spoilt and spoilt.planted) == planted


def test_cut_text_is_used_where_there_is_some():
    """A sentence of text that was cut follows the honest answer."""
    spoilt = spoil(EN, "from_cut_text")

    assert spoilt is not None
    assert spoilt.planted == "Registering adds 12 months."
    assert spoil(_draft("en", "x"), "from_cut_text") is None


def test_kinds_come_evenly():
    """The kind that was planted least comes next, among those that the answer offers a place for."""
    ledger = Ledger()
    kinds = []
    for _ in range(4):
        spoilt = spoil_evenly(EN, ledger)
        assert spoilt is not None
        kinds.append(spoilt.kind)
        ledger.add(LedgerEntry(question="?", kind=spoilt.kind, planted=spoilt.planted, answer=""))

    assert kinds == ["invented", "swapped", "contradicted", "from_cut_text"]


def test_each_third_question_is_chosen():
    """The first and each third question after it are answered wrongly."""
    assert choose_questions(["a", "b", "c", "d"]) == {"a", "d"}
