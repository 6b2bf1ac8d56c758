"""Show what became of each retrieved passage."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from ragtrace.model import PassageDelivery
from ragtrace.report.content import Fate, ShownPassage, TextPiece
from ragtrace.report.outcome import Outcome, StoredSentence

LONGEST_PIECE = 2_400
"""Characters of one stretch of passage text that a page shows."""
_FATES: dict[str, Fate] = {
    "full": "received",
    "partial": "cut",
    "absent": "dropped",
    "transformed": "changed",
    "undetermined": "unknown",
}


def show_passages(deliveries: Sequence[PassageDelivery], outcome: Outcome) -> tuple[ShownPassage, ...]:
    """Return the passages in retrieved order, marked where the answer rests on them or says otherwise."""
    supporting = _evidence(outcome.answer, "supported")
    contradicting = _evidence(outcome.answer, "contradicted")
    missed = [claim for s in outcome.reference for claim in s.claims if claim.verdict != "supported"]
    holding = {index for claim in missed for index in claim.withheld_evidence}
    return tuple(
        replace(
            _show(delivery, number=index + 1),
            supports=index in supporting,
            contradicts=index in contradicting,
            holds_reference=index in holding,
        )
        for index, delivery in enumerate(deliveries)
    )


def pieces(delivery: PassageDelivery) -> tuple[TextPiece, ...]:
    """Cut a passage into stretches that arrived and stretches that did not, in order, nothing left out."""
    text = delivery.passage.text
    if delivery.status != "partial":
        return (TextPiece(text=text, arrived=delivery.status != "absent"),)
    places = [0, *(place for span in delivery.spans for place in (span.passage_start, span.passage_end)), len(text)]
    return tuple(
        TextPiece(text=text[start:end], arrived=bool(number % 2))
        for number, (start, end) in enumerate(pairwise(places))
        if end > start
    )


def _show(delivery: PassageDelivery, *, number: int) -> ShownPassage:
    whole = pieces(delivery)
    shown = tuple(TextPiece(text=_shorten(piece.text), arrived=piece.arrived) for piece in whole)
    return ShownPassage(
        number=number,
        id=delivery.passage.id,
        fate=_FATES[delivery.status],
        share=delivery.coverage if delivery.status in ("full", "partial", "absent") else None,
        pieces=shown,
        left_out=max(0, sum(len(piece.text) for piece in whole) - sum(len(piece.text) for piece in shown)),
        copies=delivery.copies,
    )


def _shorten(text: str) -> str:
    return text if len(text) <= LONGEST_PIECE else text[: LONGEST_PIECE - 1] + "…"


def _evidence(sentences: Iterable[StoredSentence], verdict: str) -> set[int]:
    return {index for s in sentences for claim in s.claims if claim.verdict == verdict for index in claim.evidence}
