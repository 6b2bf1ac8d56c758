"""Join the stretches of a passage that follow each other in the prompt, across obstacles between them."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ragtrace.align.blocks import REACH, Block, continues, same_ahead, same_behind

_PROBE = 8
"""Letters by which a passage is found again behind a small obstacle."""
_OBSTACLE = 48
"""Letters that an obstacle in the prompt has at most."""
_SKIPS = (0, 3, 6, 9, 12, 24)
"""Letters of the passage that an obstacle may have replaced."""
_EDGE = 3
_FILLED = 12
"""Letters missing on both sides from which on something between may be the same."""


class Chain(NamedTuple):
    """Blocks of one passage that carry on from each other."""

    passage: int
    blocks: tuple[Block, ...]
    letters: int
    """Letters that are the same."""


def find_chains(passage: int, letters: str, prompt: str, blocks: Sequence[Block], *, reach: int = REACH) -> list[Chain]:
    """Group `blocks` and add the short stretches before, between and behind them."""
    chains = []
    for group in _groups(blocks, reach):
        filled = _filled(letters, prompt, group)
        filled = [*_before(letters, prompt, filled[0]), *filled, *_behind(letters, prompt, filled[-1])]
        chains.append(Chain(passage, tuple(filled), sum(block.end - block.start for block in filled)))
    return chains


def _groups(blocks: Sequence[Block], reach: int) -> Iterator[list[Block]]:
    group: list[Block] = []
    for block in blocks:
        if group and not continues(block, group[-1], reach=reach):
            yield group
            group = []
        group.append(block)
    if group:
        yield group


def _filled(letters: str, prompt: str, group: list[Block]) -> list[Block]:
    filled = group[:1]
    for block in group[1:]:
        last = filled[-1]
        if min(block.start - last.end, block.place - last.place_end) >= _FILLED:
            filled += _between(letters, prompt, last, block)
        filled.append(block)
    return filled


def _between(letters: str, prompt: str, last: Block, following: Block) -> Iterator[Block]:
    at, place = last.end, last.place_end
    while at + _PROBE <= following.start:
        found = prompt.find(letters[at : at + _PROBE], place, following.place)
        if found < 0:
            at += 1
            continue
        same = same_ahead(letters, at, prompt, found)
        same = min(same, following.start - at, following.place - found)
        yield Block(at, at + same, found)
        at, place = at + same, found + same


def _behind(letters: str, prompt: str, block: Block) -> Iterator[Block]:
    """Yield what carries on from `block` in stretches too short for anchors, such as numbered lines of code."""
    at, place = block.end, block.place_end
    while found := _next(letters[at : at + _SKIPS[-1] + _PROBE], prompt[place : place + _OBSTACLE + _PROBE]):
        at, place = at + found[0], place + found[1]
        same = same_ahead(letters, at, prompt, place)
        yield Block(at, at + same, place)
        at, place = at + same, place + same


def _next(letters: str, window: str) -> tuple[int, int] | None:
    """Find the nearest of `letters` that stand in `window`; return both offsets."""
    if len(letters) < _PROBE:
        # At the edge of a passage a few letters say enough, close by.
        found = window[: len(letters) + _PROBE].find(letters) if len(letters) >= _EDGE else -1
        return (0, found) if found >= 0 else None
    for skip in _SKIPS:
        probe = letters[skip : skip + _PROBE]
        found = window.find(probe) if len(probe) == _PROBE else -1
        if found >= 0:
            return skip, found
    return None


def _before(letters: str, prompt: str, block: Block) -> list[Block]:
    blocks: list[Block] = []
    at, place = block.start, block.place
    while found := _next(
        letters[max(0, at - _SKIPS[-1] - _PROBE) : at][::-1], prompt[max(0, place - _OBSTACLE - _PROBE) : place][::-1]
    ):
        at, place = at - found[0], place - found[1]
        same = same_behind(letters, at, prompt, place, most=at)
        blocks.append(Block(at - same, at, place - same))
        at, place = at - same, place - same
    return blocks[::-1]
