"""Index a large prompt, as it stands, by a few places of it."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

from ragtrace.align.marks import Marks

_KEY = 24
"""Characters from a place on that are looked up."""
_LOOKED_UP, _ENOUGH = 8, 4
"""Places at an end of a text that are looked up at most; with fewer than enough, more of it is looked at."""
_LOOKED_AT = 800, 3000
"""Characters at an end of a text that are looked at first, and then."""
_SEARCHES = 8
"""Texts without places that the whole prompt is searched for at most."""
_SAMPLES, _SAMPLE = 16, 256
_USUAL = 120
"""Characters between two places at best; more in large prompts."""
_MOST = 4000
"""Places indexed at best."""


class PieceIndex:
    """Where in the prompt the keys stand, for the texts that are looked for in it."""

    __slots__ = ("_marks", "_near", "_places", "_prompt", "_searches_left", "_texts")

    def __init__(self, prompt: str, texts: Sequence[str]) -> None:
        self._prompt = prompt
        self._texts = texts
        self._searches_left = _SEARCHES
        step = max(_SAMPLE, len(prompt) // _SAMPLES)
        sample = "".join([prompt[at : at + _SAMPLE] for at in range(0, len(prompt), step)])
        self._marks = Marks(sample, share=1 / max(_USUAL, len(prompt) // _MOST))
        places = self._marks.places(prompt)
        self._places = dict(zip([prompt[at : at + _KEY] for at in places], places, strict=True))
        self._near: dict[bool, list[list[int]]] = {}

    def guesses(self, number: int, *, at_end: bool) -> list[int]:
        """Return where the text of that number would begin in the prompt, judged by keys near its beginning or end."""
        text = self._texts[number]
        places: list[int] = []
        for size in _LOOKED_AT:
            start = max(0, len(text) - size) if at_end else 0
            is_near = size == _LOOKED_AT[0]
            places = self._places_near(number, at_end) if is_near else self._marks.places(text[start : start + size])
            wanted = places[-_LOOKED_UP:] if at_end else places[:_LOOKED_UP]
            keys = ((start + at, text[start + at : start + at + _KEY]) for at in wanted)
            found = [self._places[key] - at for at, key in keys if key in self._places and len(key) == _KEY]
            if found or len(wanted) >= _ENOUGH:
                return list(dict.fromkeys(found))
        return [] if places else self._searched(text, at_end=at_end)

    def _places_near(self, number: int, at_end: bool) -> list[int]:
        if at_end not in self._near:
            size = _LOOKED_AT[0]
            self._near[at_end] = self._places_of_each([text[-size:] if at_end else text[:size] for text in self._texts])
        return self._near[at_end][number]

    def _places_of_each(self, parts: Sequence[str]) -> list[list[int]]:
        """Return where the marks of each part are; in one go, since each costs more than what is in it."""
        places = self._marks.places("".join(parts))
        ends = list(accumulate(map(len, parts), initial=0))
        cuts = [bisect_left(places, end) for end in ends]
        return [
            [at - start for at in places[first:last]] for start, first, last in zip(ends, cuts, cuts[1:], strict=False)
        ]

    def _searched(self, text: str, *, at_end: bool) -> list[int]:
        """Search for a text without marks, such as a table among prose, as long as such texts are few."""
        if not self._searches_left:
            return []
        self._searches_left -= 1
        start = max(0, len(text) - _KEY) if at_end else 0
        at = self._prompt.find(text[start : start + _KEY])
        return [at - start] if at >= start else []
