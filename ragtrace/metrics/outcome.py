"""The one mark that says that a call was dealt with, and how."""

from collections.abc import Iterable

from ragtrace.model import JsonValue, Score, Unscored
from ragtrace.semconv import CONTEXT_DELIVERY, OUTCOME_SCORED, PENDING_REASONS, RAG_OUTCOME

_UNJUDGED = (CONTEXT_DELIVERY,)


def rag_outcome(results: Iterable[Score | Unscored], *, own: Iterable[Score | Unscored] = ()) -> Score | Unscored:
    """Return `scored` if any judged metric has a number, else the first reason why not.

    A reason that will pass (`judge_unavailable`, `over_budget`) is `Unscored` here too: the call keeps no mark and is
    tried again. Metrics of the user's own (`own`) decide only where there is no judged metric of ours: one that always
    has a number would hide refusals, and one that fails must not keep the call from being done.
    """
    found, others = [result for result in results if result.name not in _UNJUDGED], tuple(own)
    reasons: dict[str, JsonValue] = {r.name: r.reason for r in (*found, *others) if isinstance(r, Unscored)}
    pending = next((r for r in found if isinstance(r, Unscored) and r.reason in PENDING_REASONS), None)
    if pending:
        return Unscored(name=RAG_OUTCOME, reason=pending.reason, detail=pending.detail)
    value = (
        OUTCOME_SCORED
        if any(isinstance(r, Score) for r in found or others)
        else str(next(iter(reasons.values()), OUTCOME_SCORED))
    )
    review: dict[str, JsonValue] = {"needs_review": True} if any(map(_needs_review, found)) else {}
    return Score(
        name=RAG_OUTCOME,
        value=value,
        data_type="CATEGORICAL",
        comment=_why_unknown(found) if value == "contexts_unknown" else None,
        metadata={"unscored": reasons, **review},
    )


def _why_unknown(results: Iterable[Score | Unscored]) -> str | None:
    """Say why passages are unknown, where that depends on who wrote the spans."""
    return next((r.detail for r in results if isinstance(r, Unscored) and r.detail), None)


def _needs_review(result: Score | Unscored) -> bool:
    """Tell whether a claim stayed without a verdict: a person has to say whether it is supported."""
    return result.reason == "undecided" if isinstance(result, Unscored) else result.metadata.get("needs_review") is True
