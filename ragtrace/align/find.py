"""Find a text, or the longest beginning or end of it, in a prompt, with primitives that run at C speed."""

from collections.abc import Sequence
from typing import Protocol

from ragtrace.align.pieces import PieceIndex

PROBE = 32
"""Characters that must stand in the prompt before a cut beginning or end is believed."""
_TRIES = 12
_FIRST_STEP = 512
_NEAR = 600
"""How far behind the last text found the next one is looked for first."""
_DIRECT = 500_000
"""Up to this many characters (prompt × texts) the prompt is searched again for each text; above, an index is."""

Found = tuple[int, int]
"""Offset in the prompt and length; length 0 where nothing was found."""
NOTHING: Found = (0, 0)


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
    """Guesses where a text is from an index of the prompt; remembers where the last one ended."""

    __slots__ = ("_cursor", "_pieces", "_prompt", "_texts")

    def __init__(self, prompt: str, texts: Sequence[str]) -> None:
        self._prompt = prompt
        self._texts = texts
        self._cursor = 0
        self._pieces: PieceIndex | None = None

    def beginning(self, number: int) -> Found:
        text = self._texts[number]
        # Most prompts keep the order of retrieval.
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


def common_prefix(text: str, prompt: str, at: int) -> int:
    """Return how many characters of `text` stand in `prompt` from `at` on."""
    if at < 0:
        return 0
    if prompt.startswith(text, at):
        return len(text)
    limit = min(len(text), len(prompt) - at)
    same, step = 0, _FIRST_STEP
    while same < limit:
        size = min(step, limit - same)
        if prompt.startswith(text[same : same + size], at + same):
            same += size
            step *= 2
        else:
            limit = same + size - 1
            step = max(1, size // 2)
    return same


def common_suffix(text: str, prompt: str, end: int) -> int:
    """Return how many characters of the end of `text` stand in `prompt` before `end`."""
    limit = min(len(text), end)
    same, step = 0, _FIRST_STEP
    while same < limit:
        size = min(step, limit - same)
        stop = len(text) - same
        if prompt.endswith(text[stop - size : stop], 0, end - same):
            same += size
            step *= 2
        else:
            limit = same + size - 1
            step = max(1, size // 2)
    return same
