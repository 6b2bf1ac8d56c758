"""Name what became of a passage from the stretches of it that were found."""

from collections.abc import Sequence

from ragtrace.align.spans import Stretch, merged
from ragtrace.model import DeliveryKind, DeliveryStatus

FULL = 0.97
"""From this share of its letters on, a passage counts as received whole."""
ABSENT = 0.05
"""Below this share, a passage counts as not received: boilerplate and stock phrases match by accident."""
_EDGE = 0.03
"""How far from a passage's beginning or end a stretch may start or stop and still be its head or tail."""
_WORD = 4
"""Letters missing at an edge from which on a passage is cut there, however long it is."""
_STRAY = 0.12
"""Stretches smaller than this share, of the longest and together, do not change the shape."""
_HOLES = 0.1
"""Share of holes up to which stretches count as one."""


def label(stretches: Sequence[Stretch], length: int) -> tuple[DeliveryStatus, DeliveryKind | None]:
    """Return status and kind for the found `stretches` of a passage of `length` letters."""
    union = merged(stretches)
    found = sum([end - start for start, end in union])
    if not union or found < ABSENT * length:
        return "absent", None
    if found >= FULL * length:
        cut = _cut_edge(union, length)
        return ("partial", cut) if cut else ("full", None)
    return "partial", _kind(main_stretches(union), length)


def _cut_edge(union: Sequence[Stretch], length: int) -> DeliveryKind | None:
    """Return what is left where a word is missing at an edge: a date cut off the end was never received."""
    has_start, has_end = union[0][0] < _WORD, length - union[-1][1] < _WORD
    if has_start:
        return None if has_end else "head"
    return "tail" if has_end else "middle"


def main_stretches(union: Sequence[Stretch]) -> list[Stretch]:
    """Return `union` without stray hits, where these are few."""
    if len(union) == 1:
        return list(union)
    longest = max(end - start for start, end in union)
    main = [(start, end) for start, end in union if end - start >= _STRAY * longest]
    kept, found = (sum(end - start for start, end in some) for some in (main, union))
    return main if kept >= (1 - _STRAY) * found else list(union)


def _kind(union: Sequence[Stretch], length: int) -> DeliveryKind:
    start, end = union[0][0], union[-1][1]
    holes = end - start - sum(b - a for a, b in union)
    if holes > _HOLES * (end - start):
        return "fragments"
    if start <= _EDGE * length:
        return "head"
    return "tail" if end >= (1 - _EDGE) * length else "middle"
