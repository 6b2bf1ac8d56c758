"""Where in the retrieved ranking the relevant passages stand: hit@k, MRR, NDCG@k."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2
from typing import Literal

from ragtrace.metrics.ground import MetricOptions, answer_ground, contexts_missing
from ragtrace.metrics.labels import resembles_any
from ragtrace.model import JsonValue, RagCall, Score, Unscored, Verdicts
from ragtrace.semconv import HIT_AT_K, MRR, NDCG_AT_K, PENDING_REASONS

LabelSource = Literal["ids", "reference_passages", "judge"]


def hit_at_k(call: RagCall, verdicts: Verdicts | Unscored | None, options: MetricOptions) -> Score | Unscored:
    """Return 1 if a relevant passage is among the first k retrieved, else 0."""
    found = label_ranking(call, verdicts, options, name=HIT_AT_K)
    if isinstance(found, Unscored):
        return found
    value = hit(found.relevances, options.k)
    return Score(name=HIT_AT_K, value=value, comment=_comment(found), metadata={"k": options.k} | _source(found))


def mrr(call: RagCall, verdicts: Verdicts | Unscored | None, options: MetricOptions) -> Score | Unscored:
    """Return 1 / rank of the first relevant retrieved passage, 0 without one; its mean over calls is the MRR.

    Source: Voorhees 1999, "The TREC-8 Question Answering Track Report".
    """
    found = label_ranking(call, verdicts, options, name=MRR)
    if isinstance(found, Unscored):
        return found
    value = reciprocal_rank(found.relevances)
    return Score(name=MRR, value=value, comment=_comment(found), metadata=_source(found))


def ndcg_at_k(call: RagCall, verdicts: Verdicts | Unscored | None, options: MetricOptions) -> Score | Unscored:
    """Return the normalised discounted cumulative gain of the first k retrieved passages, 0–1."""
    found = label_ranking(call, verdicts, options, name=NDCG_AT_K)
    if isinstance(found, Unscored):
        return found
    value = ndcg(found.relevances, options.k, relevant=found.relevant)
    return Score(name=NDCG_AT_K, value=value, comment=_comment(found), metadata={"k": options.k} | _source(found))


def hit(relevances: Sequence[float], k: int) -> float:
    """Return 1.0 if one of the first k items is relevant, else 0.0."""
    return float(any(relevance > 0 for relevance in relevances[:k]))


def reciprocal_rank(relevances: Sequence[float]) -> float:
    """Return 1 / rank of the first relevant item, ranks from 1; 0.0 without one."""
    return next((1 / rank for rank, relevance in enumerate(relevances, start=1) if relevance > 0), 0.0)


def ndcg(relevances: Sequence[float], k: int, *, relevant: int | None = None) -> float:
    """Return DCG@k / ideal DCG@k with gain = relevance and discount log2(rank + 1), 0–1; 0.0 without a relevant item.

    Source: Järvelin, Kekäläinen 2002, "Cumulated gain-based evaluation of IR techniques".

    Args:
        relevances: Graded or binary, in ranked order.
        k: Cut-off.
        relevant: How many relevant items (of gain 1) there are in all, where more exist than were retrieved.
    """
    missing = max(0, (relevant or 0) - sum(relevance > 0 for relevance in relevances))
    ideal = _dcg(sorted([*relevances, *[1.0] * missing], reverse=True)[:k])
    return _dcg(relevances[:k]) / ideal if ideal else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledRanking:
    """The retrieved ranking with a relevance for each place."""

    relevances: tuple[float, ...]
    source: LabelSource
    relevant: int | None
    """Relevant items in all, where that is known."""


def label_ranking(
    call: RagCall, verdicts: Verdicts | Unscored | None, options: MetricOptions, *, name: str
) -> LabelledRanking | Unscored:
    """Label the retrieved passages: by id, else by reference passage, else by the judge's evidence.

    The same document retrieved twice counts once, at its first place.
    """
    reason = contexts_missing(call)
    if call.delivery is None or reason == "masked":
        return Unscored(name=name, reason=reason or "contexts_unknown")
    retrieved = {i: d.passage for i, d in enumerate(call.delivery.passages) if d.passage.source != "prompt"}
    passages = tuple(retrieved.values())
    if call.relevant_ids and (not passages or any(p.id is not None for p in passages)):
        relevant, seen = set(call.relevant_ids), [p.id for p in passages]
        by_id = tuple(float(i in relevant and i not in seen[:n]) for n, i in enumerate(seen))
        return LabelledRanking(relevances=by_id, source="ids", relevant=len(relevant))
    references = [text for text in call.reference_passages if text.strip()]
    if references:
        by_text = tuple(float(resembles_any(p.text, references, options.string_similarity)) for p in passages)
        return LabelledRanking(relevances=by_text, source="reference_passages", relevant=len(references))
    ground = answer_ground(call, verdicts, name)
    if isinstance(verdicts, Unscored) and verdicts.reason in PENDING_REASONS:
        return Unscored(name=name, reason=verdicts.reason, detail=verdicts.detail)
    if isinstance(ground, Unscored):
        return Unscored(name=name, reason="no_labels", detail=f"no labels, and no judge's evidence: {ground.reason}")
    by_judge = tuple(float(i in ground.useful) for i in retrieved)
    return LabelledRanking(relevances=by_judge, source="judge", relevant=None)


def has_labels(call: RagCall) -> bool:
    """Tell whether the call itself says which passages are relevant, so that the judge's evidence is not needed."""
    return isinstance(label_ranking(call, None, MetricOptions(), name=MRR), LabelledRanking)


def _dcg(relevances: Sequence[float]) -> float:
    return sum(relevance / log2(rank + 1) for rank, relevance in enumerate(relevances, start=1))


def _source(found: LabelledRanking) -> dict[str, JsonValue]:
    return {"labels": found.source, "passages": len(found.relevances)}


def _comment(found: LabelledRanking) -> str:
    by = {"ids": "ids", "reference_passages": "reference passages", "judge": "the judge's evidence"}[found.source]
    first = next((rank for rank, r in enumerate(found.relevances, start=1) if r > 0), None)
    where = f"first relevant passage at rank {first}" if first else "no relevant passage"
    return f"{where[0].upper()}{where[1:]} of {len(found.relevances)}; labels from {by}."
