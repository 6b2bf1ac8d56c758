"""Place passages that the prompt holds as they are, or cut at an end, in any rendering; guess nothing."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from ragtrace.align.exact import Find, Prompt, contested, copies, without_strays
from ragtrace.align.find import finder
from ragtrace.align.labels import label
from ragtrace.align.rest import Rest
from ragtrace.align.skeleton import AsIs, Skeleton, count_letters, has_letters
from ragtrace.align.spans import Stretch, gaps, merged, prompt_order, unknown
from ragtrace.model import Delivery, Passage, PassageDelivery

PART_SEPARATOR = "\n"
"""Stands between the parts of a prompt; prompt offsets count it."""
_SUMMARY = 200
"""Characters from which on an unexplained stretch might be a summary or translation."""
_IGNORED = 0.03
"""Share of a passage that may be missing without a look at where it might be."""
_REDUCED = 400_000
"""Plain characters reduced to letters at most, in search of passages that do not stand there as they are."""
_FOREIGN, _ESCAPE = 6, 60
"""What a further byte of a character, and an escape, cost in plain characters."""
_SMALL = 50_000
"""Characters of a prompt that is looked through for parts that neighbours brought."""
_KEY, _LONG_KEY = 14, 18
"""Letters in a row that are no accident in unexplained text, and where other passages stand."""
_STRAY = 0.06
"""Share of what is found up to which more of the passage elsewhere would not change its shape."""
_COUNTED = 8192
"""Characters up to which letters are counted; in longer texts characters are, white space and all."""


def quick(passages: Sequence[Passage], prompt_parts: Sequence[str]) -> Delivery:
    """Place what can be placed for certain at little cost; what cannot is `undetermined`."""
    text = PART_SEPARATOR.join(prompt_parts)
    plain = [AsIs(passage.text) for passage in passages]
    prompt = Prompt(text=text, form=AsIs(text), finder=finder(text, [one.letters for one in plain]))
    found = [prompt.find(n, passage.text, plain[n], number=n) for n, passage in enumerate(passages)]
    delivery = _decided(passages, text, found)
    missed = [index for index, one in enumerate(delivery.passages) if one.status == "undetermined"]
    if not missed or not _is_affordable([text, *(passages[index].text for index in missed)]):
        return delivery
    form, forms = Skeleton(text), [Skeleton(passages[index].text) for index in missed]
    reduced = Prompt(text=text, form=form, finder=finder(form.letters, [one.letters for one in forms]))
    for number, index in enumerate(missed):
        found[index] = reduced.find(index, passages[index].text, forms[number], number=number)
    return _decided(passages, text, found)


def _is_affordable(texts: Sequence[str]) -> bool:
    if sum(map(len, texts)) > _REDUCED:
        return False
    costs = (
        len(text)
        + _FOREIGN * (len(text.encode(errors="replace")) - len(text))
        + _ESCAPE * (text.count("\\") + text.count("&"))
        for text in texts
    )
    return sum(costs) <= _REDUCED


def _decided(passages: Sequence[Passage], prompt: str, found: Sequence[Sequence[Find]]) -> Delivery:
    lengths = [len(passage.text) for passage in passages]
    kept = without_strays([one for finds in found for one in finds], lengths)
    unsure = contested(kept)
    sure: list[list[Find]] = [[] for _ in passages]
    for one in kept:
        if one.passage not in unsure:
            sure[one.passage].append(one)
    places = merged(one.place for finds in sure for one in finds)
    more = copies(prompt, [one for finds in sure for one in finds], places)
    explained = merged([*places, *(place for others in more.values() for place in others)])
    left = [prompt[start:end] for start, end in gaps(explained, len(prompt))]
    # Where a neighbour stands, a part of a passage can be too; a large prompt is too dear to look through.
    rest = Rest([prompt], key=_LONG_KEY) if len(prompt) <= _SMALL else Rest(left, key=_KEY)
    longest = max(map(len, left), default=0)
    counts = _counts(passages, sure, more)
    deliveries = tuple(
        PassageDelivery(passage=passage, status="undetermined")
        if index in unsure
        else _delivery(passage, finds, rest=rest, longest=longest, copies=counts.get(passage.text, 1))
        for index, (passage, finds) in enumerate(zip(passages, sure, strict=True))
    )
    known = ((s.prompt_start, s.prompt_end) for delivery in deliveries for s in delivery.spans)
    also = (place for index, others in more.items() if deliveries[index].spans for place in others)
    return Delivery(
        passages=deliveries,
        prompt_order=prompt_order(deliveries),
        unknown_spans=unknown(prompt, merged([*known, *also])),
    )


def _delivery(passage: Passage, finds: Sequence[Find], *, rest: Rest, longest: int, copies: int) -> PassageDelivery:
    text = passage.text
    if finds and finds[0].is_whole:
        return PassageDelivery(passage=passage, status="full", coverage=1.0, spans=(finds[0].span,), copies=copies)
    if not has_letters(text):
        return PassageDelivery(passage=passage, status="absent")
    missing = _missing(finds, len(text))
    large = [(start, end) for start, end in missing if end - start > _IGNORED * len(text)]
    looked_for = large or [(start, end) for start, end in missing if has_letters(text[start:end])]
    lost = sum([end - start for start, end in looked_for])
    strays = _STRAY * sum([one.length for one in finds]) / max(1, lost)
    might_be_told = not finds and longest >= _SUMMARY
    if (
        not looked_for
        or might_be_told
        or any(
            rest.has_room_for(end - start) and rest.may_hold(text[start:end], passage_length=len(text), strays=strays)
            for start, end in looked_for
        )
    ):
        return PassageDelivery(passage=passage, status="undetermined")
    return _cut(passage, finds, copies=copies)


def _missing(finds: Sequence[Find], length: int) -> list[Stretch]:
    ends = [0, *(one.span.passage_end for one in finds)]
    starts = [*(one.span.passage_start for one in finds), length]
    return list(zip(ends, starts, strict=True))


def _cut(passage: Passage, finds: Sequence[Find], *, copies: int) -> PassageDelivery:
    text = passage.text
    stretches = [(one.span.passage_start, one.span.passage_end) for one in finds]
    total = len(text)
    if total <= _COUNTED:
        stretches, total = _in_letters(stretches, text)
    status, kind = label(stretches, total)
    if status == "absent":
        return PassageDelivery(passage=passage, status=status)
    return PassageDelivery(
        passage=passage,
        status=status,
        kind=kind,
        coverage=sum([end - start for start, end in stretches]) / total,
        spans=tuple([one.span for one in finds]),
        copies=copies,
    )


def _in_letters(stretches: Sequence[Stretch], text: str) -> tuple[list[Stretch], int]:
    """Return which letters of a text the stretches are, and how many it has."""
    edges = sorted({0, len(text), *(edge for stretch in stretches for edge in stretch)})
    before = {0: 0}
    for start, end in pairwise(edges):
        before[end] = before[start] + count_letters(text[start:end])
    return [(before[start], before[end]) for start, end in stretches], before[len(text)]


def _counts(
    passages: Sequence[Passage], sure: Sequence[Sequence[Find]], more: Mapping[int, Sequence[Stretch]]
) -> dict[str, int]:
    """Count the places of each passage's text; passages with the same text share them."""
    places: dict[str, set[Stretch]] = {}
    for index, finds in enumerate(sure):
        if finds:
            found = [finds[0].place, *more.get(index, ())]
            places.setdefault(passages[index].text, set()).update(found)
    return {text: len(found) for text, found in places.items()}
