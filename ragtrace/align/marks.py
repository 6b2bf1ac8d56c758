"""Choose places in texts by the letters that stand there, so that every copy of a text has the same; at C speed."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import accumulate, count
from math import log
from operator import add

DENSE = "\u2e80"
"""From here on a letter says as much as a few letters of an alphabet."""
_DIGITS = -2
_RARE = 100
"""Scripts of fewer letters than one in so many get no marks of their own."""

_ENOUGH = 0.2
"""Share of what was wanted that may be missing: bytes that are rare in a sample are so by chance."""


class Marks:
    """Letters that stand in a text about as often as wanted, whatever scripts it mixes.

    A letter is told by the low byte of its code, which is all that `bytes.translate` sees. Others with the same
    low byte are marks too, in every copy of the text.
    """

    __slots__ = ("_marks",)

    def __init__(self, sample: str, *, share: float, digits: float | None = None) -> None:
        chars = Counter(sample)
        seen: Counter[int] = Counter()
        scripts: defaultdict[int, Counter[int]] = defaultdict(Counter)
        for char, times in chars.items():
            code = ord(char) & 0xFF
            seen[code] += times
            if char.isalnum():
                scripts[_script(char)][code] += times
        chosen: set[int] = set()
        # Scripts of few letters first: what they need marks some of the others too.
        for script, own in sorted(scripts.items(), key=lambda item: len(item[1])):
            if own.total() * _RARE >= len(sample):
                wanted = (digits if digits and script == _DIGITS else share) * own.total()
                chosen.update(_chosen(own, seen, wanted=wanted - sum(own[code] for code in chosen)))
        self._marks = bytes(code in chosen for code in range(256))

    def places(self, text: str) -> list[int]:
        """Return where the marks of `text` are, ascending."""
        codes = text.encode() if text.isascii() else text.encode("utf-32-le", "surrogatepass")[::4]
        places = list(map(add, accumulate(map(len, codes.translate(self._marks).split(b"\1"))), count()))
        places.pop()
        return places


def _script(char: str) -> int:
    """Tell scripts apart, roughly; digits, which are all that some tables have, are one; all dense ones are one."""
    if char.isdigit():
        return _DIGITS
    return -1 if char >= DENSE else ord(char) >> 7


def _chosen(own: Counter[int], seen: Counter[int], *, wanted: float) -> Iterator[int]:
    """Yield bytes of a script that make up about the wanted number of its letters, as few as possible."""
    left, codes = wanted, set(own)
    while codes and left > _ENOUGH * wanted:
        nearest = min(codes, key=lambda code: abs(log(seen[code] / left)))
        codes.discard(nearest)
        left -= own[nearest]
        yield nearest
