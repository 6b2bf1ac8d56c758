"""Place passages in a prompt whatever was done to them on the way: cut, split, wrapped, numbered, masked, escaped."""

from collections.abc import Sequence

from ragtrace.align.delivery import delivered
from ragtrace.align.quick import PART_SEPARATOR
from ragtrace.align.segments import join
from ragtrace.align.sharing import share_out
from ragtrace.align.skeleton import Skeleton
from ragtrace.align.spans import merged, prompt_order, unknown
from ragtrace.align.units import Search, Unit
from ragtrace.model import Delivery, Passage


def full(passages: Sequence[Passage], prompt_parts: Sequence[str]) -> Delivery:
    """Place every passage; one that is found nowhere is `absent`, or `transformed` where it may have been rewritten."""
    text = PART_SEPARATOR.join(prompt_parts)
    prompt = Skeleton(text)
    forms = [Skeleton(passage.text) for passage in passages]
    units = {letters: Unit(letters=letters) for letters in dict.fromkeys(form.letters for form in forms) if letters}
    search = Search(prompt)
    search.find(list(units.values()))
    share_out(list(units.values()), search)
    deliveries = []
    explained = []
    for passage, form in zip(passages, forms, strict=True):
        unit = units.get(form.letters, Unit(letters=""))
        segments = join(unit.kept, form, prompt)
        delivery = delivered(passage, segments, form=form, prompt=prompt, copies=unit.copies)
        deliveries.append(delivery)
        if delivery.spans:
            explained += [(segment.place, segment.place_end) for segment in segments]
            explained += [(block.place, block.place_end) for block in unit.whole]
    known = [(prompt.start(start), prompt.end(end)) for start, end in merged(explained)]
    return Delivery(
        passages=tuple(deliveries), prompt_order=prompt_order(deliveries), unknown_spans=unknown(text, known)
    )
