"""Stretches of passages that stand in the prompt letter by letter, and whether they contradict each other."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ragtrace.align.find import Finder
from ragtrace.align.skeleton import Form, has_letters
from ragtrace.align.spans import Stretch, gaps
from ragtrace.model import TextSpan

_SHORT = 16
"""Letters below which a text must not touch other letters: it might be part of a word."""
_STRAY = 0.05
_COPIES = 2_000_000
"""Characters searched for further copies at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Find:
    """A stretch of a passage, and where the prompt holds it."""

    passage: int
    span: TextSpan
    is_beginning: bool
    is_end: bool

    @property
    def is_whole(self) -> bool:
        return self.is_beginning and self.is_end

    @property
    def length(self) -> int:
        return self.span.passage_end - self.span.passage_start

    @property
    def place(self) -> Stretch:
        return self.span.prompt_start, self.span.prompt_end


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt, in the form that it is searched in."""

    text: str
    form: Form
    finder: Finder

    def find(self, passage: int, text: str, form: Form, *, number: int) -> tuple[Find, ...]:
        """Return where the passage stands, the finder's text of that number: whole, else its beginning and end."""
        letters = form.letters
        if not has_letters(letters):
            return ()
        beginning = self.finder.beginning(number)
        ending = self.finder.ending(number) if beginning[1] < len(letters) else beginning
        at, length = ending
        if length == len(letters):
            whole = self._found(passage, (0, len(text)), ending, is_beginning=True, is_end=True)
            return () if length < _SHORT and not self._stands_alone(whole.place) else (whole,)
        finds = []
        if beginning[1]:
            part = (0, form.end(beginning[1]))
            finds.append(self._found(passage, part, beginning, is_beginning=True, is_end=False))
        if length:
            part = (form.start(len(letters) - length), len(text))
            finds.append(self._found(passage, part, (at, length), is_beginning=False, is_end=True))
        return tuple(finds)

    def _found(self, passage: int, part: Stretch, found: tuple[int, int], *, is_beginning: bool, is_end: bool) -> Find:
        span = TextSpan(
            passage_start=part[0],
            passage_end=part[1],
            prompt_start=self.form.start(found[0]),
            prompt_end=self.form.end(found[0] + found[1]),
        )
        return Find(passage=passage, span=span, is_beginning=is_beginning, is_end=is_end)

    def _stands_alone(self, place: Stretch) -> bool:
        start, end = place
        return not self.text[max(0, start - 1) : start].isalnum() and not self.text[end : end + 1].isalnum()


def contested(finds: Iterable[Find]) -> set[int]:
    """Return the passages of which a cut stretch stands where another passage stands too, unless as its neighbour."""
    unsure: set[int] = set()
    open_finds: list[Find] = []
    # Passages retrieved twice claim the same place; once is enough to compare with.
    claims = {(find.place, find.is_whole or find.passage): find for find in finds}
    for one in sorted(claims.values(), key=lambda find: find.place):
        open_finds = [other for other in open_finds if other.span.prompt_end > one.span.prompt_start]
        for other in open_finds:
            if not (_agree(other, one) or _agree(one, other)):
                unsure.update(find.passage for find in (one, other) if not find.is_whole)
        open_finds.append(one)
    return unsure


def without_strays(finds: Sequence[Find], lengths: Sequence[int]) -> list[Find]:
    """Leave out ends of passages that are short and stand inside what is found of another: stock phrases."""
    ends: list[int] = []
    reached = 0
    ordered = sorted(finds, key=lambda find: find.place)
    for one in ordered:
        ends.append(reached)
        reached = max(reached, one.span.prompt_end)
    strays = {
        id(one)
        for one, end in zip(ordered, ends, strict=True)
        if not one.is_whole and one.span.prompt_end <= end and one.length < _STRAY * lengths[one.passage]
    }
    return [one for one in finds if id(one) not in strays]


def _agree(first: Find, second: Find) -> bool:
    """Tell whether the place of both can belong to both: one inside the other whole, or neighbours that overlap."""
    lies_inside = second.place[0] <= first.place[0] and first.place[1] <= second.place[1]
    if first.is_whole and (second.is_whole or lies_inside):
        return True
    ends_inside = first.place[0] <= second.place[0] and first.place[1] <= second.place[1]
    return ends_inside and first.is_end and second.is_beginning


def copies(prompt: str, finds: Iterable[Find], union: Sequence[Stretch]) -> dict[int, list[Stretch]]:
    """Return where else in the prompt, outside `union`, the found stretches of each passage stand."""
    left = gaps(union, len(prompt))
    roomiest = max((end - start for start, end in left), default=0)
    budget = _COPIES
    more: dict[int, list[Stretch]] = {}
    for one in finds:
        start, end = one.place
        if not _SHORT <= end - start <= roomiest or budget <= 0:
            continue
        roomy = [gap for gap in left if gap[1] - gap[0] >= end - start]
        budget -= sum(b - a for a, b in roomy)
        more.setdefault(one.passage, []).extend(_occurrences(prompt[start:end], prompt, roomy))
    return more


def _occurrences(text: str, prompt: str, stretches: Iterable[Stretch]) -> Iterator[Stretch]:
    for start, end in stretches:
        at = prompt.find(text, start, end)
        while at >= 0:
            yield at, at + len(text)
            at = prompt.find(text, at + len(text), end)
