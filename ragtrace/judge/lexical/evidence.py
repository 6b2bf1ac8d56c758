"""Index the sentences of the passages, so that a claim is held against each of them cheaply."""

import math
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from ragtrace.judge.lexical.polarity import Denials, find_denials
from ragtrace.judge.lexical.tokens import Token, character_grams, fold, tokenise
from ragtrace.text import detect_language

_SENTENCE_BREAK = re.compile(r"(?<=[。！？；!?])(?=[^”\"»』」）)])|(?<=[.!?;])[\"”»)]{0,3}\s+(?=[^\sa-zа-я])|\n+")
_LONGEST, _SHORTEST = 600, 200
"""Longer stretches without a full stop are cut at a comma or blank in between, in characters."""
_COMMONNESS: Final = 0.5
"""How fast a token loses weight that many evidence sentences share."""
_LANGUAGE_SAMPLE: Final = 600
_GAP, _PASSAGE_GAP = 15, 1_000
"""Tokens that the end of a sentence, and of a passage, counts for when distances are measured."""


@dataclass(frozen=True, slots=True)
class EvidenceSentence:
    """A sentence of a passage."""

    passage: int
    """Which of the passages, from 0."""
    text: str
    """Folded."""
    tokens: tuple[Token, ...]
    keys: frozenset[str]
    place: int
    """Where its first token stands among all tokens, gaps counted."""


class Evidence:
    """The passages of one call, cut, tokenised and indexed."""

    def __init__(self, passages: Sequence[str]) -> None:
        found = [detect_language(passage[:_LANGUAGE_SAMPLE]) for passage in passages]
        self.languages = frozenset(found) - {"und"}
        """Languages of the passages, where they tell."""
        self.language = max(sorted(self.languages), key=found.count, default="und")
        """The commonest of them."""
        self.sentences: list[EvidenceSentence] = []
        self.where: dict[str, list[int]] = {}
        """Numbers of the sentences that hold a key, ascending."""
        place = 0
        for number, passage in enumerate(passages):
            for text in _sentences(fold(passage)):
                tokens = tokenise(text)
                keys = frozenset(token.key for token in tokens)
                for key in keys:
                    self.where.setdefault(key, []).append(len(self.sentences))
                self.sentences.append(EvidenceSentence(number, text, tokens, keys, place))
                place += len(tokens) + _GAP
            place += _PASSAGE_GAP
        self._denials: dict[int, Denials] = {}

    @cached_property
    def grams(self) -> set[str]:
        """Pieces of four or two characters of all sentences."""
        return set().union(*(character_grams(sentence.text) for sentence in self.sentences))

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """Where each key stands, ascending."""
        found: dict[str, list[int]] = {}
        for sentence in self.sentences:
            for place, token in enumerate(sentence.tokens, sentence.place):
                found.setdefault(token.key, []).append(place)
        return found

    @cached_property
    def _starts(self) -> list[int]:
        return [sentence.place for sentence in self.sentences]

    def sentence_at(self, place: int) -> int:
        """Return the number of the sentence that a place is in."""
        return bisect_left(self._starts, place + 1) - 1

    def denials(self, number: int) -> Denials:
        """Return what a sentence denies; found once."""
        if number not in self._denials:
            self._denials[number] = find_denials(self.sentences[number].text)
        return self._denials[number]

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
