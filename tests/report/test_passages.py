"""What became of each passage."""

from dataclasses import replace

import pytest

from ragtrace.model import PIECE_SEPARATOR, PassageDelivery, TextSpan
from ragtrace.report.content import ShownPassage, TextPiece
from ragtrace.report.outcome import Outcome
from ragtrace.report.passages import LONGEST_PIECE, pieces, show_passages
from tests.build import absent, head, passage, whole
from tests.report.samples import claim, contradicted, sentences

NOTHING = Outcome(value="scored")


def test_each_passage_is_whole_cut_or_dropped():
    """A page shows what arrived and what did not, in the order of the text, and how much of it."""
    shown = show_passages(
        [whole("All of it.", id="a"), head("Half of it.", 4, id="b"), absent("None of it.", id="c")], NOTHING
    )

    assert shown == (
        ShownPassage(
            number=1, id="a", fate="received", share=1.0, pieces=(TextPiece(text="All of it.", arrived=True),)
        ),
        ShownPassage(
            number=2,
            id="b",
            fate="cut",
            share=0.5,
            pieces=(TextPiece(text="Half", arrived=True), TextPiece(text=" of it.", arrived=False)),
        ),
        ShownPassage(
            number=3, id="c", fate="dropped", share=0.0, pieces=(TextPiece(text="None of it.", arrived=False),)
        ),
    )


@pytest.mark.parametrize(("status", "fate"), [("transformed", "changed"), ("undetermined", "unknown")])
def test_text_is_not_struck_where_its_fate_is_not_known(status, fate):
    """A passage that was rewritten, or could not be placed, has no share and nothing struck through."""
    (shown,) = show_passages([PassageDelivery(passage=passage("Text."), status=status)], NOTHING)

    assert (shown.fate, shown.share, shown.pieces) == (fate, None, (TextPiece(text="Text.", arrived=True),))


def test_fragments_alternate():
    """A passage of which two stretches arrived shows five pieces, its beginning cut."""
    spans = (
        TextSpan(passage_start=2, passage_end=4, prompt_start=0, prompt_end=2),
        TextSpan(passage_start=6, passage_end=8, prompt_start=9, prompt_end=11),
    )
    delivery = PassageDelivery(passage=passage("0123456789"), status="partial", kind="fragments", spans=spans)

    assert [(p.text, p.arrived) for p in pieces(delivery)] == [
        ("01", False),
        ("23", True),
        ("45", False),
        ("67", True),
        ("89", False),
    ]
    assert delivery.received_text == PIECE_SEPARATOR.join(["23", "67"])


def test_evidence_marks_passages():
    """A passage says whether the answer rests on it, contradicts it, or misses what was cut of it."""
    call = contradicted()
    outcome = call.record.outcome
    assert call.call.delivery is not None
    assert outcome is not None
    shown = show_passages(call.call.delivery.passages, outcome)

    assert [(p.supports, p.contradicts, p.holds_reference) for p in shown] == [
        (True, True, False),
        (False, False, True),
        (False, False, False),
    ]


def test_withheld_evidence_of_a_held_claim_marks_nothing():
    """Cut text that repeats what arrived anyway is no loss."""
    outcome = replace(NOTHING, reference=sentences("A.", ("A.", claim("supported", evidence=[0], withheld=[1]))))

    assert [p.holds_reference for p in show_passages([whole("A."), absent("A.")], outcome)] == [False, False]


def test_long_texts_are_shortened_and_counted():
    """A page shows the beginning of a very long passage and says how much it leaves out."""
    (shown,) = show_passages([whole("x" * (LONGEST_PIECE + 100))], NOTHING)

    assert (len(shown.pieces[0].text), shown.left_out) == (LONGEST_PIECE, 100)
