"""Placing what was left open when a prompt was captured."""

import json

from ragtrace.align import full, place_rest, quick
from ragtrace.model import Delivery, Passage, PromptPiece

A = (
    "The station is covered for 36 months, counted from the invoice date. Batteries are covered for 24 months. "
    "A repair within the warranty is free of charge, and so is the way back to the customer."
)
B = (
    "Every employee has 28 days of leave a year. Up to five of them may be carried over, if that was agreed with "
    "the manager in writing. Days that were not taken by the end of March are lost."
)
C = "Journeys of more than four hours are made by train. Receipts must be uploaded within 30 days of the journey."


def _passages(*texts: str) -> list[Passage]:
    return [Passage(text=text, rank=n) for n, text in enumerate(texts)]


def _kept(delivery: Delivery, parts: list[str]) -> list[PromptPiece]:
    prompt = "\n".join(parts)
    return [PromptPiece(text=prompt[start:end], start=start) for start, end in delivery.unknown_spans]


def test_open_passages_are_placed_in_what_was_kept():
    """The scorer finishes what the application left open, and gets what it would have got from the whole prompt."""
    lines = "\n".join(f"{n}: {line}" for n, line in enumerate(B.split(". "), 1))
    parts = ["Answer with the context.", f"[1] {A}\n\n[2] {lines}\n\nQuestion: why?"]
    passages = _passages(A, B, C)
    delivery = quick(passages, parts)

    finished = place_rest(delivery, _kept(delivery, parts))

    assert [placed.status for placed in delivery.passages] == ["full", "undetermined", "absent"]
    assert finished.passages[0] == delivery.passages[0]
    assert finished.passages[1] == full(passages, parts).passages[1]
    assert finished.prompt_order == (0, 1)
    assert "\n".join(parts)[slice(*finished.unknown_spans[0])].startswith("Answer with the context.")


def test_nothing_open_changes_nothing():
    """A delivery that was finished in the application stays as it is."""
    delivery = quick(_passages(A), [A])

    assert place_rest(delivery, []) is delivery


def test_what_an_open_passage_shares_with_a_placed_neighbour_is_seen():
    """An open passage receives what overlaps with a passage that was placed before, at that place."""
    text = f"{A} {B} {C}"
    chunks = [text[:250], text[190:400], text[340:]]
    parts = [f"{chunks[0]}\n\nAnd: {json.dumps(chunks[1][100:140])}"]
    delivery = quick(_passages(*chunks), parts)

    finished = place_rest(delivery, _kept(delivery, parts))

    assert [placed.status for placed in delivery.passages][:2] == ["full", "undetermined"]
    assert finished.passages[1].spans[0].passage_start == 0
    assert finished.passages[1].spans[0].prompt_start == 190


def test_collapsed_passages_keep_their_place():
    """Where a placed passage stands in the prompt without its line breaks, offsets still fit."""
    passages = _passages(A.replace(". ", ".\n\n   "), B, A[:150] + "\n" + C)
    flat = " ".join(passages[0].text.split())
    parts = [f"{flat}\n\n{flat[40:90]}\n1: {B[:60]}\n2: {B[60:]}"]
    delivery = quick(passages, parts)

    finished = place_rest(delivery, _kept(delivery, parts))

    prompt = "\n".join(parts)
    span = finished.passages[1].spans[0]
    assert finished.passages[1].status == "full"
    assert prompt[span.prompt_start : span.prompt_end].startswith(B[:60])


def test_overlapping_places_are_rebuilt_once():
    """Two placed passages that share a stretch of the prompt do not double it."""
    text = f"{A} {B}"
    chunks = [text[:220], text[160:], text[180:210], C]
    parts = [f"{text}\n1) {C[:50]}\n2) {C[50:]}"]
    delivery = quick(_passages(*chunks), parts)

    finished = place_rest(delivery, _kept(delivery, parts))

    assert [placed.status for placed in finished.passages] == ["full"] * 4
    assert [placed.copies for placed in finished.passages] == [1] * 4
