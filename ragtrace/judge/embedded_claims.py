"""Turn one sentence, held against passages by wording, into a claim with its verdict."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ragtrace.judge.embedded_reason import contradiction, lack
from ragtrace.judge.lexical.evidence import Evidence
from ragtrace.judge.lexical.features import Comparison, compare
from ragtrace.judge.lexical.scoring import Model, probability
from ragtrace.judge.lexical.tokens import WORDS, fold, tokenise
from ragtrace.model import Claim

_SUPPORTED_FROM, _UNSUPPORTED_TO = 0.6, 0.4
"""Between these probabilities wording does not tell."""
_NEAR_BEST: Final = 0.8
"""A passage is evidence too whose best sentence covers this share of what the best one covers."""
_BARE_ANSWERS: Final = frozenset(WORDS["bare_answers"].split())
_PUNCTUATION: Final = " .,!。！，、\"'*_"
_CLOSE: Final = 0.5
"""Share of the claim that a sentence has to hold to contradict it."""
_FRAGMENT: Final = 3
"""An answer of so few telling words is judged together with its question."""
_ANSWERS_IN_FULL: Final = 0.5
"""An answer that repeats this share of the question's telling words is a sentence of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Passages that sentences are held against."""

    numbers: tuple[int, ...]
    """Their indexes in the call."""
    evidence: Evidence


def read_source(texts: Sequence[tuple[int, str]]) -> Source | None:
    """Index the texts that are not blank, with their passages' indexes; None where all are blank."""
    kept = [(number, text) for number, text in texts if text.strip()]
    if not kept:
        return None
    return Source(numbers=tuple(number for number, _ in kept), evidence=Evidence([text for _, text in kept]))


def with_question(text: str, question: str) -> str:
    """Return a fragment such as "24 months" behind its question, any other sentence as it is."""
    answer, asked = _telling(text), _telling(question)
    is_fragment = 0 < len(answer) <= _FRAGMENT and len(asked) > 1
    if not is_fragment or len(answer & asked) >= _ANSWERS_IN_FULL * len(asked):
        return text
    return f"{question.strip().rstrip('?？')}? {text}"


def _says_something(text: str) -> bool:
    """Tell whether a text has words to go by: "Yes." has none, whatever it answers."""
    return text.strip(_PUNCTUATION).casefold() not in _BARE_ANSWERS and bool(_telling(text))


def _telling(text: str) -> set[str]:
    return {token.key for token in tokenise(fold(text)) if token.kind != "stop"}


def judge_claim(text: str, source: Source, model: Model, *, question: str, threshold: float) -> Claim:
    """Return the claim that a sentence makes, with its verdict.

    Args:
        text: The sentence.
        source: The passages.
        model: Weights.
        question: What was asked; "" where it does not matter.
        threshold: Log-odds from which a claim counts as supported.
    """
    if not _says_something(text):
        return Claim(text=text, verdict="undecided", reason="too short to be judged by its words", support=0.5)
    found = compare(with_question(text, question), source.evidence, question=question)
    support = probability(model.log_odds(found) - threshold)
    if support >= _SUPPORTED_FROM:
        return Claim(text=text, verdict="supported", evidence=_evidence(found, source), support=support)
    if support > _UNSUPPORTED_TO:
        return Claim(text=text, verdict="undecided", reason="wording does not tell", support=support)
    opposed = contradiction(text, found, source.evidence) if _is_close(found) else None
    if opposed:
        passage = source.numbers[source.evidence.sentences[found.best[0]].passage]
        return Claim(text=text, verdict="contradicted", evidence=(passage,), reason=opposed, support=support)
    return Claim(text=text, verdict="unsupported", reason=lack(text, found), support=support)


def _is_close(found: Comparison) -> bool:
    return not found.is_answer and bool(found.coverage) and found.coverage[0] >= _CLOSE


def _evidence(found: Comparison, source: Source) -> tuple[int, ...]:
    """Return the passages whose sentences cover the claim nearly as well as the best one."""
    enough = found.coverage[0] * _NEAR_BEST
    near = [number for number, share in zip(found.best, found.coverage, strict=True) if share >= enough]
    return tuple(dict.fromkeys(source.numbers[source.evidence.sentences[number].passage] for number in near))
