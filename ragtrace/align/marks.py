"""Choose places in texts by the letters that stand there, so that every copy of a text has the same; at C speed."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import accumulate, count
from math import log
from operator import add

DENSE = "\u2e80"
"""From here on a letter says as much as a few letters of an alphabet."""
_NO_LATIN = "\u0250"
_DIGITS = -2
_RARE = 100
"""Scripts of fewer letters than one in so many get no marks of their own."""

_NEARLY = 1.6
"""How much rarer or more frequent than wanted one letter may be that serves for all."""
_ENOUGH = 0.2
"""Share of what was wanted that may be missing: bytes that are rare in a sample are so by chance."""


class Marks:
    """Letters that stand in a text about as often as wanted, whatever scripts it mixes.

    A letter is told by the low byte of its code, which is all that `bytes.translate` sees. Others with the same
    low byte are marks too, in every copy of the text.
    """

    __slots__ = ("_marks", "_only")

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
        self._only = None if digits else _one_for_all(chars, scripts, share=share)

    def places(self, text: str) -> list[int]:
        """Return where the marks of `text` are, ascending."""
        if self._only is not None:
            lengths = map(len, text.split(self._only))
        else:
            lengths = map(len, _low_bytes(text).translate(self._marks).split(b"\1"))
        places = list(map(add, accumulate(lengths), count()))
        places.pop()
        return places


def _one_for_all(chars: Counter[str], scripts: Mapping[int, Counter[int]], *, share: float) -> str | None:
    """Return a letter that alone is as frequent as wanted, in text of one script: Python finds one at least cost."""
    totals = [own.total() for own in scripts.values()]
    wanted = share * sum(totals)
    if not totals or max(totals) * _RARE < sum(totals) * (_RARE - 1):
        return None
    near = [char for char, n in chars.items() if wanted / _NEARLY <= n <= wanted * _NEARLY and char.isalnum()]
    return min(near, key=lambda char: abs(chars[char] - wanted), default=None)


def _low_bytes(text: str) -> bytes:
    """Return the low byte of each character's code; the shorter the characters that Python holds, the cheaper."""
    if text.isascii():
        return text.encode()
    codes = text.encode("utf-16-le", "surrogatepass")
    return codes[::2] if len(codes) == 2 * len(text) else text.encode("utf-32-le", "surrogatepass")[::4]


def _script(char: str) -> int:
    """Tell scripts apart, roughly; digits, which are all that some tables have, are one; all dense ones are one."""
    if char.isdigit():
        return _DIGITS
    if char >= DENSE:
        return -1
    return ord(char) >> 7 if char >= _NO_LATIN else 0


def _chosen(own: Counter[int], seen: Counter[int], *, wanted: float) -> Iterator[int]:
    """Yield bytes of a script that make up about the wanted number of its letters, as few as possible."""
    left, codes = wanted, set(own)
    while codes and left > _ENOUGH * wanted:
        nearest = min(codes, key=lambda code: abs(log(seen[code] / left)))
        codes.discard(nearest)
        left -= own[nearest]
        yield nearest
