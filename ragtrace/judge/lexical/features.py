"""Measure how well passages support a claim by wording."""

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from ragtrace.judge.lexical.answers import fit, split_answer
from ragtrace.judge.lexical.conflicts import Conflicts, find_conflicts
from ragtrace.judge.lexical.evidence import Evidence
from ragtrace.judge.lexical.tokens import Token, TokenKind, character_grams, fold, tokenise

_LONGEST_CLAIM, _LONGEST_SENTENCE = 80, 120
"""Tokens that are compared in order; the rest of a longer text is left out of that one feature."""
_BEST: Final = 8
_NOUN_DOUBT: Final = 0.5
"""German writes all nouns like names, and an exchanged noun may be a synonym."""
_CLOSE_FROM, _CLOSE_TO = 0.25, 0.7
"""Shares of the claim in the best sentence at which a conflict between both starts to count, and counts fully."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A claim held against the evidence."""

    values: dict[str, float]
    """Features by name, each from 0 to 1."""
    is_answer: bool
    """The claim is a question with its answer."""
    best: tuple[int, ...]
    """Numbers of the evidence sentences that share most with the claim, best first."""
    coverage: tuple[float, ...]
    """Share of the claim's weight that each of `best` holds."""
    conflicts: Conflicts
    """With the best sentence."""
    missing: tuple[str, ...]
    """Keys of the claim's telling words that no passage has, weightiest first."""


def compare(claim: str, evidence: Evidence, *, question: str = "") -> Comparison:
    """Return features and best evidence of a claim; everything is 0 without evidence."""
    folded = fold(claim)
    tokens = tokenise(folded)
    weights = _weigh(tokens, evidence)
    shares = _shares(weights, evidence)
    best = heapq.nlargest(_BEST, range(len(shares)), key=lambda number: (shares[number], -number))
    conflicts = find_conflicts(folded, tokens, evidence, number=best[0]) if best else Conflicts()
    values = _support(folded, tokens, weights, evidence, shares=shares, best=best)
    values["neg_mis"] = float(conflicts.is_denied)
    values |= _disagreement(tokens, conflicts, evidence, best=best, coverage=values["cov_best1"])
    asked = split_answer(claim, question)
    if asked:
        values |= asdict(fit(*asked, evidence))
    return Comparison(
        values=values,
        is_answer=asked is not None,
        best=tuple(best),
        coverage=tuple(shares[number] for number in best),
        conflicts=conflicts,
        missing=tuple(_missing(tokens, weights, evidence)),
    )


def _missing(tokens: Iterable[Token], weights: dict[str, float], evidence: Evidence) -> list[str]:
    keys = {token.key for token in tokens if token.kind != "stop"} - evidence.where.keys()
    return sorted(keys, key=lambda key: (-weights[key], key))


def _weigh(tokens: Iterable[Token], evidence: Evidence) -> dict[str, float]:
    """Return each key's share of the claim's weight."""
    weights: dict[str, float] = {}
    for token in tokens:
        weights[token.key] = max(weights.get(token.key, 0.0), token.weight * evidence.rarity(token.key))
    total = sum(weights.values()) or 1.0
    return {key: weight / total for key, weight in weights.items()}


def _shares(weights: dict[str, float], evidence: Evidence) -> list[float]:
    """Return how much of the claim each sentence holds."""
    shares = [0.0] * len(evidence.sentences)
    for key, weight in weights.items():
        for number in evidence.where.get(key, ()):
            shares[number] += weight
    return shares


def _support(
    folded: str,
    tokens: Sequence[Token],
    weights: dict[str, float],
    evidence: Evidence,
    *,
    shares: Sequence[float],
    best: Sequence[int],
) -> dict[str, float]:
    missing = weights.keys() - evidence.where.keys()
    grams = character_grams(folded)
    return {
        "cov_best1": shares[best[0]] if best else 0.0,
        "cov_best3": _best_window(weights, evidence, shares),
        "ngram_char": len(grams & evidence.grams) / max(1, len(grams)),
        "lcs": _in_order(tokens, evidence.sentences[best[0]].tokens) if best else 0.0,
        "ent_miss": _share_missing(tokens, "name", missing),
        "num_miss": _share_missing(tokens, "number", missing),
    }


def _disagreement(
    tokens: Sequence[Token], conflicts: Conflicts, evidence: Evidence, *, best: Sequence[int], coverage: float
) -> dict[str, float]:
    """Return conflict features, each weaker the less of the claim the best sentence holds."""
    close = min(1.0, max(0.0, (coverage - _CLOSE_FROM) / (_CLOSE_TO - _CLOSE_FROM)))
    alike = {exchange.token.kind for exchange in conflicts.exchanges if exchange.is_alike}
    total = sum(token.weight for token in tokens) or 1.0
    words = sum(e.token.weight for e in conflicts.exchanges if e.token.kind == "word" or not e.is_alike)
    around = _around(evidence, best)
    return {
        "denied": close * conflicts.is_denied,
        "number_exchanged": close * ("number" in alike),
        "name_exchanged": close * ("name" in alike) * (_NOUN_DOUBT if evidence.language == "de" else 1.0),
        "words_exchanged": close * min(1.0, 2 * words / total),
        "reversed": close * conflicts.is_reversed,
        "opposite": close * (conflicts.opposite is not None),
        "number_elsewhere": _share_missing(tokens, "number", evidence.where.keys() - around),
        "name_elsewhere": _share_missing(tokens, "name", evidence.where.keys() - around),
    }


def _around(evidence: Evidence, best: Sequence[int]) -> set[str]:
    """Return the keys of the best sentence and its neighbours in the same passage."""
    sentences = evidence.sentences
    return {
        key
        for number in best[:1]
        for near in range(max(0, number - 1), min(len(sentences), number + 2))
        if sentences[near].passage == sentences[number].passage
        for key in sentences[near].keys
    }


def _best_window(weights: dict[str, float], evidence: Evidence, shares: Sequence[float]) -> float:
    """Return the largest share of the claim that three neighbouring sentences hold together."""
    best = 0.0
    for start in range(max(1, len(shares) - 2)):
        if sum(shares[start : start + 3]) <= best:
            continue
        keys = frozenset[str]().union(*(sentence.keys for sentence in evidence.sentences[start : start + 3]))
        best = max(best, sum(weight for key, weight in weights.items() if key in keys))
    return best


def _in_order(claim: Sequence[Token], sentence: Sequence[Token]) -> float:
    """Return the longest common subsequence as a share of the claim, by Hyyrö's bit-parallel recurrence."""
    where: dict[str, int] = {}
    for place, token in enumerate(sentence[:_LONGEST_SENTENCE]):
        where[token.key] = where.get(token.key, 0) | 1 << place
    wanted = claim[:_LONGEST_CLAIM]
    row = every = (1 << min(len(sentence), _LONGEST_SENTENCE)) - 1
    for token in wanted:
        shared = row & where.get(token.key, 0)
        row = (row + shared | row - shared) & every
    return (every & ~row).bit_count() / max(1, len(wanted))


def _share_missing(tokens: Iterable[Token], kind: TokenKind, missing: Iterable[str]) -> float:
    keys = {token.key for token in tokens if token.kind == kind}
    return len(keys.intersection(missing)) / max(1, len(keys))
