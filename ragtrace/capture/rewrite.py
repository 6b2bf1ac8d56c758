"""Clean and mask texts, and say where a place in the old text is in the new one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ragtrace.masking import MASK_FAILED, Mask, mask_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Pieces:
    """A text cut at given places, after masking."""

    inside: tuple[str, ...]
    """What stood in the given spans."""
    outside: tuple[str, ...]
    """What stood before, between and after them, where that is not empty."""
    spans: tuple[tuple[int, int], ...]
    """The given spans, in the masked text."""


def cut(text: str, spans: Sequence[tuple[int, int]], *, mask: Mask | None) -> Pieces:
    """Mask a whole text and cut it at the given spans, so that no cut can split what the mask should find."""
    whole = mask_text(mask, text)
    if whole == MASK_FAILED:
        return Pieces(inside=(whole,), outside=(), spans=((0, len(whole)),))
    if whole != text:
        spans = _map_spans(text, whole, spans, rewrite=lambda part: mask_text(mask, part))
    starts, ends = [0, *(end for _start, end in spans)], [*(start for start, _end in spans), len(whole)]
    return Pieces(
        inside=tuple(whole[start:end] for start, end in spans),
        outside=tuple(whole[a:b] for a, b in zip(starts, ends, strict=True) if a < b),
        spans=tuple(spans),
    )


def _map_spans(
    text: str, whole: str, spans: Sequence[tuple[int, int]], *, rewrite: Callable[[str], str]
) -> list[tuple[int, int]]:
    mapped: list[tuple[int, int]] = []
    reached = 0
    for start, end in spans:
        first = max(reached, _map_place(text, whole, start, rewrite=rewrite))
        reached = max(first, _map_place(text, whole, end, rewrite=rewrite))
        mapped.append((first, reached))
    return mapped


def _map_place(text: str, whole: str, place: int, *, rewrite: Callable[[str], str]) -> int:
    """Find where `text[place]` went; a place inside something masked is put before it."""
    head = rewrite(text[:place])
    if whole == head + rewrite(text[place:]):
        return len(head)
    same = (a == b for a, b in zip(whole, head, strict=False))
    return next((at for at, is_same in enumerate(same) if not is_same), min(len(whole), len(head)))
