"""Read from Langfuse what the scorer, earlier reviews and people wrote about calls."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from ragtrace.extract import json_text
from ragtrace.langfuse import LangfuseApi, ScoreQuery, StoredScore
from ragtrace.scorer.review import BANDS, Band, Chosen, JudgedCall, marks_of
from ragtrace.scorer.state import CallKey
from ragtrace.semconv import FAITHFULNESS, HUMAN_SUPPORTED, RAG_OUTCOME, RAG_REVIEW


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviews:
    """All that is stored about the calls of a window."""

    outcomes: Mapping[CallKey, StoredScore] = field(default_factory=dict)
    """`rag_outcome`."""
    judged: Mapping[CallKey, JudgedCall] = field(default_factory=dict)
    chosen: Mapping[CallKey, Chosen] = field(default_factory=dict)
    """Put before people, now or earlier."""
    answers: Mapping[CallKey, bool] = field(default_factory=dict)
    """The newest that a person gave."""


async def read_reviews(api: LangfuseApi, *, since: datetime) -> Reviews:
    """Read them; what people write later than a call is found, too."""
    names = (RAG_OUTCOME, FAITHFULNESS, RAG_REVIEW, HUMAN_SUPPORTED)
    found: dict[str, dict[CallKey, StoredScore]] = {name: {} for name in names}
    async for page in api.read_scores(ScoreQuery(names=names, since=since)):
        for score in page:
            is_answer = score.name == HUMAN_SUPPORTED
            # The newest comes first. People's scores have their own source, whatever else has the name.
            if score.trace_id and score.observation_id and is_answer == (score.source == "ANNOTATION"):
                found[score.name].setdefault((score.trace_id, score.observation_id), score)
    outcomes = found[RAG_OUTCOME]
    return Reviews(
        outcomes=outcomes,
        judged={key: _judged(key, score, found[FAITHFULNESS].get(key)) for key, score in outcomes.items()},
        chosen={key: chosen for key, score in found[RAG_REVIEW].items() if (chosen := _chosen(key, score))},
        answers={key: bool(score.value) for key, score in found[HUMAN_SUPPORTED].items()},
    )


def _judged(key: CallKey, outcome: StoredScore, faithfulness: StoredScore | None) -> JudgedCall:
    value = faithfulness.value if faithfulness else None
    return JudgedCall(
        key=key,
        faithfulness=float(value) if isinstance(value, int | float) else None,
        needs_review=outcome.metadata.get("needs_review") is True,
        marks=marks_of(outcome.metadata),
        probability=_probability(outcome),
    )


def _chosen(key: CallKey, score: StoredScore) -> Chosen | None:
    band: Band | None = next((band for band in BANDS if band == score.value), None)
    return Chosen(key=key, band=band, probability=_probability(score)) if band else None


def _probability(score: StoredScore) -> float:
    probability = json_text.as_number(score.metadata.get("inclusion_probability"))
    return probability if probability and 0 < probability <= 1 else 1.0
