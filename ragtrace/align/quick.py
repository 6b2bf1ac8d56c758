"""Place passages that the prompt holds as they are, cut at an end, or with white space collapsed; guess nothing."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from ragtrace.align.exact import Find, contested, copies, find
from ragtrace.align.find import Finder
from ragtrace.align.labels import label
from ragtrace.align.rest import Rest
from ragtrace.align.skeleton import count_letters, has_letters
from ragtrace.align.spans import Stretch, gaps, merged, prompt_order, unknown
from ragtrace.model import Delivery, Passage, PassageDelivery

PART_SEPARATOR = "\n"
"""Stands between the parts of a prompt; prompt offsets count it."""
_SUMMARY = 200
"""Letters from which on an unexplained stretch might be a summary or translation."""
_IGNORED = 0.03
"""Share of a passage that may be missing without a look at where it might be."""


def quick(passages: Sequence[Passage], prompt_parts: Sequence[str]) -> Delivery:
    """Place what can be placed for certain at little cost; what cannot is `undetermined`."""
    prompt = PART_SEPARATOR.join(prompt_parts)
    finder = Finder(prompt, texts=len(passages))
    found = [find(index, passage.text, finder) for index, passage in enumerate(passages)]
    unsure = contested([one for finds in found for one in finds])
    sure = [() if index in unsure else finds for index, finds in enumerate(found)]
    places = merged(one.place for finds in sure for one in finds)
    more = copies(prompt, [one for finds in sure for one in finds], places)
    explained = merged([*places, *(place for others in more.values() for place in others)])
    rest = Rest(prompt[start:end] for start, end in gaps(explained, len(prompt)))
    counts = _counts(passages, sure, more)
    deliveries = tuple(
        _delivery(passage, finds, rest=rest, copies=counts.get(passage.text, 1), is_sure=index not in unsure)
        for index, (passage, finds) in enumerate(zip(passages, sure, strict=True))
    )
    known = ((s.prompt_start, s.prompt_end) for delivery in deliveries for s in delivery.spans)
    also = (place for index, others in more.items() if deliveries[index].spans for place in others)
    return Delivery(
        passages=deliveries,
        prompt_order=prompt_order(deliveries),
        unknown_spans=unknown(prompt, merged([*known, *also])),
    )


def _delivery(passage: Passage, finds: Sequence[Find], *, rest: Rest, copies: int, is_sure: bool) -> PassageDelivery:
    text = passage.text
    if finds and finds[0].is_whole:
        return PassageDelivery(passage=passage, status="full", coverage=1.0, spans=(finds[0].span,), copies=copies)
    if not has_letters(text):
        return PassageDelivery(passage=passage, status="absent")
    missing = [(start, end) for start, end in _missing(finds, len(text)) if end - start > _IGNORED * len(text)]
    might_be_told = not finds and rest.longest >= _SUMMARY
    if not is_sure or not missing or might_be_told or any(rest.may_hold(text[a:b]) for a, b in missing):
        return PassageDelivery(passage=passage, status="undetermined")
    return _cut(passage, finds, copies=copies)


def _cut(passage: Passage, finds: Sequence[Find], *, copies: int) -> PassageDelivery:
    text = passage.text
    parts = [(one.span.passage_start, one.span.passage_end) for one in finds]
    edges = sorted({0, len(text), *(edge for part in parts for edge in part)})
    before = {0: 0}
    for start, end in pairwise(edges):
        before[end] = before[start] + count_letters(text[start:end])
    total = before[len(text)]
    stretches: list[Stretch] = [(before[start], before[end]) for start, end in parts]
    status, kind = label(stretches, total)
    if status == "absent":
        return PassageDelivery(passage=passage, status=status)
    covered = sum(end - start for start, end in stretches) / total
    spans = tuple(one.span for one in finds)
    return PassageDelivery(passage=passage, status=status, kind=kind, coverage=covered, spans=spans, copies=copies)


def _missing(finds: Sequence[Find], length: int) -> Iterator[Stretch]:
    ends = [0, *(one.span.passage_end for one in finds)]
    starts = [*(one.span.passage_start for one in finds), length]
    return zip(ends, starts, strict=True)


def _counts(
    passages: Sequence[Passage], sure: Sequence[Sequence[Find]], more: Mapping[int, Sequence[Stretch]]
) -> dict[str, int]:
    """Count the places of each passage's text; passages with the same text share them."""
    places: dict[str, set[Stretch]] = {}
    for index, finds in enumerate(sure):
        places.setdefault(passages[index].text, set()).update([*(one.place for one in finds[:1]), *more.get(index, ())])
    return {text: max(1, len(found)) for text, found in places.items()}
