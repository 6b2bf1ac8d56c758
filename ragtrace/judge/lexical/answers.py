"""Hold a short answer against the place of the passages that its question is about."""

import heapq
import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ragtrace.judge.lexical.evidence import Evidence
from ragtrace.judge.lexical.questions import has_odd_number, is_question, lacks_number
from ragtrace.judge.lexical.tokens import Token, fold, is_east_asian, tokenise

_ASKED = re.compile(
    r"(?P<question>[^?:]{4,200}(?:\?:?|(?<=[\u3040-\u9fff。]):|:(?!\d|//)))\s*(?P<answer>[^?]+)", re.DOTALL
)
_NEAR, _NEAR_WIDE = 8, 12
"""Distance at which a token of the question counts half, in tokens and in Chinese or Japanese characters."""
_FAR: Final = 200
_LOOKED_AT: Final = 40
"""Occurrences of one token that are tried."""
_NEIGHBOUR: Final = 0.4
"""How much of what the sentence next to it shares with the question counts for a sentence."""
_TOP: Final = 4
_TOGETHER: Final = 4
"""Tokens by which the parts of an answer may stand further apart in the passages."""
_TINY: Final = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """How well an answer stands where its question points; each from 0 to 1."""

    found: float = 0.0
    """Share of the answer that stands together somewhere."""
    nearest: float = 0.0
    """How near to that place the question's words stand, by the nearest that they stand to any place."""
    in_sentence: float = 0.0
    """How much the answer's sentence shares with the question, by the sentence that shares most."""
    echo: float = 0.0
    """Share of the answer that the question already says."""
    lacks_number: float = 0.0
    """1 where a number or date is asked for and none is given."""
    odd_number: float = 0.0
    """1 where a bare number is given and none is asked for."""


def split_answer(claim: str, question: str) -> tuple[str, str] | None:
    """Return question and answer of a claim such as "How long is the warranty? 24 months"; None for other claims."""
    claim = fold(claim).strip()
    asked = fold(question).strip().rstrip("?？。 ")
    if len(asked) > 3 and claim.lower().startswith(asked.lower()):
        answer = claim[len(asked) :].lstrip("?？。:： \n\t-–—")
        return (claim[: len(asked)], answer) if answer else None
    found = _ASKED.fullmatch(claim)
    if found and is_question(found["question"]):
        return found["question"], found["answer"].strip()
    return None


def fit(question: str, answer: str, evidence: Evidence) -> Fit:
    """Return how well a folded answer fits a folded question in the evidence; zeros where it is not there."""
    return _Search(question, answer, evidence).fit()


class _Search:
    """One answer's search: what is asked, what is answered, and where both stand."""

    def __init__(self, question: str, answer: str, evidence: Evidence) -> None:
        self._question, self._text, self._evidence = question, answer, evidence
        self._asked = tokenise(question)
        self._answer = tokenise(answer)
        self._answer_weights = _weights(self._answer, {})
        rarity = {token.key: evidence.rarity(token.key) for token in self._asked}
        self._frame = {k: w for k, w in _weights(self._asked, rarity).items() if k in evidence.places}
        self._present = sum(self._frame.values()) or _TINY
        self._half = _NEAR_WIDE if is_east_asian(question) else _NEAR
        self._sentences = self._sentence_shares()

    def fit(self) -> Fit:
        places = self._answer_places()
        if not places:
            return Fit(echo=self._echo(), **self._kinds())
        best = max(places, key=lambda place: places[place] * self._nearness(place))
        sentence = max(share * self._sentences[self._evidence.sentence_at(place)] for place, share in places.items())
        return Fit(
            found=places[best],
            nearest=min(1.0, self._nearness(best) / (self._nearest() or _TINY)),
            in_sentence=min(1.0, sentence / (max(self._sentences) or _TINY)),
            echo=self._echo(),
            **self._kinds(),
        )

    def _kinds(self) -> dict[str, float]:
        return {
            "lacks_number": float(lacks_number(self._question, self._text)),
            "odd_number": float(has_odd_number(self._question, self._text)),
        }

    def _echo(self) -> float:
        asked = {token.key for token in self._asked}
        total = sum(self._answer_weights.values()) or _TINY
        return sum(weight for key, weight in self._answer_weights.items() if key in asked) / total

    def _sentence_shares(self) -> list[float]:
        """Return how much each sentence, with the better of its neighbours, shares with the question."""
        shares = [0.0] * len(self._evidence.sentences)
        for key, weight in self._frame.items():
            for number in self._evidence.where[key]:
                shares[number] += weight
        padded = [0.0, *shares, 0.0]
        return [share + _NEIGHBOUR * max(padded[i], padded[i + 2]) for i, share in enumerate(shares)]

    def _answer_places(self) -> dict[int, float]:
        """Return places where at least half of the answer, or as much as is anywhere, stands, and the share of it."""
        weights, where = self._answer_weights, self._evidence.places
        total = sum(weights.values()) or _TINY
        known = sorted((key for key in weights if key in where), key=lambda key: len(where[key]) / weights[key] ** 2)
        reach = len(self._answer) + _TOGETHER
        shares = {
            place: sum(weights[key] for key in known if _distance(where[key], place) <= reach) / total
            for lead in known[:2]
            for place in where[lead][:_LOOKED_AT]
        }
        enough = min(0.5, max(shares.values(), default=0.0))
        return {place: share for place, share in shares.items() if share >= enough}

    def _nearness(self, place: int) -> float:
        where = self._evidence.places
        total = 0.0
        for key, weight in self._frame.items():
            distance = _distance(where[key], place)
            if distance < _FAR:
                total += weight / (1 + (distance / self._half) ** 2)
        return total / self._present

    def _nearest(self) -> float:
        """Return how near the question's words stand to the best place beside them."""
        asked = {token.key for token in self._asked}
        top = heapq.nlargest(_TOP, range(len(self._sentences)), key=lambda number: self._sentences[number])
        return max(
            (
                self._nearness(place)
                for number in top
                for place, token in enumerate(
                    self._evidence.sentences[number].tokens, self._evidence.sentences[number].place
                )
                if token.kind != "stop" and token.key not in asked
            ),
            default=0.0,
        )


def _weights(tokens: Sequence[Token], rarity: Mapping[str, float]) -> dict[str, float]:
    found: dict[str, float] = {}
    for token in tokens:
        found[token.key] = max(found.get(token.key, 0.0), token.weight * rarity.get(token.key, 1.0))
    return found


def _distance(places: Sequence[int], place: int) -> int:
    """Return how far the nearest of some ascending places is."""
    i = bisect_left(places, place)
    return min((abs(other - place) for other in places[max(0, i - 1) : i + 1]), default=_FAR)
