"""Tell for certain whether a stretch of a passage can still be in the part of the prompt that nothing explains."""

from collections.abc import Sequence

from ragtrace.align.escapes import unescape
from ragtrace.align.pieces import anchors
from ragtrace.align.skeleton import letters, letters_of_each

_SAMPLES = 24
_SAMPLE = 120
"""Characters of a passage looked at together."""
_KEY = 16
"""Letters that are looked up."""
_EDGE = 8
"""Letters at the edges of a sample that may be half an escape."""
_BREAK = " " * _KEY
"""Keeps keys from running over the end of a sample."""
_ANCHOR_DISTANCE = 20
"""Letters between two anchors at best: a sample holds a few."""
_FEW = 2_000
"""Letters up to which they are searched for each key; more are indexed."""
_MOST = 100_000
"""Characters of unexplained text up to which it is searched at all."""
_IGNORED = 0.02
"""Where the whole rest has fewer letters than this share of a text has characters, it holds nothing of it."""


class Rest:
    """The unexplained stretches of a prompt, as letters."""

    __slots__ = ("_anchors", "_is_searchable", "_keys", "_letters", "longest")

    def __init__(self, stretches: Sequence[str]) -> None:
        self.longest = max(map(len, stretches), default=0)
        """Characters of the longest stretch: it might be a summary."""
        self._is_searchable = sum(map(len, stretches)) <= _MOST
        self._letters = letters(unescape("\n".join(stretches))[0]) if self._is_searchable else ""
        is_indexed = len(self._letters) > _FEW
        self._anchors = anchors(self._letters, every=_ANCHOR_DISTANCE) if is_indexed else []
        self._keys = set(self._anchored(self._letters))

    def may_hold(self, text: str) -> bool:
        """Tell whether any larger part of `text` could stand there, in whatever rendering keeps its letters."""
        if not self._is_searchable:
            return True
        if len(self._letters) <= max(_IGNORED * len(text), _KEY):
            return False
        if len(text) <= _SAMPLE // 2:
            return letters(text) in self._letters
        step = max(_SAMPLE, len(text) // _SAMPLES)
        samples = letters_of_each([text[at : at + _SAMPLE] for at in range(0, len(text), step)])
        if not self._keys:
            return any(map(self._contains, samples))
        keys = self._anchored(_BREAK.join(samples))
        if len(keys) > len(samples) and len(self._keys.intersection(keys)) <= 1:
            return False
        return any(map(self._holds, samples))

    def _contains(self, sample: str) -> bool:
        if len(sample) < _KEY + 2 * _EDGE:
            return sample in self._letters
        return sample[_EDGE : _EDGE + _KEY] in self._letters or sample[-_EDGE - _KEY : -_EDGE] in self._letters

    def _holds(self, sample: str) -> bool:
        """Look for several keys: one may be a stock phrase."""
        keys = self._anchored(sample)
        if not keys:
            return self._contains(sample)
        return len(self._keys.intersection(keys)) >= min(2, len(keys))

    def _anchored(self, some: str) -> list[str]:
        keys = [piece[:_KEY] for anchor in self._anchors for piece in some.split(anchor)[1:]]
        return [key for key in keys if len(key) == _KEY]
