"""How many claims or sentences a score stands on, so that a window can pool them beside averaging answers."""

from collections.abc import Mapping
from typing import Final

from ragtrace.model import JsonValue
from ragtrace.semconv import (
    CITATION_ACCURACY,
    CITATION_COVERAGE,
    CONTEXT_RECALL,
    CONTRADICTION_RATE,
    FAITHFULNESS,
    HALLUCINATION_RATE,
    RETRIEVAL_RECALL,
    SUFFICIENCY,
)

UNITS: Final[Mapping[str, str]] = {
    FAITHFULNESS: "claims",
    CONTEXT_RECALL: "claims",
    RETRIEVAL_RECALL: "claims",
    HALLUCINATION_RATE: "sentences",
    CONTRADICTION_RATE: "sentences",
    CITATION_ACCURACY: "citations",
    CITATION_COVERAGE: "supported",
    SUFFICIENCY: "needs",
}
"""Metrics that are shares of things that can be counted, and the key of their number in the score's metadata."""


def count_units(name: str, metadata: Mapping[str, JsonValue]) -> int | None:
    """Return the denominator of a score, as its metadata gives it; None where there is none or it is not known.

    Undecided claims are in no denominator. A recall of 0 because nothing was received has no count of claims: the
    judge, who would count them, was not asked.
    """
    key = UNITS.get(name)
    count = metadata.get(key) if key else None
    if not isinstance(count, int) or isinstance(count, bool):
        return None
    undecided = metadata.get("undecided") if key == "claims" else 0
    return max(0, count - undecided) if isinstance(undecided, int) else count
