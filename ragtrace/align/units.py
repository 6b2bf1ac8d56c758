"""Find each retrieved text in the prompt: all of it in a row, else its parts."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ragtrace.align.anchors import PromptIndex
from ragtrace.align.block import Block
from ragtrace.align.blocks import find_blocks
from ragtrace.align.chains import Chain, find_chains
from ragtrace.align.marks import DENSE
from ragtrace.align.skeleton import Skeleton

_ENOUGH, _LEAST = 32, 14
"""Letters in a row that are no accident; fewer are enough of a short text."""
_DENSITY = 2.5
"""How many letters of an alphabet one of another script is worth."""
_LOOKED_AT, _EVERY = 400, 8
_SEARCHED = 100_000_000
"""Letters (prompt × texts) up to which each text is searched as a whole; above, anchors must find it."""
_OCCURRENCES = 50
_SHORT = 16
"""Letters below which a text must not touch other letters: it might be part of a word."""


@dataclass(slots=True, kw_only=True)
class Unit:
    """What is known of one text, retrieved once or more often."""

    letters: str
    whole: list[Block] = field(default_factory=list)
    """Where all of it stands in a row."""
    chains: list[Chain] = field(default_factory=list)
    """Where parts of it stand."""
    kept: list[Block] = field(default_factory=list)
    """What of it was received, once other passages had their say."""

    weight: float = field(init=False)
    """How much a letter of this text says, beside one of an alphabet."""
    enough: int = field(init=False)
    """Letters in a row that are no accident."""

    def __post_init__(self) -> None:
        looked_at = self.letters[:_LOOKED_AT:_EVERY]
        dense = sum(char >= DENSE for char in looked_at) / max(1, len(looked_at))
        self.weight = 1 + (_DENSITY - 1) * dense
        self.enough = round(min(_ENOUGH, max(_LEAST, len(self.letters) // 20)) / self.weight)


class Search:
    """Looks for texts in one prompt; indexes it when the first text is not there as a whole."""

    __slots__ = ("_index", "prompt")

    def __init__(self, prompt: Skeleton) -> None:
        self.prompt = prompt
        self._index: PromptIndex | None = None

    def find(self, units: Sequence[Unit]) -> None:
        """Fill in where each unit, or parts of it, stand."""
        letters = self.prompt.letters
        if len(letters) * len(units) <= _SEARCHED:
            for unit in units:
                unit.whole = self._occurrences(unit.letters)
        broken = [unit for unit in units if not unit.whole and len(unit.letters) >= unit.enough]
        if not broken:
            return
        self._index = PromptIndex(letters, [unit.letters for unit in broken])
        for n, unit in enumerate(units):
            if not unit.whole and len(unit.letters) >= unit.enough:
                blocks = find_blocks(unit.letters, letters, self._index)
                unit.chains = find_chains(n, unit.letters, letters, blocks)

    def elsewhere(self, text: str) -> list[int]:
        """Return where else `text`, a part of a passage, stands in the prompt."""
        if self._index is None:
            return []
        for at in self._index.anchors(text[:_LOOKED_AT])[:1]:
            starts = (place - at for place in self._index.places(text, at))
            return [start for start in starts if start >= 0 and self.prompt.letters.startswith(text, start)]
        return []

    def _occurrences(self, text: str) -> list[Block]:
        letters = self.prompt.letters
        found: list[Block] = []
        at = letters.find(text)
        while at >= 0 and len(found) < _OCCURRENCES:
            if len(text) >= _SHORT or self.prompt.stands_alone(at, at + len(text)):
                found.append(Block(0, len(text), at))
            at = letters.find(text, at + len(text))
        return found
