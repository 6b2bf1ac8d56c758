"""Carry a stretch of a passage on across small obstacles: line numbers, masks, marks."""

from collections.abc import Iterator

from ragtrace.align.block import Block, same_ahead, same_behind

_PROBE = 8
"""Letters by which a passage is found again behind a small obstacle."""
_OBSTACLE = 48
"""Letters that an obstacle in the prompt has at most."""
_SKIPS = (0, 3, 6, 9, 12, 24)
"""Letters of the passage that an obstacle may have replaced."""


def ahead(letters: str, prompt: str, block: Block) -> Iterator[Block]:
    """Yield what carries on behind `block`, in stretches however short, such as numbered lines of code."""
    at, place = block.end, block.place_end
    while found := _next(letters[at : at + _SKIPS[-1] + _PROBE], prompt[place : place + _OBSTACLE + _PROBE]):
        at, place = at + found[0], place + found[1]
        same = same_ahead(letters, at, prompt, place)
        yield Block(at, at + same, place)
        at, place = at + same, place + same


def behind(letters: str, prompt: str, block: Block) -> list[Block]:
    """Return what leads up to `block`, in passage order."""
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


def between(letters: str, prompt: str, last: Block, following: Block) -> Iterator[Block]:
    """Yield what is the same between two stretches, too short to have been found before."""
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


def _next(letters: str, window: str) -> tuple[int, int] | None:
    """Find the nearest of `letters` that stand in `window`; return both offsets."""
    for skip in _SKIPS:
        probe = letters[skip : skip + _PROBE]
        found = window.find(probe) if len(probe) == _PROBE else -1
        if found >= 0:
            return skip, found
    return None
