"""Find the stretches of a passage that the prompt holds letter by letter."""

from typing import NamedTuple

from ragtrace.align.anchors import Alphabet, PromptIndex

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
_FIRST_STEP = 32


class Block(NamedTuple):
    """Letters `start`–`end` of a passage stand in the prompt from its letter `place` on."""

    start: int
    end: int
    place: int

    @property
    def place_end(self) -> int:
        return self.place + self.end - self.start

    def cut(self, start: int, end: int) -> "Block":
        """Return the part from `start` to `end` of the passage."""
        return Block(start, end, self.place + start - self.start)


def find_blocks(letters: str, prompt: str, *, alphabet: Alphabet, index: PromptIndex) -> list[Block]:
    """Return blocks in passage order that do not overlap in the passage."""
    blocks: list[Block] = []
    covered = 0
    for at, key in index.hits(*alphabet.keys(letters)):
        if at < covered:
            continue
        block = _best(letters, prompt, at, places=index.places(key), last=blocks[-1] if blocks else None)
        covered = block.end
        while blocks and block.start <= blocks[-1].start:
            blocks.pop()
        if blocks and block.start < blocks[-1].end:
            block = block.cut(blocks[-1].end, block.end)
        blocks.append(block)
    return _drawn_together(letters, prompt, blocks)


def continues(block: Block, last: Block, *, reach: int = REACH) -> bool:
    """Tell whether `block` carries on from `last`, in the passage and in the prompt."""
    return 0 <= block.place - last.place_end <= reach and 0 <= block.start - last.end <= reach


def _best(letters: str, prompt: str, at: int, *, places: list[int], last: Block | None) -> Block:
    expected = last.place_end + at - last.end if last else 0
    if len(places) > _CANDIDATES:
        places = sorted(places, key=lambda place: abs(place - expected))[:_CANDIDATES]
    most = at - last.end + _BACK if last else at
    best, best_score = Block(at, at, 0), -1
    for place in places:
        behind = same_behind(letters, at, prompt, place, most=most)
        ahead = same_ahead(letters, at, prompt, place)
        block = Block(at - behind, at + ahead, place - behind)
        goes_on = last is not None and -_SLACK <= place - expected <= REACH and at - last.end <= REACH
        score = ahead + behind + (_CONTINUES if goes_on else 0)
        if score > best_score:
            best, best_score = block, score
    return best


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


def same_ahead(a: str, i: int, b: str, j: int) -> int:
    """Return how many letters are the same from `a[i]` and `b[j]` on."""
    limit = min(len(a) - i, len(b) - j)
    same, step = 0, _FIRST_STEP
    while same < limit:
        size = min(step, limit - same)
        if a[i + same : i + same + size] == b[j + same : j + same + size]:
            same += size
            step *= 2
        else:
            limit = same + size - 1
            step = max(1, size // 2)
    return same


def same_behind(a: str, i: int, b: str, j: int, *, most: int) -> int:
    """Return how many letters are the same before `a[i]` and `b[j]`, at most `most`."""
    limit = min(i, j, most)
    same, step = 0, _FIRST_STEP
    while same < limit:
        size = min(step, limit - same)
        if a[i - same - size : i - same] == b[j - same - size : j - same]:
            same += size
            step *= 2
        else:
            limit = same + size - 1
            step = max(1, size // 2)
    return same
