"""Place passages in a prompt whatever was done to them on the way: cut, split, wrapped, numbered, masked, escaped."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragtrace.align.delivery import delivered
from ragtrace.align.edges import with_edges
from ragtrace.align.quick import PART_SEPARATOR
from ragtrace.align.segments import join
from ragtrace.align.sharing import share_out
from ragtrace.align.skeleton import Skeleton, has_letters
from ragtrace.align.spans import Stretch, beside, merged, prompt_order, unknown
from ragtrace.align.transformed import is_retold, told
from ragtrace.align.units import Search, Unit
from ragtrace.model import Delivery, Passage, PassageDelivery, TextSpan

_LITTLE, _FEW = 0.3, 80
"""Share and characters below which what was found of a passage may be words that its summary kept."""

_HALF = 0.5
"""Share below which what was found may be clauses that a summary or translation kept."""


def full(passages: Sequence[Passage], prompt_parts: Sequence[str]) -> Delivery:
    """Place every passage; one that is found nowhere is `absent`, or `transformed` where it may have been rewritten."""
    text = PART_SEPARATOR.join(prompt_parts)
    prompt = Skeleton(text)
    forms = [Skeleton(passage.text) for passage in passages]
    units = {letters: Unit(letters=letters) for letters in dict.fromkeys(form.letters for form in forms) if letters}
    search = Search(prompt)
    search.find(list(units.values()))
    share_out(list(units.values()), search)
    results = [_result(passage, form, units, prompt) for passage, form in zip(passages, forms, strict=True)]
    rewritten = _rewritten(results, text)
    results = [
        _Result(delivery=_transformed(one.delivery.passage)) if n in rewritten else one for n, one in enumerate(results)
    ]
    deliveries = tuple(one.delivery for one in results)
    known = merged(stretch for one in results for stretch in one.explained)
    return Delivery(passages=deliveries, prompt_order=prompt_order(deliveries), unknown_spans=unknown(text, known))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Result:
    """What became of one passage, and which characters of the prompt that explains."""

    delivery: PassageDelivery
    explained: tuple[Stretch, ...] = ()


def _result(passage: Passage, form: Skeleton, units: Mapping[str, Unit], prompt: Skeleton) -> _Result:
    unit = units.get(form.letters, Unit(letters=""))
    if unit.whole:
        return _whole(passage, unit, prompt)
    segments = with_edges(join(unit.kept, form, prompt), form, prompt)
    delivery = delivered(passage, segments, form=form, prompt=prompt)
    explained = ((prompt.start(one.place), prompt.end(one.place_end)) for one in segments if delivery.spans)
    return _Result(delivery=delivery, explained=tuple(explained))


def _whole(passage: Passage, unit: Unit, prompt: Skeleton) -> _Result:
    places = [(prompt.start(block.place), prompt.end(block.place_end)) for block in unit.whole]
    start, end = places[0]
    span = TextSpan(passage_start=0, passage_end=len(passage.text), prompt_start=start, prompt_end=end)
    delivery = PassageDelivery(passage=passage, status="full", coverage=1.0, spans=(span,), copies=len(places))
    return _Result(delivery=delivery, explained=tuple(places))


def _transformed(passage: Passage) -> PassageDelivery:
    return PassageDelivery(passage=passage, status="transformed")


def _is_little(delivery: PassageDelivery) -> bool:
    return delivery.coverage < _LITTLE and len(delivery.received_text) < _FEW


def _rewritten(results: Sequence[_Result], prompt: str) -> set[int]:
    """Return which passages reached the prompt in other words, even if some of their own are among these."""
    found = [one.delivery for one in results]
    missing = [n for n, one in enumerate(found) if _is_little(one) and has_letters(one.passage.text)]
    pieces = [n for n, one in enumerate(found) if one.status == "partial" and one.coverage < _HALF and n not in missing]
    if not missing and not pieces:
        return set()
    unexplained = unknown(prompt, merged(stretch for one in results for stretch in one.explained))
    passages = [one.passage.text for one in found]
    answers = told([passages[n] for n in missing], [prompt[start:end] for start, end in unexplained], passages=passages)
    rewritten = {n for n, is_told in zip(missing, answers, strict=True) if is_told}
    rewritten.update(
        n
        for n in pieces
        if is_retold(passages[n], beside(found[n].spans, unexplained, prompt), received=found[n].received_text)
    )
    return rewritten
