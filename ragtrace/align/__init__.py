"""Hold retrieved passages against the prompt: which text of which passage was received."""

from collections.abc import Sequence

from ragtrace.align.full import full
from ragtrace.align.kept import place_rest
from ragtrace.align.quick import PART_SEPARATOR, quick
from ragtrace.model import Delivery, Passage

__all__ = ["PART_SEPARATOR", "align", "full", "place_rest", "quick"]


def align(passages: Sequence[Passage], prompt_parts: Sequence[str]) -> Delivery:
    """Place every passage: at little cost where that is certain, thoroughly where it is not."""
    delivery = quick(passages, prompt_parts)
    if any(placed.status == "undetermined" for placed in delivery.passages):
        return full(passages, prompt_parts)
    return delivery
