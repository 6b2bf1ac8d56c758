"""Stretches of the prompt: who explains which, and what is left."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence

from ragtrace.align.skeleton import has_letters
from ragtrace.model import PassageDelivery, TextSpan

Stretch = tuple[int, int]
"""Start and end, exclusive."""


def merged(stretches: Iterable[Stretch]) -> list[Stretch]:
    """Return the union, sorted; stretches that touch become one."""
    union: list[Stretch] = []
    for start, end in sorted(stretches):
        if union and start <= union[-1][1]:
            union[-1] = (union[-1][0], max(end, union[-1][1]))
        else:
            union.append((start, end))
    return union


def gaps(union: Sequence[Stretch], length: int) -> list[Stretch]:
    """Return what the sorted, disjoint `union` leaves of `length` characters."""
    starts = [0, *(end for _, end in union)]
    ends = [*(start for start, _ in union), length]
    return [(start, end) for start, end in zip(starts, ends, strict=True) if start < end]


def unknown(prompt: str, union: Sequence[Stretch]) -> tuple[Stretch, ...]:
    """Return the stretches of `prompt` outside `union` that say anything, without white space around them."""
    found = []
    for start, end in gaps(union, len(prompt)):
        text = prompt[start:end]
        if has_letters(text):
            left = start + len(text) - len(text.lstrip())
            found.append((left, left + len(text.strip())))
    return tuple(found)


def prompt_order(passages: Sequence[PassageDelivery]) -> tuple[int, ...]:
    """Return the indexes of received passages by their first place in the prompt."""
    firsts = [(min(span.prompt_start for span in p.spans), i) for i, p in enumerate(passages) if p.spans]
    return tuple(i for _, i in sorted(firsts))


def beside(spans: Iterable[TextSpan], stretches: Sequence[Stretch], prompt: str) -> str:
    """Return what of the sorted, disjoint `stretches` stands on the lines of `spans`."""
    lines = merged((prompt.rfind("\n", 0, span.prompt_start) + 1, _line_end(prompt, span.prompt_end)) for span in spans)
    pieces = []
    for first, last in lines:
        at = max(0, bisect_right(stretches, (first, first)) - 1)
        while at < len(stretches) and stretches[at][0] < last:
            pieces.append(prompt[max(stretches[at][0], first) : min(stretches[at][1], last)])
            at += 1
    return " ".join(pieces)


def _line_end(prompt: str, offset: int) -> int:
    end = prompt.find("\n", offset)
    return len(prompt) if end < 0 else end
