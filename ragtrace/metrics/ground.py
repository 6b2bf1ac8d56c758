"""Decide, before any arithmetic, whether a call has the ground that a metric stands on."""

from dataclasses import dataclass

from ragtrace.model import PassageDelivery, RagCall, Unscored, Verdicts
from ragtrace.semconv import (
    MARK_CAPPED,
    MARK_IDS_ONLY,
    MARK_MASKED,
    MARK_PROMPT_UNKNOWN,
    MARK_UNREADABLE,
    UnscoredReason,
)

_WHY_UNKNOWN = {
    MARK_IDS_ONLY: "the instrumentation writes ids of documents without their texts",
    MARK_PROMPT_UNKNOWN: "the instrumentation does not write what the generator was sent",
    MARK_CAPPED: "what the instrumentation wrote was cut off",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricOptions:
    """What a user may tune; the defaults are those that the documentation names."""

    k: int = 5
    """Cut-off of the rank metrics, in passages."""
    string_similarity: float = 0.5
    """Least normalised Levenshtein similarity at which two passages count as the same, 0–1, exclusive."""
    undecided_limit: float = 0.25
    """Largest share of undecided claims that still leaves a number, 0–1."""


def received_passages(call: RagCall) -> tuple[tuple[int, PassageDelivery], ...]:
    """Return (index, delivery) of the passages whose received text has a letter or digit, in retrieved order."""
    if call.delivery is None:
        return ()
    return tuple((i, d) for i, d in enumerate(call.delivery.passages) if _says_something(d.received_text))


def withheld_passages(call: RagCall) -> tuple[tuple[int, PassageDelivery], ...]:
    """Return (index, delivery) of the passages of which some text was retrieved and not received."""
    if call.delivery is None:
        return ()
    return tuple((i, d) for i, d in enumerate(call.delivery.passages) if _says_something(d.withheld_text))


def _says_something(text: str) -> bool:
    """Tell whether a text could support anything: blanks, rules, dots and invisible characters cannot."""
    return any(map(str.isalnum, text))


def is_judgeable(call: RagCall) -> bool:
    """Tell whether a judge could find anything out about this call, so that asking it is worth its price."""
    if contexts_missing(call) not in (None, "no_contexts"):
        return False
    if call.reference and call.reference.strip() and (received_passages(call) or withheld_passages(call)):
        return True
    return bool(call.answer.strip() and received_passages(call))


def contexts_missing(call: RagCall) -> UnscoredReason | None:
    """Return why the received passages cannot be judged against, or None if they can."""
    if MARK_MASKED in call.marks:
        return "masked"
    if MARK_UNREADABLE in call.marks:
        return "incomplete_capture"
    if call.delivery is None:
        return "contexts_unknown"
    if any(d.status == "undetermined" for d in call.delivery.passages):
        return "incomplete_capture"
    if MARK_CAPPED in call.marks and any(d.status != "full" for _, d in received_passages(call)):
        return "incomplete_capture"
    return None if received_passages(call) else "no_contexts"


def answer_ground(call: RagCall, verdicts: Verdicts | Unscored | None, name: str) -> Verdicts | Unscored:
    """Return the verdicts if the answer can be measured, else why it cannot."""
    if reason := contexts_missing(call):
        detail = next((why for mark, why in _WHY_UNKNOWN.items() if mark in call.marks), None)
        return Unscored(name=name, reason=reason, detail=detail if reason == "contexts_unknown" else None)
    if not call.answer.strip():
        return Unscored(name=name, reason="no_answer")
    found = judged(verdicts, name)
    if isinstance(found, Verdicts) and found.refused:
        return Unscored(name=name, reason="refusal", detail="the answer declines to answer")
    return found


def judged(verdicts: Verdicts | Unscored | None, name: str) -> Verdicts | Unscored:
    """Return the verdicts if the judge gave any, else why not."""
    if verdicts is None:
        return Unscored(name=name, reason="judge_unavailable", detail="the judge was not asked")
    if isinstance(verdicts, Unscored):
        return Unscored(name=name, reason=verdicts.reason, detail=verdicts.detail)
    if verdicts.abstained:
        return Unscored(name=name, reason=verdicts.abstained, detail="the judge abstained")
    return verdicts
