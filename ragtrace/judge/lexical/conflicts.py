"""Find where a claim says something else than the evidence sentence that it is otherwise close to."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ragtrace.judge.lexical.evidence import Evidence
from ragtrace.judge.lexical.polarity import find_denials, find_opposite, is_denied
from ragtrace.judge.lexical.tokens import Token

_REACH: Final = 5
"""Tokens to either side in which a shared one is looked for."""
_WIDEST_SLOT: Final = 8
"""Most tokens between two shared ones that still count as one exchanged expression."""
_TELLING: Final = 0.3
_SHARED: Final = 3
"""Words around a number that another sentence must share for the number to be taken from there."""
_PASSIVE = re.compile(r"\b(?:by|was|were|von|wurden?)\b|被|由|によ|れた|られ", re.IGNORECASE)
_FREE_ORDER: Final = frozenset({"ru", "uk", "be", "pl", "cs", "de", "fi", "hu", "tr"})
"""Languages that tell by endings who did what to whom, so that the order of names says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A token of the claim in whose place the evidence has another."""

    token: Token
    instead: Token
    is_elsewhere: bool
    """Some other sentence of the passages has the claim's token."""

    @property
    def is_alike(self) -> bool:
        """Both are numbers, or names, or other words."""
        return self.token.kind == self.instead.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflicts:
    """What a claim and one evidence sentence disagree on."""

    exchanges: tuple[Exchange, ...] = ()
    is_denied: bool = False
    """One of the two denies what the other asserts."""
    opposite: tuple[str, str] | None = None
    """The claim's word and its opposite in the evidence."""
    is_reversed: bool = False
    """The same names in another order."""


def find_conflicts(claim: str, tokens: Sequence[Token], evidence: Evidence, *, number: int) -> Conflicts:
    """Hold a folded claim against the evidence sentence of that number."""
    sentence = evidence.sentences[number]
    keys = frozenset(token.key for token in tokens)
    places = _follow(tokens, sentence.tokens)
    return Conflicts(
        exchanges=tuple(_exchanges(tokens, places, evidence, number=number)),
        is_denied=is_denied(find_denials(claim), keys, evidence.denials(number), sentence.keys),
        opposite=find_opposite(keys, sentence.keys),
        is_reversed=evidence.language not in _FREE_ORDER
        and _is_reversed(tokens, sentence.tokens, places)
        and len(_PASSIVE.findall(claim)) == len(_PASSIVE.findall(sentence.text)),
    )


def _follow(tokens: Sequence[Token], others: Sequence[Token]) -> list[int | None]:
    """Return for each token its place among the others, the next one on where there are several."""
    where: dict[str, list[int]] = {}
    for place, token in enumerate(others):
        where.setdefault(token.key, []).append(place)
    last, places = -1, list[int | None]()
    for token in tokens:
        candidates = where.get(token.key)
        if candidates:
            last = candidates[min(bisect_left(candidates, last + 1), len(candidates) - 1)]
        places.append(last if candidates else None)
    return places


def _exchanges(
    tokens: Sequence[Token], places: Sequence[int | None], evidence: Evidence, *, number: int
) -> list[Exchange]:
    others = evidence.sentences[number].tokens
    keys = {token.key for token in tokens}
    found = []
    for i, token in enumerate(tokens):
        if places[i] is not None or token.kind == "stop" or token.weight < _TELLING:
            continue
        slot = [other for other in _slot(i, places, others) if _is_telling(other) and other.key not in keys]
        alike = [other for other in slot if other.kind == token.kind]
        if token.kind == "number" and _is_said_elsewhere(i, tokens, evidence, number=number):
            continue
        if alike or (slot and token.kind != "number"):
            instead = (alike or slot)[0]
            found.append(Exchange(token=token, instead=instead, is_elsewhere=token.key in evidence.where))
    return found


def _is_said_elsewhere(i: int, tokens: Sequence[Token], evidence: Evidence, *, number: int) -> bool:
    """Tell whether another sentence has the number among the claim's words: a claim may join two sentences."""
    near = {token.key for token in tokens[max(0, i - _REACH) : i + 1 + _REACH] if _is_telling(token)} - {tokens[i].key}
    others = (n for n in evidence.where.get(tokens[i].key, ()) if n != number)
    return any(len(near & evidence.sentences[n].keys) >= _SHARED for n in others)


def _is_telling(token: Token) -> bool:
    return token.kind != "stop" and token.weight >= _TELLING


def _slot(i: int, places: Sequence[int | None], others: Sequence[Token]) -> Sequence[Token]:
    """Return the other sentence's tokens between the places of the claim's nearest shared ones."""
    left = next((p for p in reversed(places[max(0, i - _REACH) : i]) if p is not None), None)
    right = next((p for p in places[i + 1 : i + 1 + _REACH] if p is not None), None)
    if left is None and right is None:
        return ()
    start = left + 1 if left is not None else max(0, (right or 0) - _REACH + 1)
    end = right if right is not None else start + _REACH - 1
    return others[start:end] if end - start <= _WIDEST_SLOT else ()


def _is_reversed(tokens: Sequence[Token], others: Sequence[Token], places: Sequence[int | None]) -> bool:
    """Tell whether shared names stand in another order; a word is a name if either text has it as one."""
    names = {token.key for token in (*tokens, *others) if token.kind == "name"}
    order = dict[str, int]()
    for token, place in zip(tokens, places, strict=True):
        if place is not None and token.key in names:
            order.setdefault(token.key, place)
    return list(order.values()) != sorted(order.values())
