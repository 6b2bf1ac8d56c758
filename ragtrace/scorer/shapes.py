"""Say what each score means and what values it takes, as people read it beside the score in Langfuse."""

from collections.abc import Iterable, Mapping
from typing import Final, get_args

from ragtrace import semconv
from ragtrace.langfuse.configs import ScoreShape

_DOCS = "See docs/metrics.md of ragtrace."
_GRADE = "Grade without a reference, given by the judge; 5 is best."
MEANINGS: Final[Mapping[str, str]] = {
    semconv.FAITHFULNESS: "Share of the answer's claims that the received passages support.",
    semconv.HALLUCINATION_RATE: "Share of the answer's sentences with a claim that no received passage supports.",
    semconv.CONTRADICTION_RATE: "Share of the answer's sentences with a claim that a received passage contradicts.",
    semconv.CONTEXT_RECALL: "Share of the reference's claims that the received passages support.",
    semconv.RETRIEVAL_RECALL: "As context_recall, with withheld text counted in; the difference was lost on the way.",
    semconv.CONTEXT_PRECISION: "Average precision of the received passages in prompt order.",
    semconv.CONTEXT_DELIVERY: "Share of the retrieved text that the generator received.",
    semconv.CITATION_ACCURACY: "Share of citations whose passage supports their sentence.",
    semconv.CITATION_COVERAGE: "Share of supported sentences that carry a citation.",
    semconv.SUFFICIENCY: "Share of what the question needs that the received passages hold; no recall.",
    semconv.STRING_CONTEXT_RECALL: "Share of the reference passages that a received passage resembles.",
    semconv.ID_CONTEXT_RECALL: "Share of the relevant document ids that were received.",
    semconv.ID_CONTEXT_PRECISION: "Share of the received document ids that are relevant.",
    semconv.HIT_AT_K: "1 if a relevant passage is among the first k.",
    semconv.MRR: "1 / rank of the first relevant passage.",
    semconv.NDCG_AT_K: "Discounted gain of the first k passages, 1 for the ideal order.",
    semconv.ANSWER_RELEVANCY: "Mean likeness of the question to questions generated back from the answer.",
    semconv.GRADE_CORRECTNESS: f"Correctness. {_GRADE}",
    semconv.GRADE_COMPLETENESS: f"Completeness. {_GRADE}",
    semconv.GRADE_RELEVANCE: f"Relevance. {_GRADE}",
    semconv.GRADE_OVERALL: f"Overall. {_GRADE}",
}
_GRADES = frozenset(name for name, meaning in MEANINGS.items() if meaning.endswith(_GRADE))
OUTCOME: Final = ScoreShape(
    name=semconv.RAG_OUTCOME,
    description=f"`scored` if a judged metric has a number, else the first reason why none has. {_DOCS}",
    data_type="CATEGORICAL",
    categories=(semconv.OUTCOME_SCORED, *get_args(semconv.UnscoredReason)),
)


def shapes_of(names: Iterable[str]) -> tuple[ScoreShape, ...]:
    """Return the shapes of metrics of ours, and of `rag_outcome`; a user's own metric has none."""
    known = [name for name in names if name in MEANINGS]
    return (*(_shape(name) for name in known), OUTCOME)


def _shape(name: str) -> ScoreShape:
    most = 5.0 if name in _GRADES else 1.0
    return ScoreShape(name=name, description=f"{MEANINGS[name]} {_DOCS}", least=0.0, most=most)
