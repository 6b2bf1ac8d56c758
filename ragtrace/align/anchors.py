"""Places in a text chosen by its own letters, so that a copy has them at the same letters; found at C speed."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate, count
from operator import add

_SHARE = 0.2
"""Share of letters that are anchors."""
_SAMPLE = 4096
"""Letters counted to choose the anchors."""
_MOST_CHARS = 32
"""Different anchor letters at most, a script."""
_DENSE_SCRIPTS = "\u2e80"
"""From here on a letter says as much as a few letters of an alphabet."""
_LENGTH, _DENSE_LENGTH = 12, 6
"""Letters of a key, from the anchor on."""
_BUCKET = 16
"""Places remembered of a key: text that repeats itself more often is boilerplate."""


class Alphabet:
    """Which letters are anchors, for texts of any mix of scripts."""

    __slots__ = ("_dense", "_plain")

    def __init__(self, texts: Sequence[str]) -> None:
        counts = Counter("".join([_sample(text, _SAMPLE // max(1, len(texts)) + 64) for text in texts]))
        scripts: list[list[str]] = [[], [], []]
        for char, _ in counts.most_common():
            scripts[0 if char < "\x80" else 1 if char < _DENSE_SCRIPTS else 2].append(char)
        chosen = [_chosen(chars, counts) for chars in scripts]
        self._plain = chosen[0] + chosen[1]
        self._dense = chosen[2]

    def keys(self, letters: str) -> tuple[list[int], list[str]]:
        """Return the anchors of `letters`, ascending, and the letters from each on."""
        plain = _places(letters, self._plain, _LENGTH)
        keys = [letters[at : at + _LENGTH] for at in plain]
        dense = _places(letters, self._dense, _DENSE_LENGTH)
        if not dense:
            return plain, keys
        both = [*zip(plain, keys, strict=True), *((at, letters[at : at + _DENSE_LENGTH]) for at in dense)]
        both.sort()
        return [at for at, _ in both], [key for _, key in both]


class PromptIndex:
    """Where in the prompt each key stands."""

    __slots__ = ("_first", "_more")

    def __init__(self, letters: str, alphabet: Alphabet) -> None:
        places, keys = alphabet.keys(letters)
        self._first = dict(zip(reversed(keys), reversed(places), strict=True))
        self._more: dict[str, list[int]] = {}
        if len(self._first) < len(keys):
            self._add_repeated(places, keys)

    def __contains__(self, key: str) -> bool:
        return key in self._first

    def places(self, key: str) -> list[int]:
        """Return where `key` stands, ascending; not all places of one that is everywhere."""
        return self._more.get(key) or [self._first[key]]

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


def _chosen(chars: list[str], counts: Counter[str]) -> str:
    """Return the most frequent of `chars` that together make up the wanted share of their script."""
    wanted = _SHARE * sum(counts[char] for char in chars)
    chosen, share = "", 0
    for char in chars[:_MOST_CHARS]:
        if share >= wanted:
            break
        chosen += char
        share += counts[char]
    return chosen


def _places(letters: str, chars: str, length: int) -> list[int]:
    places: list[int] = []
    for char in chars:
        places += map(add, accumulate(map(len, letters.split(char))), count())
        places.pop()
    places.sort()
    return places[: bisect_left(places, len(letters) - length + 1)]
