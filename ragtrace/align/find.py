"""Find a text, or the longest beginning or end of it, in the prompt, with primitives that run at C speed."""

from collections.abc import Iterable, Iterator
from itertools import accumulate, repeat
from operator import add

PROBE = 40
"""Characters that must stand in the prompt before a cut beginning or end is believed."""
_TRIES = 12
_FIRST_STEP = 64
_NEAR = 600
"""How far behind the last text found the next one is looked for first."""
_DIRECT = 4_000_000
"""Up to this many characters (prompt × texts) the prompt is searched again for each text; above, an index is."""
_WINDOW = 2048
"""Characters of a text's beginning or end whose pieces are looked up in the index."""
_DELIMITERS = ("\n\n", "\n", ". ", "。", ", ", "，", "।", " ")
_SAMPLE = 65536
_SHORTEST_PIECE, _LONGEST_PIECE = 40, 1000
"""A delimiter is good when the pieces between two of it are this long on average."""


class Finder:
    """Searches one prompt for many texts; remembers where the last one ended, since most prompts keep the order."""

    __slots__ = ("_cursor", "_index", "_is_small", "prompt")

    def __init__(self, prompt: str, *, texts: int) -> None:
        self.prompt = prompt
        self._cursor = 0
        self._is_small = len(prompt) * texts <= _DIRECT
        self._index: _PieceIndex | None = None

    def beginning(self, text: str) -> tuple[int, int]:
        """Return offset and length of the longest beginning of `text` found; length 0 where there is none."""
        near = self.prompt.find(text[:PROBE], self._cursor, self._cursor + _NEAR)
        best = (common_prefix(text, self.prompt, near), near) if near >= 0 else (0, 0)
        if best[0] < len(text):
            places = self._beginnings(text, best[0]) if self._is_small else self._guesses(text, 0)
            best = max([best, *((common_prefix(text, self.prompt, at), at) for at in places)], key=_length)
        length, at = best
        if length < min(PROBE, len(text)):
            return 0, 0
        self._cursor = at + length
        return at, length

    def ending(self, text: str) -> tuple[int, int]:
        """Return offset and length of the longest end of `text` found; length 0 where there is none."""
        places = self._endings(text) if self._is_small else self._guesses(text, len(text) - _WINDOW)
        ends = (at + len(text) for at in places)
        found = ((common_suffix(text, self.prompt, end), end) for end in ends if end <= len(self.prompt))
        length, end = max(found, key=_length, default=(0, 0))
        return (end - length, length) if length >= PROBE else (0, 0)

    def _beginnings(self, text: str, length: int) -> Iterator[int]:
        """Yield places of ever longer beginnings: boilerplate that opens many passages does not hide the right one."""
        place = self.prompt.find(text)
        if place >= 0:
            yield place
            return
        length = max(length, PROBE - 1)
        for _ in range(_TRIES):
            place = self.prompt.find(text[: length + 1], place + 1)
            if place < 0:
                return
            yield place
            length = common_prefix(text, self.prompt, place)

    def _endings(self, text: str) -> Iterator[int]:
        length = PROBE - 1
        for _ in range(_TRIES):
            place = self.prompt.find(text[-length - 1 :])
            if place < 0:
                return
            end = place + min(length + 1, len(text))
            yield end - len(text)
            length = common_suffix(text, self.prompt, end)

    def _guesses(self, text: str, offset: int) -> Iterable[int]:
        """Return where the text may begin in the prompt, judged by pieces of it behind `offset`."""
        if self._index is None:
            self._index = _PieceIndex(self.prompt)
        offset = max(0, offset)
        places = self._index.places(text[offset : offset + _WINDOW])
        return [place - offset for place in places if place >= offset]


class _PieceIndex:
    """The prompt cut at a delimiter that is neither rare nor frequent in it, and where each piece stands."""

    __slots__ = ("_delimiter", "_places")

    def __init__(self, prompt: str) -> None:
        sample = prompt[:_SAMPLE]
        counts = ((delimiter, sample.count(delimiter)) for delimiter in _DELIMITERS)
        low, high = len(sample) // _LONGEST_PIECE, len(sample) // _SHORTEST_PIECE
        self._delimiter = next((delimiter for delimiter, count in counts if low <= count <= high), "")
        pieces = prompt.split(self._delimiter) if self._delimiter else []
        self._places = dict(zip(pieces, _starts(pieces, len(self._delimiter)), strict=False))

    def places(self, window: str) -> list[int]:
        """Return where `window` would begin in the prompt, one guess for each of its inner pieces that is there."""
        pieces = window.split(self._delimiter) if self._delimiter else []
        inner = list(zip(pieces, _starts(pieces, len(self._delimiter)), strict=False))[1:-1]
        guesses = (self._places.get(piece, -1) - start for piece, start in inner if len(piece) >= _SHORTEST_PIECE)
        return list(dict.fromkeys(guess for guess in guesses if guess >= 0))


def common_prefix(text: str, prompt: str, at: int) -> int:
    """Return how many characters of `text` stand in `prompt` from `at` on."""
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


def _starts(pieces: list[str], delimiter: int) -> Iterator[int]:
    return accumulate(map(add, map(len, pieces), repeat(delimiter)), initial=0)


def _length(found: tuple[int, int]) -> int:
    return found[0]
