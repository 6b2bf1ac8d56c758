"""Read back what the scorer wrote with `rag_outcome`: sentences, claims, the judge."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import get_args

from ragtrace.extract import json_text
from ragtrace.langfuse import StoredScore
from ragtrace.model import ClaimVerdict, JsonValue, SentenceKind


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredClaim:
    """A claim as it was stored."""

    text: str
    verdict: ClaimVerdict
    evidence: tuple[int, ...]
    """Indexes of passages, from 0."""
    withheld_evidence: tuple[int, ...]
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSentence:
    """A sentence as it was stored."""

    start: int
    end: int
    kind: SentenceKind
    verdict: ClaimVerdict | None
    claims: tuple[StoredClaim, ...]
    text: str = ""
    """Empty where the whole was too long to be stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the scorer concluded about one call."""

    value: str
    """`scored`, or why not."""
    unscored: Mapping[str, str] = field(default_factory=dict)
    """Reason by metric."""
    answer: tuple[StoredSentence, ...] = ()
    reference: tuple[StoredSentence, ...] = ()
    judge_model: str | None = None
    judge_fingerprint: str | None = None
    judge_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None
    """None: the judge's model has no price."""
    inclusion_probability: float = 1.0


def read_outcome(score: StoredScore) -> Outcome:
    """Read a `rag_outcome`; what is missing or of another type is left out, not guessed."""
    metadata = score.metadata
    judge = _object(metadata.get("judge"))
    unscored = _object(metadata.get("unscored"))
    return Outcome(
        value=str(score.value),
        unscored={name: str(reason) for name, reason in unscored.items()},
        answer=tuple(_sentences(metadata.get("sentences"))),
        reference=tuple(_sentences(metadata.get("reference_sentences"))),
        judge_model=json_text.as_text(judge.get("model")),
        judge_fingerprint=json_text.as_text(judge.get("fingerprint")),
        judge_calls=json_text.as_integer(judge.get("calls")) or 0,
        prompt_tokens=json_text.as_integer(judge.get("prompt_tokens")) or 0,
        completion_tokens=json_text.as_integer(judge.get("completion_tokens")) or 0,
        cost=json_text.as_number(judge.get("cost")),
        inclusion_probability=read_probability(score),
    )


def read_probability(score: StoredScore) -> float:
    """Return the probability with which the scored call came into the sample; 1 where it is missing or is none."""
    probability = json_text.as_number(score.metadata.get("inclusion_probability"))
    return probability if probability and 0 < probability <= 1 else 1.0


def _sentences(value: JsonValue) -> Iterable[StoredSentence]:
    return (
        StoredSentence(
            start=json_text.as_integer(record.get("start")) or 0,
            end=json_text.as_integer(record.get("end")) or 0,
            kind=next((kind for kind in get_args(SentenceKind) if kind == record.get("kind")), "statement"),
            verdict=_verdict(record.get("verdict")),
            claims=tuple(_claims(record.get("claims"))),
            text=json_text.as_text(record.get("text")) or "",
        )
        for record in _objects(value)
    )


def _claims(value: JsonValue) -> Iterable[StoredClaim]:
    for record in _objects(value):
        verdict = _verdict(record.get("verdict"))
        if verdict is not None:
            yield StoredClaim(
                text=json_text.as_text(record.get("text")) or "",
                verdict=verdict,
                evidence=_wholes(record.get("evidence")),
                withheld_evidence=_wholes(record.get("withheld_evidence")),
                reason=json_text.as_text(record.get("reason")),
            )


def _object(value: JsonValue) -> dict[str, JsonValue]:
    return value if isinstance(value, dict) else {}


def _objects(value: JsonValue) -> list[dict[str, JsonValue]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _wholes(value: JsonValue) -> tuple[int, ...]:
    numbers = map(json_text.as_integer, value) if isinstance(value, list) else ()
    return tuple(number for number in numbers if number is not None)


def _verdict(value: JsonValue) -> ClaimVerdict | None:
    return next((verdict for verdict in get_args(ClaimVerdict) if verdict == value), None)
