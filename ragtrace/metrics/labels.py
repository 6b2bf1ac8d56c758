"""Recall and precision against labelled passages, without a judge: by text and by id."""

from collections.abc import Sequence

from rapidfuzz.distance import Levenshtein

from ragtrace.metrics.ground import MetricOptions, contexts_missing, received_passages
from ragtrace.model import RagCall, Score, Unscored, Verdicts
from ragtrace.semconv import ID_CONTEXT_PRECISION, ID_CONTEXT_RECALL, STRING_CONTEXT_RECALL, UnscoredReason


def string_context_recall(
    call: RagCall, verdicts: Verdicts | Unscored | None, options: MetricOptions
) -> Score | Unscored:
    """Return the share of reference passages that a received passage resembles, 0–1.

    Formula: share of reference passages whose best normalised Levenshtein similarity to a received passage is above
    `options.string_similarity` (RAGAS NonLLMContextRecall). Nothing received is 0. A passage that was cut into other
    chunks than the reference does not resemble it; use the claim-based `context_recall` there.
    """
    references = [text for text in call.reference_passages if text.strip()]
    if not references:
        return Unscored(name=STRING_CONTEXT_RECALL, reason="no_labels", detail="no reference passages are known")
    if reason := _blocking(call):
        return Unscored(name=STRING_CONTEXT_RECALL, reason=reason)
    texts = [d.received_text for _, d in received_passages(call)]
    found = sum(resembles_any(text, texts, options.string_similarity) for text in references)
    return Score(
        name=STRING_CONTEXT_RECALL,
        value=found / len(references),
        comment=f"{found} of {len(references)} reference passages received.",
        metadata={"references": len(references), "found": found, "threshold": options.string_similarity},
    )


def id_context_recall(call: RagCall, verdicts: Verdicts | Unscored | None, options: MetricOptions) -> Score | Unscored:
    """Return the share of relevant document ids among those received, 0–1 (RAGAS IDBasedContextRecall)."""
    return _by_id(call, name=ID_CONTEXT_RECALL)


def id_context_precision(
    call: RagCall, verdicts: Verdicts | Unscored | None, options: MetricOptions
) -> Score | Unscored:
    """Return the share of received document ids that are relevant, 0–1 (RAGAS IDBasedContextPrecision)."""
    return _by_id(call, name=ID_CONTEXT_PRECISION)


def resembles_any(text: str, others: Sequence[str], threshold: float) -> bool:
    """Tell whether the best similarity of `text` to one of `others` is above `threshold`."""
    return any(Levenshtein.normalized_similarity(text, other) > threshold for other in others)


def _by_id(call: RagCall, *, name: str) -> Score | Unscored:
    if not call.relevant_ids:
        return Unscored(name=name, reason="no_labels", detail="no relevant ids are known")
    if reason := _blocking(call):
        return Unscored(name=name, reason=reason)
    passages = received_passages(call)
    ids = {d.passage.id for _, d in passages if d.passage.id is not None}
    if passages and not ids:
        return Unscored(name=name, reason="no_labels", detail="the received passages carry no ids")
    relevant = set(call.relevant_ids)
    if name == ID_CONTEXT_PRECISION and not ids:
        return Unscored(name=name, reason="no_contexts")
    right, total = len(ids & relevant), len(relevant) if name == ID_CONTEXT_RECALL else len(ids)
    words = "relevant documents received" if name == ID_CONTEXT_RECALL else "received documents are relevant"
    return Score(
        name=name,
        value=right / total,
        comment=f"{right} of {total} {words}.",
        metadata={"relevant": len(relevant), "received": len(ids), "both": right},
    )


def _blocking(call: RagCall) -> UnscoredReason | None:
    reason = contexts_missing(call)
    return None if reason == "no_contexts" else reason
