"""Decide which passage a stretch of the prompt comes from, where several have the same text."""

from bisect import bisect_right, insort
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from ragtrace.align.block import Block

_OWN = 16
"""Letters of its own beside another's that make a passage the likelier source of both."""

_GLANCE = 24

Relation = Literal["neighbours", "holds", "unrelated"]
"""Neighbours overlap by an end, or the other holds this one; `holds`: this one holds the other and more."""


class Claim(NamedTuple):
    """A stretch of the prompt that a passage explains."""

    start: int
    end: int
    passage: int
    offset: int
    """Letter of the passage that stands at `start`."""


class Claims:
    """Who explains what; whoever claims first, keeps."""

    __slots__ = ("_claims", "_letters", "_relations")

    def __init__(self, letters: Sequence[str]) -> None:
        self._letters = letters
        self._claims: list[Claim] = []
        self._relations: dict[tuple[int, int, int], Relation] = {}

    def free(self, block: Block) -> int:
        """Return how many letters of the prompt under `block` nobody has claimed."""
        taken = sum(min(c.end, block.place_end) - max(c.start, block.place) for c in self._under(block))
        return block.end - block.start - taken

    def allowed(self, passage: int, block: Block, *, has_own: bool) -> list[Block]:
        """Return the parts of `block` that `passage` may have: free, or shared with a neighbour that overlaps it."""
        parts = []
        at = block.place
        for claim in self._under(block):
            if not self._may_share(passage, block, claim, has_own=has_own):
                parts.append((at, claim.start))
                at = claim.end
        parts.append((at, block.place_end))
        shift = block.start - block.place
        return [Block(start + shift, end + shift, start) for start, end in parts if end > start]

    def is_free(self, start: int, end: int) -> bool:
        """Tell whether nobody has claimed anything from `start` to `end`."""
        at = bisect_right(self._claims, (start,))
        begins_inside = at < len(self._claims) and self._claims[at].start < end
        return not begins_inside and (not at or self._claims[at - 1].end <= start)

    def add(self, passage: int, block: Block) -> None:
        """Claim what is free under `block`."""
        at = block.place
        under = list(self._under(block))
        for start, end in [*((claim.start, claim.end) for claim in under), (block.place_end, block.place_end)]:
            if start > at:
                insort(self._claims, Claim(at, start, passage, block.start + at - block.place))
            at = max(at, end)

    def add_row(self, passage: int, blocks: Sequence[Block]) -> None:
        """Claim what is under `blocks`, which follow each other where everything is free."""
        at = bisect_right(self._claims, (blocks[0].place,))
        self._claims[at:at] = [Claim(block.place, block.place_end, passage, block.start) for block in blocks]

    def _under(self, block: Block) -> Iterator[Claim]:
        at = max(0, bisect_right(self._claims, (block.place,)) - 1)
        while at < len(self._claims) and self._claims[at].start < block.place_end:
            if self._claims[at].end > block.place:
                yield self._claims[at]
            at += 1

    def _may_share(self, passage: int, block: Block, claim: Claim, *, has_own: bool) -> bool:
        # Where the claiming passage would begin, in letters of this one.
        shift = block.start - block.place + claim.start - claim.offset
        if claim.passage == passage:
            return shift == 0
        relation = self._relation(passage, claim.passage, shift)
        return relation == "neighbours" or (relation == "holds" and has_own)

    def _relation(self, passage: int, other: int, shift: int) -> Relation:
        key = (passage, other, shift)
        if key not in self._relations:
            self._relations[key] = _relation(self._letters[passage], self._letters[other], shift)
        return self._relations[key]


def _relation(text: str, other: str, shift: int) -> Relation:
    """Compare `text` with `other` laid so that `other` begins at `shift` of `text`."""
    start, end = max(0, shift), min(len(text), shift + len(other))
    # Most differ at once; comparing all of it would copy it.
    for at in (start, max(start, end - _GLANCE)):
        if text[at : min(end, at + _GLANCE)] != other[at - shift : min(end, at + _GLANCE) - shift]:
            return "unrelated"
    if start >= end or text[start:end] != other[start - shift : end - shift]:
        return "unrelated"
    if end - start == len(other) < len(text):
        return "holds"
    return "unrelated" if shift == 0 and end - start < len(text) else "neighbours"
