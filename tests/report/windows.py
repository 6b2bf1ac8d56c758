"""Many calls of a window, a score each."""

from collections.abc import Sequence
from datetime import timedelta

from ragtrace.report.outcome import Outcome
from ragtrace.report.records import CallRecord
from tests.report.samples import STARTED_AT


def window_of(
    values: Sequence[float],
    *,
    name: str = "faithfulness",
    apart: timedelta = timedelta(minutes=5),
    judge: str = "judge-1",
    labels: dict[str, tuple[str, ...]] | None = None,
) -> list[CallRecord]:
    """One call every `apart`, each judged for sure."""
    return [
        CallRecord(
            trace_id=f"t{number}",
            observation_id=f"o{number}",
            started_at=STARTED_AT + number * apart,
            scores={name: value},
            labels=labels or {},
            outcome=Outcome(value="scored", judge_model="m", judge_fingerprint=judge),
        )
        for number, value in enumerate(values)
    ]
