"""Places in a text chosen by its own letters, so that a copy has them at the same letters; found at C speed."""

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence

from ragtrace.align.pieces import places as places_of

_SHARE, _SMALL_SHARE = 0.2, 0.4
"""Share of letters that are anchors; more where the texts are small."""
_SMALL = 40_000
_SAMPLE = 4096
"""Letters counted to choose the anchors."""
_MOST_CHARS = 12
"""Anchor letters of a script at most; where they would have to be more, every n-th code is one."""
DENSE = "\u2e80"
"""From here on a letter says as much as a few letters of an alphabet."""
_DENSE_CODE = ord(DENSE)
_LENGTH, _DENSE_LENGTH = 12, 5
"""Letters of a key, from the anchor on."""
_BLOCK = 256
"""Letters looked through at once for anchors of dense scripts; most blocks of a mixed text have none."""
_BUCKET = 16
"""Places remembered of a key: text that repeats itself more often is boilerplate."""


class Alphabet:
    """Which letters are anchors, for texts of any mix of scripts; `prompt` first, for it is indexed."""

    __slots__ = ("_has_dense", "_plain", "_step")

    def __init__(self, prompt: str, texts: Sequence[str]) -> None:
        share = _SMALL_SHARE if len(prompt) <= _SMALL else _SHARE
        size = _SAMPLE // (len(texts) + 1) + 64
        counts = Counter("".join([_sample(text, size) for text in (prompt, *texts)]))
        scripts: dict[int, list[str]] = {}
        for char, _ in counts.most_common():
            scripts.setdefault(_script(char), []).append(char)
        chosen = [_chosen(chars, counts, share=share) for script, chars in scripts.items() if script >= 0]
        self._plain = "".join(chosen)
        self._step = round(1.2 / share)
        self._has_dense = -1 in scripts

    def keys(self, letters: str) -> tuple[list[int], list[str]]:
        """Return the anchors of `letters`, ascending, and the letters from each on."""
        plain = _places(letters, self._plain)
        keys = [letters[at : at + _LENGTH] for at in plain]
        if not self._has_dense or letters.isascii():
            return plain, keys
        dense = self._dense_places(letters)
        both = [*zip(plain, keys, strict=True), *((at, letters[at : at + _DENSE_LENGTH]) for at in dense)]
        both.sort()
        return [at for at, _ in both], [key for _, key in both]

    def _dense_places(self, letters: str) -> list[int]:
        places: list[int] = []
        for start in range(0, max(0, len(letters) - _DENSE_LENGTH + 1), _BLOCK):
            block = letters[start : start + _BLOCK]
            if not block.isascii():
                codes = array("I", block.encode("utf-32-le"))
                step = self._step
                places += [at for at, code in enumerate(codes, start) if not code % step and code >= _DENSE_CODE]
        return places[: bisect_left(places, len(letters) - _DENSE_LENGTH + 1)]


class PromptIndex:
    """Where in the prompt each key stands."""

    __slots__ = ("_first", "_more")

    def __init__(self, letters: str, alphabet: Alphabet) -> None:
        places, keys = alphabet.keys(letters)
        self._first = dict(zip(reversed(keys), reversed(places), strict=True))
        self._more: dict[str, list[int]] = {}
        if len(self._first) < len(keys):
            self._add_repeated(places, keys)

    def places(self, key: str) -> list[int]:
        """Return where `key` stands, ascending; not all places of one that is everywhere."""
        return self._more.get(key) or ([self._first[key]] if key in self._first else [])

    def hits(self, places: list[int], keys: list[str]) -> list[tuple[int, str]]:
        """Return the anchors of a passage whose key the prompt has."""
        first = self._first
        return [(at, key) for at, key in zip(places, keys, strict=True) if key in first]

    def _add_repeated(self, places: list[int], keys: list[str]) -> None:
        first, more = self._first, self._more
        for at, key in zip(places, keys, strict=True):
            if first[key] != at:
                bucket = more.get(key)
                if bucket is None:
                    more[key] = [first[key], at]
                elif len(bucket) < _BUCKET:
                    bucket.append(at)


def _sample(text: str, size: int) -> str:
    middle = max(0, len(text) // 2 - size // 2)
    return text[middle : middle + size]


def _script(char: str) -> int:
    """Tell scripts apart, roughly; -1 for those without an alphabet."""
    return -1 if char >= DENSE else ord(char) >> 7 if char >= "\u0250" else 0


def _chosen(chars: list[str], counts: Counter[str], *, share: float) -> str:
    """Return the most frequent of `chars` that together make up the wanted share of their script."""
    wanted = share * sum(counts[char] for char in chars)
    chosen, reached = "", 0
    for char in chars[:_MOST_CHARS]:
        if reached >= wanted:
            break
        chosen += char
        reached += counts[char]
    return chosen


def _places(letters: str, chars: str) -> list[int]:
    places: list[int] = []
    for char in chars:
        places += places_of(letters, char)
    places.sort()
    return places[: bisect_left(places, len(letters) - _LENGTH + 1)]
