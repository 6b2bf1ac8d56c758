"""How much of what was retrieved reached the prompt; arithmetic only, no judge."""

from ragtrace.metrics.ground import MetricOptions, contexts_missing
from ragtrace.model import PassageDelivery, RagCall, Score, Unscored, Verdicts
from ragtrace.semconv import CONTEXT_DELIVERY, MARK_CAPPED


def context_delivery(call: RagCall, verdicts: Verdicts | Unscored | None, options: MetricOptions) -> Score | Unscored:
    """Return the share of retrieved letters and digits that the generator received, 0–1.

    Formula: sum(coverage x size) / sum(size) over retrieved passages. Needs no judge: `verdicts` is not looked at.
    A passage that was summarised or translated has no share that can be counted, so the call is unscored.
    """
    reason = contexts_missing(call)
    if call.delivery is None or reason not in (None, "no_contexts"):
        return Unscored(name=CONTEXT_DELIVERY, reason=reason or "contexts_unknown")
    if MARK_CAPPED in call.marks:
        # The withheld text is what a record gives up first, so the share of the rest would be too high.
        return Unscored(name=CONTEXT_DELIVERY, reason="incomplete_capture", detail="the record was cut to its size cap")
    retrieved = [d for d in call.delivery.passages if d.passage.source != "prompt" and _size(d)]
    if not retrieved:
        return Unscored(name=CONTEXT_DELIVERY, reason="no_contexts", detail="retrieval returned no text")
    if any(d.status == "transformed" for d in retrieved):
        return Unscored(name=CONTEXT_DELIVERY, reason="incomplete_capture", detail="a passage was rewritten on its way")
    total = sum(map(_size, retrieved))
    statuses = {status: sum(d.status == status for d in retrieved) for status in ("full", "partial", "absent")}
    return Score(
        name=CONTEXT_DELIVERY,
        value=min(1.0, sum(d.coverage * _size(d) for d in retrieved) / total),
        comment=f"{statuses['full']} passages whole, {statuses['partial']} cut, {statuses['absent']} dropped.",
        metadata={"passages": len(retrieved), **statuses, "retrieved_letters": total},
    )


def _size(delivery: PassageDelivery) -> int:
    return sum(map(str.isalnum, delivery.passage.text))
