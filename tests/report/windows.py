"""Many calls of a window, a score each."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from ragtrace.report.assemble import Frame, make_report
from ragtrace.report.choosing import choices_of
from ragtrace.report.content import Report
from ragtrace.report.outcome import Outcome
from ragtrace.report.records import CallRecord
from tests.report.samples import MADE_AT, SOURCE, STARTED_AT, contradicted, refused


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


def full_report() -> Report:
    """A report with all parts: a drop against the window before, a trend of four hours, two tags, two calls to read."""
    before = window_of([1.0, 0.9] * 20)
    now = [
        *window_of([0.3, 0.2] * 20, labels={"tag": ("shop",)}),
        *window_of([1.0, 0.8] * 10, labels={"tag": ("<b>blog",)}),
    ]
    later = [replace(record, started_at=record.started_at + timedelta(hours=4)) for record in now]
    read = (contradicted(), refused())
    return make_report(
        later + [replace(s.record, scores={}, outcome=None) for s in read],
        {(s.record.trace_id, s.record.observation_id): s.call for s in read},
        source=SOURCE,
        made_at=MADE_AT,
        frame=Frame(before=before, compared_since=STARTED_AT, segment="tag", choices=choices_of(later)),
    )
