"""Index a prompt by the letters that stand at its marks: a passage has the same there."""

from collections.abc import Sequence

from ragtrace.align.marks import DENSE, Marks

_SHARES = ((16_000, 0.6), (30_000, 0.4))
"""Share of letters that are anchors, in prompts of up to so many letters."""
_SHARE = 0.12
"""The same in larger ones."""
_DIGITS_SHARE = 1.0
"""Look-alikes differ by their numbers."""
_SAMPLE = 4096
"""Letters counted to choose the anchors."""
_LENGTH, _DENSE_LENGTH = 12, 5
"""Letters of a key, from the anchor on."""
_BUCKET = 16
"""Places remembered of a key: text that repeats itself more often is boilerplate."""


class PromptIndex:
    """Where in the prompt the letters from an anchor on stand."""

    __slots__ = ("_first", "_marks", "_more")

    def __init__(self, letters: str, texts: Sequence[str]) -> None:
        size = _SAMPLE // (len(texts) + 1) + 64
        sample = "".join([_sample(text, size) for text in (letters, *texts)])
        share = next((share for most, share in _SHARES if len(letters) <= most), _SHARE)
        self._marks = Marks(sample, share=share, digits=_DIGITS_SHARE)
        places = self._marks.places(letters)
        keys = [letters[at : at + (_LENGTH if letters[at] < DENSE else _DENSE_LENGTH)] for at in places]
        self._first = dict(zip(reversed(keys), reversed(places), strict=True))
        self._more: dict[str, list[int]] = {}
        if len(self._first) < len(keys):
            self._add_repeated(places, keys)

    def anchors(self, letters: str) -> list[int]:
        """Return where the anchors of a passage are, ascending; the prompt has them at the same letters."""
        return self._marks.places(letters)

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
