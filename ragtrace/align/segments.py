"""Put what was kept of a passage together again, across what a template replaced, inserted or stripped."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from ragtrace.align.block import Block
from ragtrace.align.blocks import REACH
from ragtrace.align.skeleton import Skeleton, count_letters

_TRIFLE = 12
"""Missing letters that are no loss: a language name, a footnote mark."""
_REPLACED = 40
"""Missing letters that something else may stand for."""
_MASK = re.compile(r"([*█▇■▓●#xX_])\1\1")
_OMISSION = re.compile(r"…|\.\.\.|\. \. \.")
MARKUP = re.compile(r"\]\([^)\s]*\)?|\w+://\S+|</?\w[^<>]*>|!\[[^\]]*\]?")
_LONGEST_MARKUP = 400


class Segment(NamedTuple):
    """Letters `start`–`end` of a passage were received, at letters `place`–`place_end` of the prompt."""

    start: int
    end: int
    place: int
    place_end: int


def join(blocks: Iterable[Block], passage: Skeleton, prompt: Skeleton) -> list[Segment]:
    """Return `blocks` in passage order, joined where nothing worth mentioning is missing between them."""
    segments: list[Segment] = []
    for block in sorted(blocks):
        last = segments[-1] if segments else None
        if last and block.start < last.end:
            if block.end <= last.end:
                continue
            block = block.cut(last.end, block.end)
        if last and _is_joined(last, block, passage, prompt):
            segments[-1] = Segment(last.start, block.end, last.place, block.place_end)
        else:
            segments.append(Segment(block.start, block.end, block.place, block.place_end))
    return segments


def _is_joined(last: Segment, block: Block, passage: Skeleton, prompt: Skeleton) -> bool:
    missing, inserted = block.start - last.end, block.place - last.place_end
    if not 0 <= inserted <= REACH or missing > _LONGEST_MARKUP:
        return False
    if not missing:
        return True
    instead = prompt.between(last.place_end, block.place)
    if _OMISSION.search(instead):
        return False
    if missing <= _TRIFLE or (missing <= _REPLACED and (inserted or _MASK.search(instead))):
        return True
    return not inserted and count_letters(MARKUP.sub("", passage.between(last.end, block.start))) <= _TRIFLE
