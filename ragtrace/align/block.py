"""A stretch of a passage that the prompt holds letter by letter, and how far one goes."""

from typing import NamedTuple

_FIRST, _GROWTH = 64, 4
"""Letters compared at first, and how many times more each time that all of them are the same."""
_MOST = 128
"""Letters compared one by one at most."""


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
    same, size, limit = 0, _FIRST, min(len(a) - i, len(b) - j)
    while same < limit:
        size = min(size, limit - same)
        ours, theirs = a[i + same : i + same + size], b[j + same : j + same + size]
        if ours == theirs:
            same += size
            size *= _GROWTH
        elif size > _MOST:
            limit, size = same + size, size // 2
        else:
            difference, width = _difference(ours, theirs)
            return same + ((difference & -difference).bit_length() - 1) // width
    return same


def same_behind(a: str, i: int, b: str, j: int, *, most: int) -> int:
    """Return how many letters are the same before `a[i]` and `b[j]`, at most `most`."""
    same, size, limit = 0, _FIRST, min(i, j, most)
    while same < limit:
        size = min(size, limit - same)
        ours, theirs = a[i - same - size : i - same], b[j - same - size : j - same]
        if ours == theirs:
            same += size
            size *= _GROWTH
        elif size > _MOST:
            limit, size = same + size, size // 2
        else:
            difference, width = _difference(ours, theirs)
            return same + size - 1 - (difference.bit_length() - 1) // width
    return same


def _difference(ours: str, theirs: str) -> tuple[int, int]:
    """Return a number with bits set where texts of one length differ, and its bits for each letter.

    Python compares long numbers at C speed, and tells their first and last bit.
    """
    if ours.isascii() and theirs.isascii():
        return int.from_bytes(ours.encode(), "little") ^ int.from_bytes(theirs.encode(), "little"), 8
    return _code(ours) ^ _code(theirs), 32


def _code(text: str) -> int:
    return int.from_bytes(text.encode("utf-32-le", "surrogatepass"), "little")
