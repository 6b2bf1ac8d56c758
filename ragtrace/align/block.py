"""A stretch of a passage that the prompt holds letter by letter, and how far one goes."""

from typing import NamedTuple

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


def same_ahead(a: str, i: int, b: str, j: int) -> int:
    """Return how many letters are the same from `a[i]` and `b[j]` on."""
    limit = min(len(a) - i, len(b) - j)
    same, step = 0, _FIRST_STEP
    while same < limit:
        size = min(step, limit - same)
        if b.startswith(a[i + same : i + same + size], j + same):
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
        if b.endswith(a[i - same - size : i - same], 0, j - same):
            same += size
            step *= 2
        else:
            limit = same + size - 1
            step = max(1, size // 2)
    return same
