"""Arithmetic from verdicts to numbers: one small module a family, no I/O.

A metric is a function `(RagCall, Verdicts | Unscored | None, MetricOptions) -> Score | Unscored`. `verdicts` is what
the judge found, why it found nothing, or None where it was not asked.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final

from ragtrace import semconv
from ragtrace.errors import ConfigError
from ragtrace.metrics import answers, citations, claims, delivery, labels, precision, ranks
from ragtrace.metrics.ground import MetricOptions, is_judgeable
from ragtrace.metrics.outcome import rag_outcome
from ragtrace.model import RagCall, Score, Unscored, Verdicts

Metric = Callable[[RagCall, Verdicts | Unscored | None, MetricOptions], Score | Unscored]

METRICS: Final[Mapping[str, Metric]] = MappingProxyType(
    {
        semconv.FAITHFULNESS: claims.faithfulness,
        semconv.HALLUCINATION_RATE: claims.hallucination_rate,
        semconv.CONTRADICTION_RATE: claims.contradiction_rate,
        semconv.CONTEXT_RECALL: claims.context_recall,
        semconv.RETRIEVAL_RECALL: claims.retrieval_recall,
        semconv.CONTEXT_PRECISION: precision.context_precision,
        semconv.CITATION_ACCURACY: citations.citation_accuracy,
        semconv.CITATION_COVERAGE: citations.citation_coverage,
        semconv.CONTEXT_DELIVERY: delivery.context_delivery,
        semconv.STRING_CONTEXT_RECALL: labels.string_context_recall,
        semconv.ID_CONTEXT_RECALL: labels.id_context_recall,
        semconv.ID_CONTEXT_PRECISION: labels.id_context_precision,
        semconv.HIT_AT_K: ranks.hit_at_k,
        semconv.MRR: ranks.mrr,
        semconv.NDCG_AT_K: ranks.ndcg_at_k,
        semconv.SUFFICIENCY: answers.sufficiency,
        semconv.ANSWER_RELEVANCY: answers.answer_relevancy,
        semconv.GRADE_CORRECTNESS: answers.grade_correctness,
        semconv.GRADE_COMPLETENESS: answers.grade_completeness,
        semconv.GRADE_RELEVANCE: answers.grade_relevance,
        semconv.GRADE_OVERALL: answers.grade_overall,
    }
)
"""Every metric by score name."""

DEFAULT_METRICS: Final = (
    semconv.FAITHFULNESS,
    semconv.HALLUCINATION_RATE,
    semconv.CONTRADICTION_RATE,
    semconv.CONTEXT_RECALL,
    semconv.RETRIEVAL_RECALL,
    semconv.CONTEXT_PRECISION,
    semconv.CONTEXT_DELIVERY,
)
"""What one judge call yields for every answer."""

JUDGED_METRICS: Final = frozenset(METRICS) - {
    semconv.CONTEXT_DELIVERY,
    semconv.STRING_CONTEXT_RECALL,
    semconv.ID_CONTEXT_RECALL,
    semconv.ID_CONTEXT_PRECISION,
}
"""Metrics that stand on verdicts."""

_RANKS = frozenset({semconv.HIT_AT_K, semconv.MRR, semconv.NDCG_AT_K})
"""Metrics that need verdicts only where the call carries no labels."""


def check_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names if each is a metric.

    Raises:
        ConfigError: one is not.
    """
    found = tuple(names)
    for name in found:
        if name not in METRICS:
            raise ConfigError(f"metric {name!r}: unknown; expected one of {', '.join(METRICS)}")
    return found


def needs_judge(call: RagCall, *, names: Iterable[str] = DEFAULT_METRICS) -> bool:
    """Tell whether one of the metrics stands on verdicts and a judge could give any for this call."""
    judged = JUDGED_METRICS.intersection(names)
    if judged <= _RANKS and ranks.has_labels(call):
        return False
    return bool(judged) and is_judgeable(call)


def compute(
    call: RagCall,
    verdicts: Verdicts | Unscored | None,
    *,
    names: Iterable[str] = DEFAULT_METRICS,
    options: MetricOptions | None = None,
) -> tuple[Score | Unscored, ...]:
    """Return one result a name, in the order of the names, and `rag_outcome` last.

    Raises:
        ConfigError: a name is no metric.
    """
    chosen = options or MetricOptions()
    results = tuple(METRICS[name](call, verdicts, chosen) for name in check_names(names))
    return (*results, rag_outcome(results))


__all__ = [
    "DEFAULT_METRICS",
    "METRICS",
    "Metric",
    "MetricOptions",
    "check_names",
    "compute",
    "needs_judge",
    "rag_outcome",
]
