"""Places in a text chosen by its own letters, so that a copy has them at the same letters; found at C speed."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate, count
from operator import add

_SHARE, _SMALL_SHARE = 0.08, 0.4
"""Share of letters that are anchors; more where the texts are small."""
_SMALL = 16_000
_SAMPLE = 4096
"""Letters counted to choose the anchors."""
DENSE = "\u2e80"
"""From here on a letter says as much as a few letters of an alphabet."""
_LENGTH, _DENSE_LENGTH = 12, 5
"""Letters of a key, from the anchor on."""
_BUCKET = 16
"""Places remembered of a key: text that repeats itself more often is boilerplate."""


class Alphabet:
    """Which letters are anchors, for texts of any mix of scripts; `prompt` first, for it is indexed.

    A letter is told by the low byte of its code, which is all that `bytes.translate` sees. Two letters with the
    same low byte are both anchors, in every copy of the text.
    """

    __slots__ = ("_marks",)

    def __init__(self, prompt: str, texts: Sequence[str]) -> None:
        share = _SMALL_SHARE if len(prompt) <= _SMALL else _SHARE
        size = _SAMPLE // (len(texts) + 1) + 64
        sample = Counter("".join([_sample(text, size) for text in (prompt, *texts)]))
        scripts: dict[int, Counter[int]] = {}
        for char, seen in sample.items():
            scripts.setdefault(_script(char), Counter())[ord(char) & 0xFF] += seen
        chosen = {code for counts in scripts.values() for code in _chosen(counts, share=share)}
        self._marks = bytes(code in chosen for code in range(256))

    def anchors(self, letters: str) -> list[int]:
        """Return where the anchors of `letters` are, ascending."""
        codes = letters.encode() if letters.isascii() else letters.encode("utf-32-le")[::4]
        pieces = codes.translate(self._marks).split(b"\1")
        places = list(map(add, accumulate(map(len, pieces)), count()))
        return places[: bisect_left(places, len(letters) - _DENSE_LENGTH + 1, 0, len(places) - 1)]


class PromptIndex:
    """Where in the prompt the letters from an anchor on stand."""

    __slots__ = ("_first", "_more")

    def __init__(self, letters: str, alphabet: Alphabet) -> None:
        places = alphabet.anchors(letters)
        keys = [letters[at : at + (_LENGTH if letters[at] < DENSE else _DENSE_LENGTH)] for at in places]
        self._first = dict(zip(reversed(keys), reversed(places), strict=True))
        self._more: dict[str, list[int]] = {}
        if len(self._first) < len(keys):
            self._add_repeated(places, keys)

    def places(self, letters: str, at: int) -> list[int]:
        """Return where the letters from the anchor `at` on stand, ascending; not all places of what is everywhere."""
        key = _key(letters, at)
        return self._more.get(key) or ([self._first[key]] if key in self._first else [])

    def next_known(self, letters: str, anchors: list[int], n: int) -> int:
        """Return which anchor, from the `n`-th on, the prompt has too; their number where none is left."""
        first = self._first
        if letters.isascii():
            known = (k for k in range(n, len(anchors)) if letters[anchors[k] : anchors[k] + _LENGTH] in first)
        else:
            known = (k for k in range(n, len(anchors)) if _key(letters, anchors[k]) in first)
        return next(known, len(anchors))

    def _add_repeated(self, places: list[int], keys: list[str]) -> None:
        first, more = self._first, self._more
        for at, key in zip(places, keys, strict=True):
            if first[key] != at:
                bucket = more.get(key)
                if bucket is None:
                    more[key] = [first[key], at]
                elif len(bucket) < _BUCKET:
                    bucket.append(at)


def _key(letters: str, at: int) -> str:
    return letters[at : at + (_LENGTH if letters[at] < DENSE else _DENSE_LENGTH)]


def _sample(text: str, size: int) -> str:
    middle = max(0, len(text) // 2 - size // 2)
    return text[middle : middle + size]


def _script(char: str) -> int:
    """Tell scripts apart, roughly; -1 for those without an alphabet."""
    return -1 if char >= DENSE else ord(char) >> 7 if char >= "\u0250" else 0


def _chosen(counts: Counter[int], *, share: float) -> Iterator[int]:
    """Yield the most frequent bytes that together make up the wanted share; those that are no ASCII letters first."""
    wanted = share * counts.total()
    for code, seen in sorted(counts.items(), key=lambda item: (item[0] < 0x80, -item[1])):
        if wanted <= 0:
            return
        wanted -= seen
        yield code
