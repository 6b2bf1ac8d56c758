"""Follow the texts that a prompt holds one behind the other, as most prompts do: nothing needs to be searched for."""

from collections import Counter
from collections.abc import Sequence

from ragtrace.align.common import NOTHING, PROBE, Found, common_prefix

_BACK, _AHEAD = 4, 400
"""Characters before and behind the end of a text between which the next one begins: its number, source or title."""
_SEARCHES = 4
"""Texts that the whole prompt is searched for at most, to go on from them."""
_ALIKE = 4
"""Texts that begin alike at most: more of them open with boilerplate, which names none."""


class Row:
    """Where texts stand that follow each other in a prompt, whatever their order, whole or cut at their ends."""

    __slots__ = (
        "_alike",
        "_copies",
        "_cut",
        "_gap",
        "_prompt",
        "_searches_left",
        "_seen",
        "_texts",
        "_twins",
        "_whole",
    )

    def __init__(self, prompt: str, texts: Sequence[str]) -> None:
        self._prompt = prompt
        self._texts = texts
        self._whole: dict[int, list[Found]] = {}
        self._cut: dict[int, list[Found]] = {}
        self._seen: set[int] = set()
        """Where something was found."""
        self._alike: dict[str, list[int]] = {}
        """Different texts by their beginning."""
        self._twins: dict[int, tuple[int, int]] = {}
        """Texts that were retrieved before: as which, and how often."""
        self._copies: Counter[int] = Counter()
        self._searches_left = _SEARCHES
        self._gap = 0
        for number, text in enumerate(texts):
            if len(text) >= PROBE:
                self._enter(number, text)
        self._follow(0)

    def place(self, number: int) -> Found:
        """Return where a text begins, and how much of it stands there; nothing where that might be another's place."""
        first, times = self._twins.get(number, (number, 0))
        text = self._texts[first]
        alike = len(self._alike.get(text[:PROBE], ()))
        is_new = first not in self._whole and first not in self._cut
        if is_new and self._searches_left and 0 < alike <= _ALIKE:
            self._searches_left -= 1
            at = self._prompt.find(text[:PROBE])
            if at >= 0:
                self._follow(at)
        if whole := self._whole.get(first):
            return whole[times % len(whole)]
        cut = self._cut.get(first, ())
        return cut[0] if len(cut) == alike == 1 else NOTHING

    def _enter(self, number: int, text: str) -> None:
        alike = self._alike.setdefault(text[:PROBE], [])
        first = next((other for other in alike[: _ALIKE + 1] if self._texts[other] == text), None)
        if first is None:
            alike.append(number)
        else:
            self._copies[first] += 1
            self._twins[number] = first, self._copies[first]

    def _follow(self, end: int) -> None:
        while (start := self._next(end)) is not None and start not in self._seen:
            self._seen.add(start)
            numbers = self._alike[self._prompt[start : start + PROBE]]
            lengths = [common_prefix(self._texts[number], self._prompt, start) for number in numbers]
            length = max(lengths)
            number = numbers[lengths.index(length)]
            places = self._whole if length == len(self._texts[number]) else self._cut
            places.setdefault(number, []).append((start, length))
            end = start + length

    def _next(self, end: int) -> int | None:
        """Return where the next text begins: mostly as far behind the last one as that was behind the one before it."""
        if self._begins(end + self._gap):
            return end + self._gap
        for at in range(max(0, end - _BACK), end + _AHEAD):
            if self._begins(at):
                self._gap = at - end
                return at
        return None

    def _begins(self, at: int) -> bool:
        return 0 < len(self._alike.get(self._prompt[at : at + PROBE], ())) <= _ALIKE
