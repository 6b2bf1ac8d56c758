"""Find the stretches of a passage that the prompt holds letter by letter."""

from bisect import bisect_left

from ragtrace.align.anchors import PromptIndex
from ragtrace.align.block import Block, same_ahead, same_behind
from ragtrace.align.resync import ahead

_CANDIDATES = 8
"""Places compared for one anchor."""
REACH = 200
"""Letters between two stretches up to which the second continues the first."""
_CONTINUES = 48
"""Letters that continuing is worth, when places compete."""
_BACK = 2048
"""Letters that a stretch may take back from those before it."""
_SLACK = 40
"""Letters that the passage may have more than the prompt between two stretches."""


def find_blocks(letters: str, prompt: str, index: PromptIndex) -> list[Block]:
    """Return blocks in passage order that do not overlap in the passage."""
    blocks: list[Block] = []
    anchors = index.anchors(letters)
    n = 0
    while (n := index.next_known(letters, anchors, n)) < len(anchors):
        at = anchors[n]
        places = index.places(letters, at)
        block = _best(letters, prompt, at, places=places, last=blocks[-1] if blocks else None)
        while blocks and block.start <= blocks[-1].start:
            blocks.pop()
        if blocks and block.start < blocks[-1].end:
            if blocks[-1].start + blocks[-1].end > 2 * block.start and _length(block) > _length(blocks[-1]):
                blocks.pop()
            else:
                block = block.cut(blocks[-1].end, block.end)
        blocks.append(block)
        if len(places) == 1:
            # Of look-alikes, the next anchor may name the right one; to carry on in the wrong one would hide that.
            blocks += _without_accident(letters, prompt, blocks, list(ahead(letters, prompt, block)))
        n = bisect_left(anchors, max(blocks[-1].end, at + 1), n)
    return _drawn_together(letters, prompt, blocks)


def _without_accident(letters: str, prompt: str, blocks: list[Block], carried: list[Block]) -> list[Block]:
    """Drop the last of `blocks` where what carries on from it reaches back further than it: it stood there by accident.

    The few letters of a key can stand again in a sentence that was cut off right before.
    """
    if not carried:
        return carried
    last, first = blocks[-1], carried[0]
    most = first.start - (blocks[-2].end if len(blocks) > 1 else 0)
    back = same_behind(letters, first.start, prompt, first.place, most=most)
    if back <= _length(last):
        return carried
    blocks.pop()
    return [Block(first.start - back, first.end, first.place - back), *carried[1:]]


def continues(block: Block, last: Block) -> bool:
    """Tell whether `block` carries on from `last`, in the passage and in the prompt."""
    return 0 <= block.place - last.place_end <= REACH and 0 <= block.start - last.end <= REACH


def _best(letters: str, prompt: str, at: int, *, places: list[int], last: Block | None) -> Block:
    expected = last.place_end + at - last.end if last else 0
    if len(places) > _CANDIDATES:
        places = sorted(places, key=lambda place: abs(place - expected))[:_CANDIDATES]
    most = at - last.end + _BACK if last else at
    best, best_score = Block(at, at, 0), -1
    for place in places:
        back = same_behind(letters, at, prompt, place, most=most)
        block = Block(at - back, at + same_ahead(letters, at, prompt, place), place - back)
        goes_on = last is not None and -_SLACK <= place - expected <= REACH and at - last.end <= REACH
        score = block.end - block.start + (_CONTINUES if goes_on else 0)
        if score > best_score:
            best, best_score = block, score
    return best


def _length(block: Block) -> int:
    return block.end - block.start


def _drawn_together(letters: str, prompt: str, blocks: list[Block]) -> list[Block]:
    """Move a block whose text also stands right before the next one: boilerplate belongs to what follows it."""
    moved = blocks[:]
    for n in range(len(moved) - 2, -1, -1):
        block, following = moved[n], moved[n + 1]
        if following.start - block.end > REACH or continues(following, block):
            continue
        text = letters[block.start : block.end]
        low = max(0, following.place - len(text) - REACH)
        place = prompt.find(text, low, following.place)
        if place >= 0:
            moved[n] = Block(block.start, block.end, place)
    return moved
