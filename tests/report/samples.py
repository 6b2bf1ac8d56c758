"""Calls as a report reads them: content, scores and outcome, built in a line or two."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from ragtrace.model import ClaimVerdict, Delivery, RagCall
from ragtrace.report.assemble import Source, make_report
from ragtrace.report.content import Report
from ragtrace.report.outcome import Outcome, StoredClaim, StoredSentence
from ragtrace.report.records import CallRecord
from tests.build import absent, delivery, head, whole

STARTED_AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
MADE_AT = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
SOURCE = Source(base_url="http://127.0.0.1:9", project_id="p1", project_name="Shop")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One call with what the scorer said of it."""

    record: CallRecord
    call: RagCall


def claim(
    verdict: ClaimVerdict,
    *,
    text: str = "",
    evidence: Sequence[int] = (),
    withheld: Sequence[int] = (),
    reason: str | None = None,
) -> StoredClaim:
    return StoredClaim(
        text=text, verdict=verdict, evidence=tuple(evidence), withheld_evidence=tuple(withheld), reason=reason
    )


def sentences(answer: str, *claims: tuple[str, StoredClaim | None]) -> tuple[StoredSentence, ...]:
    """Sentences of `answer` by their text, each with one claim or none."""
    return tuple(
        StoredSentence(
            start=answer.index(text),
            end=answer.index(text) + len(text),
            kind="statement",
            verdict=found.verdict if found else None,
            claims=(found,) if found else (),
        )
        for text, found in claims
    )


def sample(
    number: int,
    *,
    question: str = "How long is the warranty?",
    answer: str,
    delivered: Delivery | None,
    outcome: Outcome | None,
    scores: dict[str, float] | None = None,
    reference: str | None = None,
) -> Sample:
    started_at = STARTED_AT + timedelta(minutes=number)
    call = RagCall(
        id=f"o{number}",
        question=question,
        answer=answer,
        delivery=delivered,
        started_at=started_at,
        reference=reference,
        model="small",
        tags=("shop",),
    )
    record = CallRecord(
        trace_id=f"t{number}", observation_id=f"o{number}", started_at=started_at, scores=scores or {}, outcome=outcome
    )
    return Sample(record=record, call=call)


def report(*samples: Sample, shown: Sequence[Sample] | None = None) -> Report:
    contents = {(s.record.trace_id, s.record.observation_id): s.call for s in (samples if shown is None else shown)}
    return make_report([s.record for s in samples], contents, source=SOURCE, made_at=MADE_AT)


WARRANTY = "Warranty\nStations have 36 months. Batteries have 24 months."
RETURNS = "Returns\nParcels without a number wait 30 days. Labels are free in Europe."
REFUNDS = "Refunds\nUnused goods are paid back within 30 days."
BAD_ANSWER = "Stations have 36 months. Batteries have 90 months. Labels are free in Europe."


def contradicted() -> Sample:
    """One sentence supported, one contradicted, one in cut text; the reference was partly cut."""
    return sample(
        1,
        answer=BAD_ANSWER,
        delivered=delivery(whole(WARRANTY, id="w"), head(RETURNS, 47, rank=1, id="r"), absent(REFUNDS, rank=2, id="f")),
        reference="Stations have 36 months. Labels are free.",
        scores={
            "faithfulness": 1 / 3,
            "hallucination_rate": 2 / 3,
            "contradiction_rate": 1 / 3,
            "context_recall": 0.5,
            "retrieval_recall": 1.0,
            "context_delivery": 0.6,
        },
        outcome=Outcome(
            value="scored",
            answer=sentences(
                BAD_ANSWER,
                ("Stations have 36 months.", claim("supported", evidence=[0])),
                ("Batteries have 90 months.", claim("contradicted", evidence=[0], reason="The passage says 24.")),
                ("Labels are free in Europe.", claim("unsupported", text="Labels are free")),
            ),
            reference=sentences(
                "Stations have 36 months. Labels are free.",
                ("Stations have 36 months.", claim("supported", evidence=[0])),
                ("Labels are free.", claim("unsupported", withheld=[1])),
            ),
            judge_model="scripted",
            judge_fingerprint="abcdef0123456789",
        ),
    )


def clear() -> Sample:
    """Everything is supported."""
    answer = "Stations have 36 months."
    return sample(
        2,
        answer=answer,
        delivered=delivery(whole(WARRANTY, id="w")),
        scores={"faithfulness": 1.0, "hallucination_rate": 0.0, "contradiction_rate": 0.0, "context_delivery": 1.0},
        outcome=Outcome(
            value="scored",
            unscored={"context_recall": "no_reference", "retrieval_recall": "no_reference"},
            answer=sentences(answer, (answer, claim("supported", evidence=[0]))),
            judge_model="scripted",
            judge_fingerprint="abcdef0123456789",
        ),
    )


def refused() -> Sample:
    """The answer declines although the reference was received."""
    return sample(
        3,
        question="保修期是多久？",
        answer="我不知道。",
        delivered=delivery(whole(WARRANTY)),
        reference="36 months.",
        scores={"context_recall": 1.0, "context_delivery": 1.0},
        outcome=Outcome(
            value="scored",
            unscored={"faithfulness": "refusal", "hallucination_rate": "refusal", "contradiction_rate": "refusal"},
            answer=sentences("我不知道。", ("我不知道。", None)),
            reference=sentences("36 months.", ("36 months.", claim("supported", evidence=[0]))),
            judge_model="scripted",
        ),
    )


def unseen() -> Sample:
    """No scorer came to it, and which passages there were is unknown."""
    return sample(4, answer="Perhaps.", delivered=None, outcome=None)
