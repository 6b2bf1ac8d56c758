"""Share the prompt out among passages: the longest stretch claims its place first, look-alikes get what is left."""

from collections.abc import Iterable, Sequence

from ragtrace.align.block import Block
from ragtrace.align.chains import Chain
from ragtrace.align.claims import Claims
from ragtrace.align.labels import FULL
from ragtrace.align.skeleton import Skeleton
from ragtrace.align.spans import Stretch, merged
from ragtrace.align.units import Search, Unit

_OWN, _OWN_SHARE = 16, 0.05
"""Letters nobody else has that make a passage the likelier source of what it shares."""
_BESIDE = 64
"""Letters between two stretches of a passage that stand beside each other in the prompt."""
_CHUNK, _CHUNK_SHARE = 160, 0.25
"""Letters, at most and of what is kept, that a stretch far from the others must have."""
_SURE, _DENSE_ENOUGH = 60, 0.6
"""Letters that need no break around them, and their share of what they stretch over."""
_SHRED = 8
"""Letters below which what is left of a stretch is dropped."""


def share_out(units: Sequence[Unit], search: Search) -> None:
    """Fill in what is kept of each unit."""
    claims = Claims([unit.letters for unit in units])
    whole = [Chain(n, (), len(unit.letters)) for n, unit in enumerate(units) if unit.whole]
    parts = [chain for unit in units for chain in unit.chains]
    for chain in sorted([*whole, *parts], key=_rank):
        unit = units[chain.passage]
        if unit.whole:
            _claim_whole(chain.passage, unit, claims)
        else:
            _claim_parts(chain, unit, claims=claims, search=search)
    for unit in units:
        _keep_all_if_there(unit)


def _rank(chain: Chain) -> tuple[int, int]:
    return -chain.letters, len(chain.blocks)


def _claim_whole(passage: int, unit: Unit, claims: Claims) -> None:
    free = [block for block in unit.whole if 2 * claims.free(block) >= len(unit.letters)]
    for block in free:
        claims.add(passage, block)
    # All of it is there even where that is inside another passage.
    unit.whole = free or unit.whole[:1]
    unit.kept = unit.whole[:1]


def _claim_parts(chain: Chain, unit: Unit, *, claims: Claims, search: Search) -> None:
    if chain.letters < unit.enough:
        return
    is_free = claims.is_free(chain.blocks[0].place, chain.blocks[-1].place_end)
    own = chain.letters if is_free else sum(map(claims.free, chain.blocks))
    # What is shared with a neighbour stands wherever the neighbour does.
    is_apart = 2 * own >= chain.letters and not _is_beside(chain, unit.kept)
    enough = max(unit.enough, _elsewhere_enough(unit)) if is_apart else unit.enough
    if chain.letters < enough or (is_apart and not _is_plausible(chain, unit, search.prompt)):
        return
    kept = list(chain.blocks) if is_free else _allowed(chain, unit, own=own, claims=claims, search=search)
    if sum(block.end - block.start for block in kept) < enough:
        return
    if is_free:
        claims.add_row(chain.passage, kept)
    else:
        for block in kept:
            claims.add(chain.passage, block)
    unit.kept += kept


def _allowed(chain: Chain, unit: Unit, *, own: int, claims: Claims, search: Search) -> list[Block]:
    """Return what of `chain` is not somebody else's, some of it where the same text stands once more."""
    has_own = own >= max(_OWN, _OWN_SHARE * chain.letters)
    kept: list[Block] = []
    for block in chain.blocks:
        parts = claims.allowed(chain.passage, block, has_own=has_own)
        left = sum(part.end - part.start for part in parts)
        if 2 * left < block.end - block.start:
            parts = _moved(block, unit, claims=claims, search=search) or parts
        kept += (part for part in parts if part == block or part.end - part.start >= _SHRED)
    return kept


def _is_plausible(chain: Chain, unit: Unit, prompt: Skeleton) -> bool:
    """Tell a short piece of a passage from words that a question or summary has in common with it."""
    start, end = chain.blocks[0].place, chain.blocks[-1].place_end
    weighed = chain.letters * unit.weight
    if weighed < _CHUNK and chain.letters < _DENSE_ENOUGH * (end - start):
        return False
    return weighed >= _SURE or bool(unit.kept) or prompt.stands_apart(start, end)


def _is_beside(chain: Chain, kept: Sequence[Block]) -> bool:
    """Tell whether `chain` stands in the prompt next to what is already kept of its passage."""
    start, end = chain.blocks[0].place, chain.blocks[-1].place_end
    return any(start - block.place_end <= _BESIDE and block.place - end <= _BESIDE for block in kept)


def _elsewhere_enough(unit: Unit) -> int:
    """Return how much must stand apart from what is kept: stock phrases do, and so do chunks, but these are long."""
    kept = sum(block.end - block.start for block in unit.kept)
    return min(_CHUNK, round(_CHUNK_SHARE * kept))


def _moved(block: Block, unit: Unit, *, claims: Claims, search: Search) -> list[Block]:
    """Return the block where its text stands once more, unclaimed."""
    for place in search.elsewhere(unit.letters[block.start : block.end]):
        moved = Block(block.start, block.end, place)
        if claims.free(moved) >= 0.9 * (block.end - block.start):
            return [moved]
    return []


def _keep_all_if_there(unit: Unit) -> None:
    """Keep a text of which every letter is there, even if all of it was claimed by others; once for each place."""
    blocks = [block for chain in unit.chains for block in chain.blocks]
    there = merged((block.start, block.end) for block in blocks)
    places, kept = _letters((b.place, b.place_end) for b in blocks), _letters((b.start, b.end) for b in unit.kept)
    if there == [(0, len(unit.letters))] and kept < FULL * len(unit.letters) <= places:
        unit.kept = blocks


def _letters(stretches: Iterable[Stretch]) -> int:
    return sum(end - start for start, end in merged(stretches))
