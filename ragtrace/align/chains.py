"""Join the stretches of a passage that follow each other in the prompt."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ragtrace.align.block import Block
from ragtrace.align.blocks import continues
from ragtrace.align.resync import ahead, behind, between

_FILLED = 12
"""Letters missing on both sides from which on something between may be the same."""
_TINY = 8
"""Letters below which a block at the end of a chain must stand next to it: names stand again after a cut, too."""


class Chain(NamedTuple):
    """Blocks of one passage that carry on from each other."""

    passage: int
    blocks: tuple[Block, ...]
    letters: int
    """Letters that are the same."""


def find_chains(passage: int, letters: str, prompt: str, blocks: Sequence[Block]) -> list[Chain]:
    """Group `blocks` and add the short stretches before, between and behind them."""
    chains = []
    for group in _groups(blocks):
        filled = _filled(letters, prompt, group)
        filled = [*behind(letters, prompt, filled[0]), *filled, *ahead(letters, prompt, filled[-1])]
        chains.append(Chain(passage, tuple(filled), sum(block.end - block.start for block in filled)))
    return chains


def _groups(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    group: list[Block] = []
    for block in blocks:
        if group and not continues(block, group[-1]):
            yield _without_tiny_ends(group)
            group = []
        group.append(block)
    if group:
        yield _without_tiny_ends(group)


def _without_tiny_ends(group: list[Block]) -> list[Block]:
    while len(group) > 1 and _is_accident(group[-1], _gap(group[-2], group[-1])):
        group.pop()
    while len(group) > 1 and _is_accident(group[0], _gap(group[0], group[1])):
        del group[0]
    return group


def _is_accident(block: Block, gap: int) -> bool:
    return block.end - block.start < min(_TINY, gap)


def _gap(block: Block, following: Block) -> int:
    return max(following.start - block.end, following.place - block.place_end)


def _filled(letters: str, prompt: str, group: list[Block]) -> list[Block]:
    filled = group[:1]
    for block in group[1:]:
        last = filled[-1]
        if min(block.start - last.end, block.place - last.place_end) >= _FILLED:
            filled += between(letters, prompt, last, block)
        filled.append(block)
    return filled
