"""Reduce a text to its folded letters and digits, which every rendering of it keeps, with the way back."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Protocol

from ragtrace.align.escapes import unescape

_WORDS = re.compile(r"\w+")
_LETTER = re.compile(r"[^\W_]")
_KEPT = "0123456789abcdefghijklmnopqrstuvwxyz"
_DROPPED = bytes(code for code in range(128) if chr(code).lower() not in _KEPT)
_MARKED = bytes(ord("x" if chr(code).lower() in _KEPT else " ") for code in range(256))
"""Marks letters, so that they are counted without a copy."""
_LOWER = bytes.maketrans(_KEPT[10:].upper().encode(), _KEPT[10:].encode())
_MARK = "\x1e"
_BLOCK = 512
"""Characters folded at once: most blocks of a text with a few foreign characters are still plain ASCII."""


def letters(text: str) -> str:
    """Return the letters and digits of `text`, case-folded; escapes are read as they stand."""
    return _folded(text) if text.isascii() else "".join(_folded_blocks(text))


def letters_of_each(texts: Sequence[str]) -> list[str]:
    """Return the `letters` of many short texts, in one go where they are plain ASCII."""
    joined = _MARK.join(texts)
    if not joined.isascii() or joined.count(_MARK) != len(texts) - 1:
        return [letters(text) for text in texts]
    return joined.encode().translate(_LOWER, _DROPPED.replace(_MARK.encode(), b"")).decode().split(_MARK)


def count_letters(text: str) -> int:
    """Return how many letters and digits `text` has."""
    if text.isascii():
        return len(text.encode().translate(None, _DROPPED))
    return sum(map(len, _folded_blocks(text)))


def has_letters(text: str) -> bool:
    """Tell whether there is anything in `text` that can be placed."""
    return _LETTER.search(text) is not None


_SEEN, _CHANCE = 24, 3
_BREAK_BEFORE = re.compile(r"(?:^|\n|\\n)\W*\d*\W*$|[^\w\s]\s*$")
_BREAK_BEHIND = re.compile(r"\s*(?:$|\n|[^\w\s])")


class Form(Protocol):
    """A text in the form that it is searched in, with the way back."""

    letters: str

    def start(self, letter: int) -> int:
        """Return the offset in the text of the letter at `letter`."""
        ...

    def end(self, letter: int) -> int:
        """Return the offset in the text just behind the letter before `letter`."""
        ...


class AsIs:
    """A text as it stands, without the white space around it."""

    __slots__ = ("_lead", "letters")

    def __init__(self, text: str) -> None:
        self.letters = text.strip()
        self._lead = len(text) - len(text.lstrip()) if len(text) > len(self.letters) else 0

    def start(self, letter: int) -> int:
        return self._lead + letter

    def end(self, letter: int) -> int:
        return self._lead + letter


class Skeleton:
    """Letters and digits of a text, and where in it each of them stands."""

    __slots__ = ("_counts", "_moves", "_text", "letters", "plain")

    def __init__(self, text: str) -> None:
        self._text = text
        self.plain, self._moves = unescape(text)
        self._counts: list[int] = []
        if self.plain.isascii():
            self.letters = _folded(self.plain)
        else:
            self.letters = "".join(self._counted())

    def start(self, letter: int) -> int:
        return self._back(self._offset(letter))

    def end(self, letter: int) -> int:
        return self._back(self._offset(letter - 1) + 1) if letter else 0

    def plain_start(self, letter: int) -> int:
        """Return the offset in `plain` of the letter at `letter`."""
        return self._offset(letter)

    def plain_end(self, letter: int) -> int:
        """Return the offset in `plain` just behind the letter before `letter`."""
        return self._offset(letter - 1) + 1

    def between(self, letter: int, other: int) -> str:
        """Return the text behind the letter before `letter`, up to the letter at `other`."""
        return self._text[self.end(letter) : self.start(other)]

    def stands_alone(self, letter: int, end: int) -> bool:
        """Tell whether no other letters touch those from `letter` to `end`."""
        text, start, stop = self._text, self.start(letter), self.end(end)
        return not text[max(0, start - 1) : start].isalnum() and not text[stop : stop + 1].isalnum()

    def stands_apart(self, letter: int, end: int) -> bool:
        """Tell whether the letters from `letter` to `end` are no part of a longer sentence on both sides."""
        # The letters beside a piece are its own by chance now and then.
        shifts = range(min(_CHANCE, end - letter))
        before = (self._text[max(0, at - _SEEN) : at] for at in (self.start(letter + shift) for shift in shifts))
        behind = (self._text[at : at + _SEEN] for at in (self.end(end - shift) for shift in shifts))
        return any(map(_BREAK_BEFORE.search, before)) and any(map(_BREAK_BEHIND.match, behind))

    def _back(self, offset: int) -> int:
        for moves in self._moves:
            offset = moves.back(offset)
        return offset

    def _counted(self) -> list[str]:
        blocks = _folded_blocks(self.plain)
        self._counts = list(accumulate(map(len, blocks), initial=0))
        return blocks

    def _offset(self, letter: int) -> int:
        """Find the letter's offset in the unescaped text: its block, then its character, both by bisection."""
        if not self._counts:
            self._counted()
        block = bisect_right(self._counts, letter) - 1
        low = block * _BLOCK
        wanted = letter - self._counts[block]
        chars = self.plain[low : low + _BLOCK]
        if chars.isascii():
            marks = chars.encode().translate(_MARKED)
            return low + bisect_right(range(len(marks)), wanted, key=lambda i: marks.count(b"x", 0, i + 1))
        lengths = (len(char.casefold()) if char.isalnum() else 0 for char in chars)
        is_one_each = len(chars.casefold()) == len(chars)
        return low + bisect_right(list(accumulate(map(str.isalnum, chars) if is_one_each else lengths)), wanted)


def _folded_blocks(text: str) -> list[str]:
    return [_folded(text[at : at + _BLOCK]) for at in range(0, len(text), _BLOCK)]


def _folded(block: str) -> str:
    # `bytes.translate` is ten times as fast as a regular expression.
    if block.isascii():
        return block.encode().translate(_LOWER, _DROPPED).decode()
    thinned = block.encode(errors="ignore").translate(_LOWER, _DROPPED).decode()
    return "".join(_WORDS.findall(thinned)).casefold()
