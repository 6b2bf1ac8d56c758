"""Say from the layers separately what went wrong in one call, and what a pattern over many calls advises."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ragtrace import semconv
from ragtrace.model import Score, Unscored

Layer = Literal["retrieval", "delivery", "generation", "relevancy", "reference"]
Fault = Literal[
    "retrieval_missed",
    "retrieval_ranked_low",
    "delivery_lost",
    "unfaithful",
    "hallucinated",
    "contradicted",
    "not_answered",
    "declined",
    "reference_mismatch",
]

LAYERS: Mapping[Fault, Layer] = {
    "retrieval_missed": "retrieval",
    "retrieval_ranked_low": "retrieval",
    "delivery_lost": "delivery",
    "unfaithful": "generation",
    "hallucinated": "generation",
    "contradicted": "generation",
    "not_answered": "relevancy",
    "declined": "relevancy",
    "reference_mismatch": "reference",
}
WORDS: Mapping[Fault, str] = {
    "retrieval_missed": "Retrieval did not find what the reference says.",
    "retrieval_ranked_low": "Retrieval found it, behind passages that hold nothing of it.",
    "delivery_lost": "Retrieval found it, but it was cut or dropped before the prompt.",
    "unfaithful": "The passages held the answer and the generator did not keep to them.",
    "hallucinated": "The generator went beyond what the passages say.",
    "contradicted": "The answer contradicts a passage that the generator received.",
    "not_answered": "The answer does not answer the question.",
    "declined": "The answer declines, although part of the reference was received.",
    "reference_mismatch": "The reference does not fit the question: mend the reference first.",
}
ACT_BELOW_RECALL = "act_below_recall"
DEFAULT_THRESHOLDS: Mapping[str, float] = {
    semconv.CONTEXT_RECALL: 0.8,
    semconv.RETRIEVAL_RECALL: 0.8,
    semconv.CONTEXT_DELIVERY: 0.8,
    semconv.FAITHFULNESS: 0.8,
    semconv.HALLUCINATION_RATE: 0.2,
    semconv.CONTRADICTION_RATE: 0.05,
    semconv.ANSWER_RELEVANCY: 0.7,
    semconv.CONTEXT_PRECISION: 0.6,
    semconv.HIT_AT_K: 0.7,
    semconv.MRR: 0.5,
    semconv.SUFFICIENCY: 0.8,
    ACT_BELOW_RECALL: 0.7,
}
"""Pass marks: at least this, or at most this for the rates in `LOWER_IS_BETTER`; `act_below_recall` gives advice."""
LOWER_IS_BETTER = frozenset({semconv.HALLUCINATION_RATE, semconv.CONTRADICTION_RATE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What a pattern of means over a window points to."""

    layer: Layer
    pattern: str
    """The means that make the pattern, in words."""
    steps: tuple[str, ...]
    """What to try, in this order."""


def passes(name: str, value: float, thresholds: Mapping[str, float] = DEFAULT_THRESHOLDS) -> bool | None:
    """Tell whether a value reaches its pass mark; None for a metric without one."""
    if name not in thresholds:
        return None
    return value <= thresholds[name] if name in LOWER_IS_BETTER else value >= thresholds[name]


def all_thresholds(own: Mapping[str, float]) -> Mapping[str, float]:
    """Return the default pass marks with the user's own in their place, and beside them for the user's own metrics."""
    return {**DEFAULT_THRESHOLDS, **own}


def diagnose(
    results: Sequence[Score | Unscored], thresholds: Mapping[str, float] = DEFAULT_THRESHOLDS
) -> tuple[Fault, ...]:
    """Return what went wrong in one call, first layer first; empty where nothing did or nothing is known."""
    values = {r.name: r.value for r in results if isinstance(r, Score) and isinstance(r.value, int | float)}
    return diagnose_values(values, {r.name: r.reason for r in results if isinstance(r, Unscored)}, thresholds)


def diagnose_values(
    values: Mapping[str, float], reasons: Mapping[str, str], thresholds: Mapping[str, float] = DEFAULT_THRESHOLDS
) -> tuple[Fault, ...]:
    """Do what `diagnose` does with numbers, and reasons for those that are missing, by metric.

    Layers are told apart by pairs of metrics: `retrieval_recall` under 1 is retrieval, a `context_recall` under
    `retrieval_recall` is delivery, an unfaithful answer over good received passages is generation. In one call a claim
    that is missing is missing, however many others are there; only graded metrics are held against `thresholds`.
    """
    return (*_before_the_prompt(values, reasons, thresholds), *_after_the_prompt(values, reasons, thresholds))


def _before_the_prompt(
    values: Mapping[str, float], reasons: Mapping[str, str], thresholds: Mapping[str, float]
) -> Iterator[Fault]:
    retrieved, received = values.get(semconv.RETRIEVAL_RECALL), values.get(semconv.CONTEXT_RECALL)
    if "reference_mismatch" in reasons.values() or (
        retrieved == 0 and _reaches(values, semconv.SUFFICIENCY, thresholds)
    ):
        # Passages that hold all the question needs and nothing of the reference answer another question than it does.
        yield "reference_mismatch"
    elif retrieved is not None and retrieved < 1:
        yield "retrieval_missed"
    if retrieved is not None and received is not None and received < retrieved:
        yield "delivery_lost"
    if _is_ranked_low(values, thresholds):
        yield "retrieval_ranked_low"


def _is_ranked_low(values: Mapping[str, float], thresholds: Mapping[str, float]) -> bool:
    is_found = _reaches(values, semconv.CONTEXT_RECALL, thresholds)
    is_behind_k = values.get(semconv.HIT_AT_K) == 0 and values.get(semconv.MRR, 0) > 0
    return is_behind_k or (is_found and _fails(values, semconv.CONTEXT_PRECISION, thresholds))


def _after_the_prompt(
    values: Mapping[str, float], reasons: Mapping[str, str], thresholds: Mapping[str, float]
) -> Iterator[Fault]:
    contradicted, faulty = values.get(semconv.CONTRADICTION_RATE, 0.0), values.get(semconv.HALLUCINATION_RATE, 0.0)
    if contradicted > 0:
        yield "contradicted"
    if values.get(semconv.FAITHFULNESS, 1.0) < 1 or faulty > contradicted:
        held = semconv.CONTEXT_RECALL if semconv.CONTEXT_RECALL in values else semconv.SUFFICIENCY
        yield "unfaithful" if _reaches(values, held, thresholds) else "hallucinated"
    if reasons.get(semconv.FAITHFULNESS) == "refusal" and values.get(semconv.CONTEXT_RECALL, 0.0) > 0:
        yield "declined"
    if _fails(values, semconv.ANSWER_RELEVANCY, thresholds):
        yield "not_answered"


def _reaches(values: Mapping[str, float], name: str, thresholds: Mapping[str, float]) -> bool:
    return name in values and passes(name, values[name], thresholds) is True


def _fails(values: Mapping[str, float], name: str, thresholds: Mapping[str, float]) -> bool:
    return name in values and passes(name, values[name], thresholds) is False


def advise(means: Mapping[str, float], thresholds: Mapping[str, float] = DEFAULT_THRESHOLDS) -> tuple[Advice, ...]:
    """Return advice for a window from the mean of each metric; layers are never averaged into one number."""
    found = (_advise_retrieval(means, thresholds), _advise_delivery(means), _advise_generation(means, thresholds))
    return tuple(advice for group in found for advice in group)


def _advise_retrieval(means: Mapping[str, float], thresholds: Mapping[str, float]) -> list[Advice]:
    recall = means.get(semconv.RETRIEVAL_RECALL, means.get(semconv.CONTEXT_RECALL))
    precision = means.get(semconv.CONTEXT_PRECISION)
    if recall is not None and recall < thresholds.get(ACT_BELOW_RECALL, 0.0):
        pattern = f"recall {recall:.2f}" + (f" with precision {precision:.2f}" if precision is not None else "")
        steps: tuple[str, ...] = (
            "raise top_k or lower the similarity floor",
            "change the chunking",
            "change the embeddings",
            "add a reranker",
        )
        if precision is not None and passes(semconv.CONTEXT_PRECISION, precision, thresholds) is False:
            steps = ("check that the documents hold the answers at all", "change the embeddings", "change the chunking")
        return [Advice(layer="retrieval", pattern=pattern, steps=steps)]
    if precision is not None and passes(semconv.CONTEXT_PRECISION, precision, thresholds) is False:
        pattern = f"precision {precision:.2f} at normal recall"
        return [Advice(layer="retrieval", pattern=pattern, steps=("rerank", "raise the similarity floor"))]
    return []


def _advise_delivery(means: Mapping[str, float]) -> list[Advice]:
    retrieved, received = means.get(semconv.RETRIEVAL_RECALL), means.get(semconv.CONTEXT_RECALL)
    loss = retrieved - received if retrieved is not None and received is not None else 0.0
    delivered = means.get(semconv.CONTEXT_DELIVERY)
    if loss <= 0.02:
        return []
    share = f", {delivered:.0%} of retrieved text received" if delivered is not None else ""
    steps = ("raise the token budget or shorten passages", "put the best passages first", "retrieve fewer passages")
    return [Advice(layer="delivery", pattern=f"delivery loss {loss:.2f}{share}", steps=steps)]


def _advise_generation(means: Mapping[str, float], thresholds: Mapping[str, float]) -> list[Advice]:
    found: list[Advice] = []
    faithful, relevant = means.get(semconv.FAITHFULNESS), means.get(semconv.ANSWER_RELEVANCY)
    if faithful is not None and passes(semconv.FAITHFULNESS, faithful, thresholds) is False:
        steps = ("tell the generator to keep to the passages and to say when they are silent", "send fewer passages")
        found.append(Advice(layer="generation", pattern=f"faithfulness {faithful:.2f}", steps=steps))
    if relevant is not None and passes(semconv.ANSWER_RELEVANCY, relevant, thresholds) is False:
        found.append(
            Advice(
                layer="relevancy",
                pattern=f"answer relevancy {relevant:.2f}",
                steps=("rewrite the query before retrieval",),
            )
        )
    return found
