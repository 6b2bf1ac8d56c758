"""What is placed in the application, at little cost and for certain."""

import random

import pytest

from ragtrace.align import quick
from ragtrace.model import Delivery, Passage, PassageDelivery, TextSpan

WARRANTY = (
    "The station is covered for 36 months, counted from the invoice date.\nBatteries are covered for 24 months. "
    "A repair within the warranty is free of charge, and so is the way back to the customer.\n\nDamage by lightning "
    "is not covered, and neither is damage by animals, unless the guard was mounted as the manual shows it."
)
LEAVE = (
    "Every employee has 28 days of leave a year. Up to five of them may be carried over, if that was agreed with "
    "the manager in writing.\nDays that were not taken by the end of March are lost. Parents can take another ten "
    "days for a sick child and are paid in full, as long as a doctor has signed the form."
)
TRAVEL = (
    "Journeys of more than four hours are made by train. Use of your own car is paid with 45 pence a mile, if the "
    "travel desk agreed.\nReceipts must be uploaded within 30 days, or the claim expires and nothing is paid back."
)


def _passages(*texts: str) -> list[Passage]:
    return [Passage(text=text, rank=n) for n, text in enumerate(texts)]


def _labels(delivery: Delivery) -> list[str]:
    return [placed.kind or placed.status for placed in delivery.passages]


def test_whole_passages_are_placed_with_their_spans():
    """A passage that stands in the prompt is full, and its span says where."""
    (passage,) = _passages(WARRANTY)

    delivery = quick([passage], ["Context:", f"[1] {WARRANTY}\n\nWhy?"])

    span = TextSpan(passage_start=0, passage_end=len(WARRANTY), prompt_start=13, prompt_end=13 + len(WARRANTY))
    assert delivery == Delivery(
        passages=(PassageDelivery(passage=passage, status="full", coverage=1.0, spans=(span,)),),
        prompt_order=(0,),
        unknown_spans=((0, 12), (13 + len(WARRANTY) + 2, 13 + len(WARRANTY) + 6)),
    )


@pytest.mark.parametrize("is_collapsed", [False, True])
def test_heads_tails_and_missing_passages_are_told_apart(is_collapsed: bool):
    """A cut passage is a head or a tail, a passage that left no trace is absent, with or without its line breaks."""
    head, tail = WARRANTY[:150], LEAVE[-160:]
    if is_collapsed:
        head, tail = " ".join(head.split()), " ".join(tail.split())

    delivery = quick(_passages(WARRANTY, LEAVE, TRAVEL), [f"[1] {tail}\n[2] {head}\n\nWhy?"])

    assert _labels(delivery) == ["head", "tail", "absent"]
    assert delivery.prompt_order == (1, 0)
    assert [placed.received_text.split() for placed in delivery.passages] == [head.split(), tail.split(), []]


def test_both_ends_of_a_passage_are_fragments():
    """A passage cut in its middle keeps both ends as fragments."""
    delivery = quick(_passages(WARRANTY), [f"{WARRANTY[:100]} … {WARRANTY[-110:]}"])

    assert _labels(delivery) == ["fragments"]
    assert delivery.passages[0].received_text == f"{WARRANTY[:100]}\n[…]\n{WARRANTY[-110:]}"


def test_what_is_not_certain_is_undetermined():
    """A passage that may be there in pieces, or in other words, is left to the thorough search."""
    pieces = f"{WARRANTY[120:180]} ... {WARRANTY[20:70]}"
    summary = "Stations: 36 months, batteries: 24. " * 8

    assert _labels(quick(_passages(WARRANTY), [pieces])) == ["undetermined"]
    assert _labels(quick(_passages(WARRANTY), [summary])) == ["undetermined"]


def test_cut_look_alikes_are_undetermined():
    """Where two versions begin the same and the prompt has one beginning, neither is named."""
    other = WARRANTY.replace("animals", "rodents")

    delivery = quick(_passages(WARRANTY, other), [WARRANTY[:150]])

    assert _labels(delivery) == ["undetermined", "undetermined"]


def test_neighbours_share_what_they_overlap_by():
    """The end of a passage that stands in the prompt as the beginning of its neighbour was received."""
    text = f"{WARRANTY} {LEAVE}"
    first, second = text[:350], text[270:560]

    delivery = quick(_passages(first, second), [second])

    assert _labels(delivery) == ["tail", "full"]
    assert delivery.passages[0].received_text == text[270:350]


def test_copies_are_counted():
    """A passage that stands in the prompt twice has two copies; retrieved twice, both have."""
    twice = quick(_passages(WARRANTY), [f"{WARRANTY}\n\n{WARRANTY}"])
    both = quick(_passages(WARRANTY, WARRANTY), [f"{WARRANTY}\n\n{WARRANTY}"])

    assert [placed.copies for placed in twice.passages] == [2]
    assert [placed.copies for placed in both.passages] == [2, 2]
    assert twice.unknown_spans == both.unknown_spans == ()


def test_blank_and_short_passages():
    """A passage without letters is absent; a word counts only where it is no part of another word."""
    delivery = quick(_passages(" \n", "---", "no", "Bristol"), ["Do you know the office in Bristol? ---"])

    assert _labels(delivery) == ["absent", "absent", "undetermined", "full"]


def test_nothing_retrieved_and_nothing_sent():
    """No passages, or no prompt, is a delivery too."""
    assert quick([], ["Why?"]) == Delivery(unknown_spans=((0, 4),))
    assert _labels(quick(_passages(WARRANTY), [])) == ["absent"]


def test_large_prompts_are_searched_by_an_index():
    """Near-alike passages in any order are placed or left to the scorer, never taken for cut or sent."""
    texts = [f"Rule {n}: " + " ".join(f"{LEAVE[i:]}{n * 7 + i}" for i in range(0, 40, 10)) for n in range(60)]
    sent = [*texts[40:50], *(text[:600] for text in texts[20:30]), *(text[-500:] for text in texts[:10])]

    delivery = quick(_passages(*texts), ["\n\n".join(reversed(sent))])

    assert set(_labels(delivery)[40:50]) <= {"full", "undetermined"}
    assert set(_labels(delivery)[50:]) <= {"absent", "undetermined"}


_HEADINGS = {
    "none": lambda _n: "",
    "number": lambda n: f"[{n}] ",
    "source": lambda n: f"Source: https://example.com/{'a' * (n * 7 % 90)}\nTitle: no. {n}\n\n",
}


@pytest.mark.parametrize("alphabet", ["etaoinshrdlu", "оеаинтсрвлкм", "天地玄黄宇宙洪荒日月盈昃"])
@pytest.mark.parametrize("heading", _HEADINGS)
@pytest.mark.parametrize("cut", [False, True])
def test_passages_that_follow_each_other_in_a_large_prompt_are_placed(alphabet: str, heading: str, cut: bool):
    """In any order, behind any heading, whole or only their heads, some of them twice: each is placed where it is."""
    rng = random.Random(f"{alphabet}{heading}{cut}")
    texts = [" ".join("".join(rng.choices(alphabet, k=rng.randint(3, 9))) for _ in range(400)) for _ in range(70)]
    texts[60:] = texts[:10]
    sent = [text[: len(text) // (3 if cut and n >= 10 else 1)] for n, text in enumerate(texts[:50])] + texts[60:]
    rng.shuffle(sent)
    prompt = "\n\n".join(_HEADINGS[heading](n) + text for n, text in enumerate(sent))

    delivery = quick(_passages(*texts), ["Answer from the context.", prompt])

    wholes = set(sent)
    for text, label in zip(texts, _labels(delivery), strict=True):
        head = any(text.startswith(one) for one in sent)
        assert label == ("full" if text in wholes else "head" if head else "absent")
    places = [span.prompt_start for placed in delivery.passages for span in placed.spans]
    assert len(set(places)) == len(places) == 60


def test_the_whole_text_wins_over_its_beginning_elsewhere():
    """A passage that the prompt also quotes the beginning of is full, wherever the prompt's order leads first."""
    rng = random.Random(5)
    texts = [" ".join("".join(rng.choices("etaoinshrdlu", k=7)) for _ in range(400)) for _ in range(70)]
    prompt = "\n\n".join(["Answer. " * 60, texts[0][:900], *texts[1:], texts[0]])

    assert set(_labels(quick(_passages(*texts), [prompt]))) == {"full"}


def test_large_mixed_prompts_are_searched_by_an_index():
    """Passages of two scripts in one large prompt are found, or left to the scorer."""
    chinese = [f"第{n}条：" + "".join(chr(0x4E00 + (n * 97 + i * 31) % 5000) for i in range(900)) for n in range(40)]
    english = [" ".join(f"{chr(97 + (n * i) % 26)}word{(n * 31 + i * i) % 977}" for i in range(150)) for n in range(40)]

    delivery = quick(_passages(*chinese, *english), ["\n".join([*reversed(english), *reversed(chinese)])])

    assert set(_labels(delivery)) <= {"full", "undetermined"}


def test_tables_are_found_among_prose_in_large_prompts():
    """A table without the letters by which a large prompt is indexed is searched for, as long as there are few."""
    prose = [" ".join(f"{LEAVE[i:]}{n * 7 + i}" for i in range(0, 40, 10)) for n in range(60)]
    tables = ["\n".join(f"| {n + i} | {i * i * n} | -- |" for i in range(120)) for n in range(3, 15)]

    delivery = quick(_passages(*tables, *prose), ["\n\n".join([*tables[:6], *prose])])

    assert set(_labels(delivery)[:6]) == {"full"}
    assert set(_labels(delivery)[6:12]) <= {"absent", "undetermined"}


@pytest.mark.parametrize("letter", ["a", "ж"])
def test_long_passages_are_looked_for_by_samples(letter: str):
    """A long passage that may stand there in pieces is left to the scorer; one of which nothing does is absent."""
    sent, dropped = (
        " ".join(f"{letter}{(n * n + i * 7919) % 99_991}{letter * (n % 5)}" for n in range(900)) for i in (1, 2)
    )
    lines = "\n".join(f"> {n} {sent[at : at + 90]}" for n, at in enumerate(range(0, len(sent), 90)))

    delivery = quick(_passages(sent, dropped, WARRANTY), [f"{WARRANTY}\n{lines}"])

    assert _labels(delivery)[0] == "undetermined"
    assert _labels(delivery)[2] == "full"
