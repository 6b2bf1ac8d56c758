"""Measure how well passages support a claim by wording."""

import heapq
from dataclasses import dataclass

from ragtrace.judge.lexical.evidence import Evidence
from ragtrace.judge.lexical.tokens import Token, character_grams, count_negations, fold, tokenise

_LONGEST_CLAIM, _LONGEST_SENTENCE = 80, 120
"""Tokens that are compared in order; the rest of a longer text is left out of that one feature."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A claim held against the evidence."""

    values: dict[str, float]
    """Features by name, each from 0 to 1."""
    best: tuple[int, ...]
    """Numbers of the evidence sentences that share most with the claim, best first."""
    coverage: tuple[float, ...]
    """Share of the claim's weight that each of `best` holds."""


def compare(claim: str, evidence: Evidence, *, language: str) -> Comparison:
    """Return features and best evidence of a claim; everything is 0 without evidence."""
    folded = fold(claim)
    tokens = tokenise(folded)
    weights: dict[str, float] = {}
    for token in tokens:
        weight = token.weight * evidence.rarity(token.key)
        weights[token.key] = max(weights.get(token.key, 0.0), weight)
    total = sum(weights.values()) or 1e-6
    shares = [0.0] * len(evidence.sentences)
    for key, weight in weights.items():
        for number in evidence.where.get(key, ()):
            shares[number] += weight / total
    best = heapq.nlargest(8, range(len(shares)), key=lambda number: (shares[number], -number))
    missing = set(weights) - evidence.where.keys()
    grams = character_grams(folded)
    values = {
        "cov_best1": shares[best[0]] if best else 0.0,
        "cov_best3": _best_window(weights, evidence, shares, total),
        "ngram_char": len(grams & evidence.grams) / max(1, len(grams)),
        "lcs": _in_order(tokens, evidence.sentences[best[0]].tokens) if best else 0.0,
        "ent_miss": _share_missing(tokens, "name", missing),
        "num_miss": _share_missing(tokens, "number", missing),
        "neg_mis": _negation_differs(claim, [evidence.sentences[n].text for n in best[:2]], language),
    }
    return Comparison(values=values, best=tuple(best), coverage=tuple(shares[n] for n in best))


def _best_window(weights: dict[str, float], evidence: Evidence, shares: list[float], total: float) -> float:
    """Return the largest share of the claim that three neighbouring sentences hold together."""
    best = 0.0
    for start in range(max(1, len(shares) - 2)):
        window = range(start, min(start + 3, len(shares)))
        if sum(shares[n] for n in window) <= best:
            continue
        keys = frozenset().union(*(evidence.sentences[n].keys for n in window))
        best = max(best, sum(weight for key, weight in weights.items() if key in keys) / total)
    return best


def _in_order(claim: list[Token], sentence: tuple[Token, ...]) -> float:
    """Return the longest common subsequence as a share of the claim."""
    wanted = [token.key for token in claim[:_LONGEST_CLAIM]]
    offered = [token.key for token in sentence[:_LONGEST_SENTENCE]]
    row = [0] * (len(offered) + 1)
    for key in wanted:
        left = diagonal = 0
        for column, other in enumerate(offered, 1):
            above = row[column]
            left = diagonal + 1 if key == other else max(above, left)
            diagonal, row[column] = above, left
    return row[-1] / max(1, len(wanted))


def _share_missing(tokens: list[Token], kind: str, missing: set[str]) -> float:
    keys = {token.key for token in tokens if token.kind == kind}
    return len(keys & missing) / max(1, len(keys))


def _negation_differs(claim: str, sentences: list[str], language: str) -> float:
    negated = count_negations(claim, language) > 0
    return float(negated != any(count_negations(sentence, language) for sentence in sentences))
