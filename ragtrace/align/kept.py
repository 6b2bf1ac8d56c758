"""Finish the placing of passages from what was kept of a prompt."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragtrace.align.full import full
from ragtrace.align.spans import merged, prompt_order, unknown
from ragtrace.model import Delivery, PassageDelivery, PromptPiece, TextSpan


def place_rest(delivery: Delivery, rest: Sequence[PromptPiece]) -> Delivery:
    """Place the `undetermined` passages of `delivery` in the kept pieces of its prompt.

    Passages placed before stay as they are; where they stand, the prompt is rebuilt from their text, so that
    what an open passage shares with them is seen.
    """
    if all(placed.status != "undetermined" for placed in delivery.passages):
        return delivery
    pieces = _pieces(delivery, rest)
    rebuilt = _Rebuilt(pieces)
    found = full([placed.passage for placed in delivery.passages], [piece.text for piece in pieces]).passages
    passages = tuple(
        rebuilt.led_back(new) if old.status == "undetermined" else old
        for old, new in zip(delivery.passages, found, strict=True)
    )
    return Delivery(
        passages=passages, prompt_order=prompt_order(passages), unknown_spans=tuple(_unknown(passages, rest))
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """Known text of the prompt."""

    start: int
    end: int
    """Where it stands in the whole prompt; white space may have been another there."""
    text: str


class _Rebuilt:
    """The kept prompt, its pieces one after the other, and the way back to the whole one."""

    __slots__ = ("_pieces", "_starts")

    def __init__(self, pieces: Sequence[_Piece]) -> None:
        self._pieces = pieces
        self._starts: list[int] = []
        at = 0
        for piece in pieces:
            self._starts.append(at)
            at += len(piece.text) + 1

    def led_back(self, placed: PassageDelivery) -> PassageDelivery:
        spans = tuple(
            TextSpan(
                passage_start=span.passage_start,
                passage_end=span.passage_end,
                prompt_start=self._offset(span.prompt_start),
                prompt_end=self._offset(span.prompt_end - 1) + 1,
            )
            for span in placed.spans
        )
        return replace(placed, spans=spans)

    def _offset(self, offset: int) -> int:
        n = bisect_right(self._starts, offset) - 1
        piece = self._pieces[n]
        inside = (offset - self._starts[n]) * (piece.end - piece.start) // max(1, len(piece.text))
        return min(piece.start + inside, piece.end - 1)


def _pieces(delivery: Delivery, rest: Sequence[PromptPiece]) -> list[_Piece]:
    known = [_Piece(start=piece.start, end=piece.start + len(piece.text), text=piece.text) for piece in rest]
    for placed in delivery.passages:
        known += (
            _Piece(
                start=span.prompt_start,
                end=span.prompt_end,
                text=placed.passage.text[span.passage_start : span.passage_end],
            )
            for span in placed.spans
        )
    pieces: list[_Piece] = []
    for piece in sorted(known, key=lambda piece: (piece.start, -piece.end)):
        covered = pieces[-1].end if pieces else 0
        if piece.end <= covered:
            continue
        if piece.start < covered:
            cut = (covered - piece.start) * len(piece.text) // (piece.end - piece.start)
            piece = _Piece(start=covered, end=piece.end, text=piece.text[cut:])
        pieces.append(piece)
    return pieces


def _unknown(passages: Sequence[PassageDelivery], rest: Sequence[PromptPiece]) -> list[tuple[int, int]]:
    known = merged((span.prompt_start, span.prompt_end) for placed in passages for span in placed.spans)
    left: list[tuple[int, int]] = []
    for piece in rest:
        end = piece.start + len(piece.text)
        inside = [
            (max(a, piece.start) - piece.start, min(b, end) - piece.start)
            for a, b in known
            if a < end and b > piece.start
        ]
        left += ((start + piece.start, stop + piece.start) for start, stop in unknown(piece.text, inside))
    return left
