"""Undo JSON, HTML and `repr` escaping, however often it was applied, and remember where each character stood."""

import html
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass

_ESCAPE = re.compile(
    # A run of backslashes is taken from its start and as a whole, or long runs would be quadratic.
    r"(?<!\\)\\++(?:u([dD][89abAB][0-9a-fA-F]{2})\\++u([dD][c-fC-F][0-9a-fA-F]{2})"
    r"|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|U(00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{4})|[nrtbfv])"
    # Escaping twice turns & into &amp;, so one entity may carry any number of them.
    r"|&(?:amp;)*((?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});)"
)
_ROUNDS = 3
"""Each round undoes one kind of escaping, whatever its depth: JSON in HTML in JSON is undone."""
_UNCOMPOSED = re.compile(r"\w[^\w\s\x00-\x7f]+|[\u1100-\u11ff]+|[^\x00-\u02ff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Moves:
    """How offsets in a rewritten text lead back to the text before."""

    after: list[int]
    """Offsets behind each replacement, in the rewritten text, ascending."""
    before: list[int]
    """The same places in the text before."""

    def back(self, offset: int) -> int:
        """Return where the character at `offset` of the rewritten text stood."""
        nearest = bisect_right(self.after, offset) - 1
        if nearest < 0:
            return offset
        return self.before[nearest] + offset - self.after[nearest]


def unescape(text: str) -> tuple[str, tuple[Moves, ...]]:
    """Return `text` without escapes and composed (NFC), and the moves back to it, last rewriting first."""
    plain = text
    moves: list[Moves] = []
    for _ in range(_ROUNDS):
        if "\\" not in plain and "&" not in plain:
            break
        rewritten, made = _rewrite(plain, _ESCAPE, _unescaped)
        if rewritten == plain:
            break
        plain = rewritten
        moves.insert(0, made)
    if not plain.isascii() and not unicodedata.is_normalized("NFC", plain):
        plain, made = _rewrite(plain, _UNCOMPOSED, _composed)
        moves.insert(0, made)
    return plain, tuple(moves)


def _rewrite(text: str, pattern: re.Pattern[str], replace: Callable[[re.Match[str]], str]) -> tuple[str, Moves]:
    pieces: list[str] = []
    moves = Moves(after=[], before=[])
    copied = length = 0
    for match in pattern.finditer(text):
        start, end = match.span()
        pieces += text[copied:start], replace(match)
        length += start - copied + len(pieces[-1])
        copied = end
        moves.after.append(length)
        moves.before.append(end)
    pieces.append(text[copied:])
    return "".join(pieces), moves


def _unescaped(match: re.Match[str]) -> str:
    high, low, *codes, entity = match.groups()
    if high:
        return chr(0x10000 + ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00)
    if entity:
        return html.unescape(f"&{entity}")
    return next((chr(int(code, 16)) for code in codes if code), " ")


def _composed(match: re.Match[str]) -> str:
    return unicodedata.normalize("NFC", match[0])
