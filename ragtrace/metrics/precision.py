"""Whether the received passages that were used stand before those that were not."""

from collections.abc import Sequence

from ragtrace.metrics.ground import MetricOptions, answer_ground, received_passages
from ragtrace.model import RagCall, Score, Unscored, Verdicts
from ragtrace.semconv import CONTEXT_PRECISION


def context_precision(call: RagCall, verdicts: Verdicts | Unscored | None, options: MetricOptions) -> Score | Unscored:
    """Return the average precision over received passages in prompt order, 0–1.

    Relevant is a passage that the judge used as evidence for any claim of the answer or the reference (RAGAS
    ContextPrecision asks once a passage instead). Formula: sum over k of precision@k x relevant_k / relevant; 0 where
    no passage is relevant. Without a reference it says how much of the prompt the answer used.
    """
    ground = answer_ground(call, verdicts, CONTEXT_PRECISION)
    if isinstance(ground, Unscored):
        return ground
    order = prompt_order(call)
    relevances = [index in ground.useful for index in order]
    used = sum(relevances)
    return Score(
        name=CONTEXT_PRECISION,
        value=average_precision(relevances),
        comment=f"{used} of {len(order)} received passages used as evidence.",
        metadata={"received": len(order), "used": used, "with_reference": bool(call.reference)},
    )


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
