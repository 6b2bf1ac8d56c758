"""Index the sentences of the passages, so that a claim is held against each of them cheaply."""

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragtrace.judge.lexical.tokens import Token, character_grams, fold, tokenise

_SENTENCE_BREAK = re.compile(r"(?<=[。！？；!?])(?=[^”\"»』」）)])|(?<=[.!?;])[\"”»)]*\s+(?=[^\sa-zа-я])|\n+")
_LONGEST, _SHORTEST = 600, 200
"""Longer stretches without a full stop are cut at a comma or blank in between, in characters."""
_COMMONNESS = 0.5
"""How fast a token loses weight that many evidence sentences share."""


@dataclass(frozen=True, slots=True)
class EvidenceSentence:
    """A sentence of a passage."""

    passage: int
    """Which of the passages, from 0."""
    text: str
    """Folded."""
    tokens: tuple[Token, ...]
    keys: frozenset[str]


class Evidence:
    """The passages of one call, cut, tokenised and indexed."""

    def __init__(self, passages: Sequence[str]) -> None:
        self.sentences = [
            EvidenceSentence(passage=number, text=text, tokens=tokens, keys=frozenset(t.key for t in tokens))
            for number, passage in enumerate(passages)
            for text in _sentences(fold(passage))
            for tokens in [tuple(tokenise(text))]
        ]
        self.where: dict[str, list[int]] = defaultdict(list)
        for number, sentence in enumerate(self.sentences):
            for key in sentence.keys:
                self.where[key].append(number)
        self.grams: set[str] = set()
        for sentence in self.sentences:
            self.grams |= character_grams(sentence.text)

    def rarity(self, key: str) -> float:
        """Return 1 for a token that no sentence has, less for common ones."""
        if len(self.sentences) <= 3 or key not in self.where:
            return 1.0
        return 1 / (1 + _COMMONNESS * math.log(1 + len(self.where[key])))


def _sentences(passage: str) -> Iterator[str]:
    for piece in _SENTENCE_BREAK.split(passage):
        rest = piece.strip()
        while len(rest) > _LONGEST:
            cut = max(rest.rfind(mark, _SHORTEST, _LONGEST) for mark in ",;，、 ")
            cut = cut if cut >= _SHORTEST else _LONGEST
            yield rest[: cut + 1].strip()
            rest = rest[cut + 1 :].strip()
        if any(map(str.isalnum, rest)):
            yield rest
