"""Stretches of passages that stand in the prompt character by character, and whether they contradict each other."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ragtrace.align.find import Finder
from ragtrace.align.flat import flatten, unflattened
from ragtrace.align.skeleton import has_letters
from ragtrace.align.spans import Stretch, gaps
from ragtrace.model import TextSpan

_SHORT = 16
"""Characters below which a text must not touch other letters: it might be part of a word."""
_WINDOW = 2048
"""Characters at each end of a long passage that must be there flattened before all of it is."""
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
    def place(self) -> Stretch:
        return self.span.prompt_start, self.span.prompt_end


def find(passage: int, text: str, finder: Finder) -> tuple[Find, ...]:
    """Return where the passage stands: whole, else its longest beginning and end, plain or with blanks collapsed."""
    core = text.strip()
    if not has_letters(core):
        return ()
    found = _find_form(passage, text, core, finder=finder)
    if (found and found[0].is_whole) or not _is_worth_flattening(core, finder):
        return found
    return max(found, _find_form(passage, text, flatten(core), finder=finder), key=_length)


def contested(finds: Sequence[Find]) -> set[int]:
    """Return the passages of which a cut stretch stands where another passage stands too, unless as its neighbour."""
    unsure: set[int] = set()
    open_finds: list[Find] = []
    # Passages retrieved twice claim the same place; once is enough to compare with.
    for one in sorted({(find.place, find.is_whole): find for find in finds}.values(), key=lambda find: find.place):
        open_finds = [other for other in open_finds if other.span.prompt_end > one.span.prompt_start]
        for other in open_finds:
            if not (_agree(other, one) or _agree(one, other)):
                unsure.update(find.passage for find in (one, other) if not find.is_whole)
        open_finds.append(one)
    return unsure


def _agree(first: Find, second: Find) -> bool:
    """Tell whether the place of both can belong to both: one inside the other whole, or neighbours that overlap."""
    if first.is_whole and (
        second.is_whole or (second.place[0] <= first.place[0] and first.place[1] <= second.place[1])
    ):
        return True
    ends_inside = first.place[0] <= second.place[0] and first.place[1] <= second.place[1]
    return ends_inside and first.is_end and second.is_beginning


def copies(prompt: str, finds: Iterable[Find], union: Sequence[Stretch]) -> dict[int, list[Stretch]]:
    """Return where else in the prompt, outside `union`, the found stretches of each passage stand."""
    left = gaps(union, len(prompt))
    budget = _COPIES
    more: dict[int, list[Stretch]] = {}
    for one in finds:
        start, end = one.place
        roomy = [gap for gap in left if gap[1] - gap[0] >= max(end - start, _SHORT)]
        budget -= sum(b - a for a, b in roomy)
        if roomy and budget > 0:
            more.setdefault(one.passage, []).extend(_occurrences(prompt[start:end], prompt, roomy))
    return more


def _occurrences(text: str, prompt: str, stretches: Iterable[Stretch]) -> Iterator[Stretch]:
    for start, end in stretches:
        at = prompt.find(text, start, end)
        while at >= 0:
            yield at, at + len(text)
            at = prompt.find(text, at + len(text), end)


def _is_worth_flattening(core: str, finder: Finder) -> bool:
    if len(core) <= 2 * _WINDOW:
        return flatten(core) != core
    head, tail = core[:_WINDOW], core[-_WINDOW:]
    flat_head, flat_tail = flatten(head), flatten(tail)
    if head == flat_head and tail == flat_tail:
        return False
    return finder.beginning(flat_head)[1] > 0 or finder.ending(flat_tail)[1] > 0


def _find_form(passage: int, text: str, form: str, *, finder: Finder) -> tuple[Find, ...]:
    """Look for `form`, which is `text` stripped and maybe flattened; offsets are led back to `text`."""
    at, length = finder.beginning(form)
    if length == len(form):
        if length < _SHORT and not _stands_alone(finder.prompt, at, at + length):
            return ()
        return (_made(passage, (0, len(text)), (at, length), is_beginning=True, is_end=True),)
    found = []
    if length:
        cut = _led_back(text, form, offset=length)
        found.append(_made(passage, (0, cut), (at, length), is_beginning=True, is_end=False))
    at, length = finder.ending(form)
    if length:
        cut = _led_back(text, form, offset=len(form) - length)
        found.append(_made(passage, (cut, len(text)), (at, length), is_beginning=False, is_end=True))
    return tuple(found)


def _made(passage: int, part: Stretch, place: Stretch, *, is_beginning: bool, is_end: bool) -> Find:
    span = TextSpan(passage_start=part[0], passage_end=part[1], prompt_start=place[0], prompt_end=place[0] + place[1])
    return Find(passage=passage, span=span, is_beginning=is_beginning, is_end=is_end)


def _led_back(text: str, form: str, *, offset: int) -> int:
    core = text.lstrip()
    lead = len(text) - len(core)
    core = core.rstrip()
    return lead + (offset if len(form) == len(core) else unflattened(core, form, offset=offset))


def _stands_alone(prompt: str, start: int, end: int) -> bool:
    return not prompt[max(0, start - 1) : start].isalnum() and not prompt[end : end + 1].isalnum()


def _length(finds: Sequence[Find]) -> int:
    return sum(find.span.prompt_end - find.span.prompt_start for find in finds)
