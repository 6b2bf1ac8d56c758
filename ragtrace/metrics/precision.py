"""Whether the received passages that were used stand before those that were not."""

from collections.abc import Sequence

from ragtrace.metrics.ground import MetricOptions, answer_ground, contexts_missing, judged, received_passages
from ragtrace.model import RagCall, Score, Unscored, Verdicts
from ragtrace.semconv import CONTEXT_PRECISION


def context_precision(call: RagCall, verdicts: Verdicts | Unscored | None, options: MetricOptions) -> Score | Unscored:
    """Return the average precision over received passages in prompt order, 0–1.

    Relevant is, with a reference, a passage that supports one of its claims (RAGAS LLMContextPrecisionWithReference);
    without one, a passage that is evidence for or against a claim of the answer, so that the number says how much of
    the prompt was to the point of what was answered (LLMContextPrecisionWithoutReference). RAGAS asks once a passage;
    here the evidence of the one judge call is used. Formula: sum over k of precision@k x relevant_k / relevant; 0
    where no passage is relevant.
    """
    has_reference = bool(call.reference and call.reference.strip())
    ground = (_reference_ground if has_reference else answer_ground)(call, verdicts, CONTEXT_PRECISION)
    if isinstance(ground, Unscored):
        return ground
    relevant = _reference_evidence(ground) if has_reference else frozenset(ground.useful)
    order = prompt_order(call)
    relevances = [index in relevant for index in order]
    used = sum(relevances)
    evidence_for = "the reference" if has_reference else "the answer"
    return Score(
        name=CONTEXT_PRECISION,
        value=average_precision(relevances),
        comment=f"{used} of {len(order)} received passages are evidence on {evidence_for}.",
        metadata={"received": len(order), "used": used, "with_reference": has_reference},
    )


def _reference_ground(call: RagCall, verdicts: Verdicts | Unscored | None, name: str) -> Verdicts | Unscored:
    """Return the verdicts if the passages can be held against the reference; the answer plays no part."""
    if reason := contexts_missing(call):
        return Unscored(name=name, reason=reason)
    found = judged(verdicts, name)
    if isinstance(found, Verdicts) and found.refused:
        return Unscored(name=name, reason="refusal", detail="the answer declines to answer")
    decided = isinstance(found, Verdicts) and any(c.verdict != "undecided" for s in found.reference for c in s.claims)
    if isinstance(found, Unscored) or decided:
        return found
    return Unscored(name=name, reason="undecided", detail="no verdict on any claim of the reference")


def _reference_evidence(verdicts: Verdicts) -> frozenset[int]:
    claims = (claim for sentence in verdicts.reference for claim in sentence.claims)
    return frozenset(index for claim in claims if claim.verdict == "supported" for index in claim.evidence)


def average_precision(relevances: Sequence[bool]) -> float:
    """Return the average precision of a ranking, 0–1; 0 without a relevant item.

    Source: Manning, Raghavan, Schütze, "Introduction to Information Retrieval", 2008, section 8.4.
    """
    hits = [rank for rank, relevant in enumerate(relevances, start=1) if relevant]
    return sum(found / rank for found, rank in enumerate(hits, start=1)) / len(hits) if hits else 0.0


def prompt_order(call: RagCall) -> tuple[int, ...]:
    """Return indexes of the received passages by their place in the prompt; unplaced ones last."""
    received = [index for index, _ in received_passages(call)]
    placed = call.delivery.prompt_order if call.delivery else ()
    return (*(i for i in placed if i in received), *(i for i in received if i not in placed))
