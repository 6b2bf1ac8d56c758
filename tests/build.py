"""Short builders for the values that tests are about."""

from collections.abc import Sequence
from datetime import UTC, datetime

from ragtrace.model import (
    Claim,
    ClaimVerdict,
    Delivery,
    JudgedSentence,
    JudgeInfo,
    Passage,
    PassageDelivery,
    RagCall,
    Sentence,
    TextSpan,
    Verdicts,
)

STARTED_AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
JUDGE = JudgeInfo(fingerprint="f", model="scripted", calls=1)


def passage(text: str, *, rank: int = 0, id: str | None = None) -> Passage:
    return Passage(text=text, rank=rank, id=id)


def whole(text: str, *, rank: int = 0, id: str | None = None) -> PassageDelivery:
    """A passage that was received whole."""
    span = TextSpan(passage_start=0, passage_end=len(text), prompt_start=0, prompt_end=len(text))
    return PassageDelivery(passage=passage(text, rank=rank, id=id), status="full", coverage=1.0, spans=(span,))


def head(text: str, received: int, *, rank: int = 0, id: str | None = None) -> PassageDelivery:
    """A passage of which only the first `received` characters arrived."""
    letters = sum(map(str.isalnum, text))
    return PassageDelivery(
        passage=passage(text, rank=rank, id=id),
        status="partial",
        kind="head",
        coverage=sum(map(str.isalnum, text[:received])) / letters,
        spans=(TextSpan(passage_start=0, passage_end=received, prompt_start=0, prompt_end=received),),
    )


def absent(text: str, *, rank: int = 0, id: str | None = None) -> PassageDelivery:
    """A passage that did not arrive."""
    return PassageDelivery(passage=passage(text, rank=rank, id=id), status="absent")


def delivery(*passages: PassageDelivery, order: Sequence[int] | None = None) -> Delivery:
    received = tuple(i for i, d in enumerate(passages) if d.received_text.strip())
    return Delivery(passages=passages, prompt_order=tuple(order) if order is not None else received)


def received(*texts: str) -> Delivery:
    """Passages that were all received whole, in order."""
    return delivery(*(whole(text, rank=rank, id=f"d{rank}") for rank, text in enumerate(texts)))


def call(
    *,
    question: str = "What?",
    answer: str = "This.",
    delivery: Delivery | None = None,
    reference: str | None = None,
    reference_passages: tuple[str, ...] = (),
    relevant_ids: tuple[str, ...] = (),
    marks: tuple[str, ...] = (),
) -> RagCall:
    return RagCall(
        id="c1",
        trace_id="0" * 31 + "1",
        observation_id="0" * 15 + "2",
        question=question,
        answer=answer,
        delivery=delivery,
        started_at=STARTED_AT,
        reference=reference,
        reference_passages=reference_passages,
        relevant_ids=relevant_ids,
        marks=marks,
    )


def claim(
    verdict: ClaimVerdict = "supported",
    *,
    text: str = "It is so.",
    evidence: tuple[int, ...] | None = None,
    withheld: tuple[int, ...] = (),
    reason: str | None = None,
) -> Claim:
    evidence = evidence if evidence is not None else ((0,) if verdict == "supported" else ())
    return Claim(text=text, verdict=verdict, evidence=evidence, withheld_evidence=withheld, reason=reason)


def sentence(*claims: Claim, text: str = "It is so.", number: int = 1, start: int = 0) -> JudgedSentence:
    return JudgedSentence(
        sentence=Sentence(number=number, text=text, start=start, end=start + len(text)), claims=claims
    )


def verdicts(
    answer: Sequence[JudgedSentence] = (),
    reference: Sequence[JudgedSentence] = (),
    *,
    useful: tuple[int, ...] = (),
    refused: bool = False,
) -> Verdicts:
    return Verdicts(judge=JUDGE, answer=tuple(answer), reference=tuple(reference), useful=useful, refused=refused)
