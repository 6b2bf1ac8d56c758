"""Find a text, or the longest beginning or end of it, in a prompt, with primitives that run at C speed."""

from collections.abc import Sequence
from typing import Protocol

from ragtrace.align.common import NOTHING, PROBE, Found, common_prefix, common_suffix
from ragtrace.align.pieces import PieceIndex
from ragtrace.align.row import Row

_TRIES = 12
_NEAR = 600
"""How far behind the last text found the next one is looked for first."""
_DIRECT = 500_000
"""Up to this many characters (prompt × texts) the prompt is searched again for each text; above, an index is."""


class Finder(Protocol):
    """Searches one prompt for many texts, which go by their numbers."""

    def beginning(self, number: int) -> Found:
        """Return the longest beginning of a text that the prompt holds."""
        ...

    def ending(self, number: int) -> Found:
        """Return the longest end of a text that the prompt holds."""
        ...


def finder(prompt: str, texts: Sequence[str]) -> Finder:
    """Return the finder that is faster for so many texts."""
    return _Direct(prompt, texts) if len(prompt) * len(texts) <= _DIRECT else _Indexed(prompt, texts)


class _Direct:
    """Searches the prompt again for each text."""

    __slots__ = ("_cursor", "_prompt", "_texts")

    def __init__(self, prompt: str, texts: Sequence[str]) -> None:
        self._prompt = prompt
        self._texts = texts
        self._cursor = 0

    def beginning(self, number: int) -> Found:
        text = self._texts[number]
        # Behind the last one first: a passage that was retrieved twice is found at its two places.
        at = self._prompt.find(text, self._cursor)
        if at < 0:
            at = self._prompt.find(text)
        if at < 0:
            return self._cut_beginning(text)
        self._cursor = at + len(text)
        return at, len(text)

    def ending(self, number: int) -> Found:
        text, best = self._texts[number], NOTHING
        length = PROBE - 1
        for _ in range(_TRIES):
            at = self._prompt.find(text[-length - 1 :])
            if at < 0:
                break
            end = at + min(length + 1, len(text))
            length = common_suffix(text, self._prompt, end)
            best = (end - length, length)
        return best if best[1] >= PROBE else NOTHING

    def _cut_beginning(self, text: str) -> Found:
        """Look for ever longer beginnings: boilerplate that opens many passages does not hide the right place."""
        best = NOTHING
        length = PROBE - 1
        for _ in range(_TRIES):
            at = self._prompt.find(text[: length + 1])
            if at < 0:
                break
            length = common_prefix(text, self._prompt, at)
            best = (at, length)
        return best if best[1] >= PROBE else NOTHING


class _Indexed:
    """Guesses where a text is: behind the text before it, else from an index of the prompt."""

    __slots__ = ("_cursor", "_pieces", "_prompt", "_row", "_texts")

    def __init__(self, prompt: str, texts: Sequence[str]) -> None:
        self._prompt = prompt
        self._texts = texts
        self._row = Row(prompt, texts)
        self._cursor = 0
        self._pieces: PieceIndex | None = None

    def beginning(self, number: int) -> Found:
        text, best = self._texts[number], self._row.place(number)
        if not best[1]:
            near = self._prompt.find(text[:PROBE], self._cursor, self._cursor + _NEAR)
            best = (near, common_prefix(text, self._prompt, near)) if near >= 0 else NOTHING
            if best[1] < len(text):
                for at in self._index().guesses(number, at_end=False):
                    length = common_prefix(text, self._prompt, at) if at != near else 0
                    best = (at, length) if length > best[1] else best
        if best[1] < min(PROBE, len(text)):
            return NOTHING
        self._cursor = best[0] + best[1]
        return best

    def ending(self, number: int) -> Found:
        text, best = self._texts[number], NOTHING
        for at in self._index().guesses(number, at_end=True):
            end = at + len(text)
            if end <= len(self._prompt):
                length = common_suffix(text, self._prompt, end)
                best = (end - length, length) if length > best[1] else best
        return best if best[1] >= PROBE else NOTHING

    def _index(self) -> PieceIndex:
        if self._pieces is None:
            self._pieces = PieceIndex(self._prompt, self._texts)
        return self._pieces
