"""Metrics that a judge gives about question and answer as a whole: sufficiency, relevancy, grades."""

from ragtrace.metrics.comments import shorten
from ragtrace.metrics.ground import MetricOptions, contexts_missing, judged
from ragtrace.model import RagCall, Score, Unscored, Verdicts
from ragtrace.semconv import (
    ANSWER_RELEVANCY,
    GRADE_COMPLETENESS,
    GRADE_CORRECTNESS,
    GRADE_OVERALL,
    GRADE_RELEVANCE,
    SUFFICIENCY,
)


def sufficiency(call: RagCall, verdicts: Verdicts | Unscored | None, options: MetricOptions) -> Score | Unscored:
    """Return the share of what the question needs that the received passages hold, 0–1.

    Needs no reference, so it is no recall: the judge lists the needs itself.
    """
    missing = contexts_missing(call)
    if missing:
        return Unscored(name=SUFFICIENCY, reason=missing)
    ground = judged(verdicts, SUFFICIENCY)
    if isinstance(ground, Unscored):
        return ground
    if not ground.needs:
        return Unscored(name=SUFFICIENCY, reason="no_claims", detail="the judge named no needs")
    met = sum(need.met for need in ground.needs)
    unmet = next((need.text for need in ground.needs if not need.met), None)
    said = f" Missing: {shorten(unmet, 300)}" if unmet else ""
    return Score(
        name=SUFFICIENCY,
        value=met / len(ground.needs),
        comment=f"{met} of {len(ground.needs)} needs met.{said}",
        metadata={"needs": len(ground.needs), "met": met},
    )


def answer_relevancy(call: RagCall, verdicts: Verdicts | Unscored | None, options: MetricOptions) -> Score | Unscored:
    """Return the mean cosine between the question and questions generated back from the answer, 0–1.

    0 where the answer is noncommittal; a negative mean counts as 0. Source: RAGAS AnswerRelevancy (Es et al. 2023).
    """
    if not call.answer.strip():
        return Unscored(name=ANSWER_RELEVANCY, reason="no_answer")
    ground = judged(verdicts, ANSWER_RELEVANCY)
    if isinstance(ground, Unscored):
        return ground
    if ground.relevancy is None:
        return Unscored(name=ANSWER_RELEVANCY, reason="no_embeddings", detail="set RAGTRACE_EMBEDDING_MODEL")
    if ground.relevancy.noncommittal:
        return Score(name=ANSWER_RELEVANCY, value=0.0, comment="The answer is noncommittal.")
    cosines = ground.relevancy.cosines
    return Score(
        name=ANSWER_RELEVANCY,
        value=min(1.0, max(0.0, sum(cosines) / len(cosines))),
        comment=shorten("Questions this answers: " + " / ".join(ground.relevancy.questions)),
        metadata={"questions": len(cosines)},
    )


def grade_correctness(call: RagCall, verdicts: Verdicts | Unscored | None, options: MetricOptions) -> Score | Unscored:
    """Return the judge's grade of how right the answer is, 0–5, without a reference."""
    return _grade(call, verdicts, name=GRADE_CORRECTNESS)


def grade_completeness(call: RagCall, verdicts: Verdicts | Unscored | None, options: MetricOptions) -> Score | Unscored:
    """Return the judge's grade of how much of the question the answer covers, 0–5."""
    return _grade(call, verdicts, name=GRADE_COMPLETENESS)


def grade_relevance(call: RagCall, verdicts: Verdicts | Unscored | None, options: MetricOptions) -> Score | Unscored:
    """Return the judge's grade of how much the answer is about the question, 0–5."""
    return _grade(call, verdicts, name=GRADE_RELEVANCE)


def grade_overall(call: RagCall, verdicts: Verdicts | Unscored | None, options: MetricOptions) -> Score | Unscored:
    """Return the judge's overall grade of the answer, 0–5; its own word, no mean of the others."""
    return _grade(call, verdicts, name=GRADE_OVERALL)


def _grade(call: RagCall, verdicts: Verdicts | Unscored | None, *, name: str) -> Score | Unscored:
    if not call.answer.strip():
        return Unscored(name=name, reason="no_answer")
    ground = judged(verdicts, name)
    if isinstance(ground, Unscored):
        return ground
    if ground.grades is None:
        return Unscored(name=name, reason="judge_reply_invalid", detail="the judge gave no grades")
    value: float = getattr(ground.grades, name.removeprefix("grade_"))
    return Score(name=name, value=value, comment=shorten(ground.grades.reason), metadata={"of": 5})
