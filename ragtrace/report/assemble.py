"""Make a report out of a window's records and the content of its worst calls."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from ragtrace.metrics.diagnosis import DEFAULT_THRESHOLDS, advise
from ragtrace.model import RagCall
from ragtrace.report import diagnosis, estimates, rates, trend, words
from ragtrace.report.calls import show_call
from ragtrace.report.choosing import Choice
from ragtrace.report.content import Choices, Report
from ragtrace.report.corrected import corrected_shares
from ragtrace.report.records import CallRecord
from ragtrace.report.segments import Segment, by_segment
from ragtrace.semconv import OUTCOME_SCORED


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where the calls were read."""

    base_url: str
    project_id: str
    project_name: str

    def trace_url(self, trace_id: str) -> str:
        """Return where Langfuse shows the trace."""
        return f"{self.base_url}/project/{self.project_id}/traces/{trace_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What the calls are held against, and how they are looked at."""

    thresholds: Mapping[str, float] = field(default_factory=lambda: DEFAULT_THRESHOLDS)
    before: Sequence[CallRecord] = ()
    """Calls of the window before."""
    compared_since: datetime | None = None
    segment: Segment | None = None
    choice: Choice = field(default_factory=Choice)
    choices: Choices = field(default_factory=Choices)


def make_report(
    records: Sequence[CallRecord],
    contents: Mapping[tuple[str, str], RagCall],
    *,
    source: Source,
    made_at: datetime,
    frame: Frame | None = None,
) -> Report:
    """Return the report on `records`; shown are those whose content is there, by (trace id, observation id)."""
    frame = frame or Frame()
    thresholds = frame.thresholds
    summary = rates.summarise(records, thresholds)
    known = [r for r in records if (r.trace_id, r.observation_id) in contents]
    starts = [record.started_at for record in records]
    return Report(
        title=f"{source.project_name}: what the generator saw",
        made_at=made_at,
        base_url=source.base_url,
        first_at=min(starts, default=None),
        last_at=max(starts, default=None),
        calls=len(records),
        judged=rates.outcome_counts(records).get(OUTCOME_SCORED, 0),
        unseen=sum(record.outcome is None for record in records),
        headline=rates.headline(records),
        obtained=rates.obtained(records),
        rates=summary,
        causes=words.count_causes(diagnosis.count_layers(records, thresholds)),
        advice=advise({rate.name: rate.mean for rate in summary if rate.mean is not None}, thresholds),
        corrected=corrected_shares(records, frame.before),
        delivery_loss=estimates.delivery_loss(records),
        cost=rates.judging_cost(records),
        trends=trend.trends(records),
        compared_since=frame.compared_since,
        changes=trend.changes(frame.before, records),
        choices=frame.choices,
        segmented_by=frame.segment,
        segments=by_segment(records, frame.segment) if frame.segment else (),
        shown=tuple(
            show_call(
                record,
                contents[record.trace_id, record.observation_id],
                number=number,
                url=source.trace_url(record.trace_id),
                thresholds=thresholds,
            )
            for number, record in enumerate(frame.choice.worst(known, len(known)), start=1)
        ),
    )
