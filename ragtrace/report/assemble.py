"""Make a report out of a window's records and the content of its worst calls."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from ragtrace.metrics.diagnosis import DEFAULT_THRESHOLDS, advise
from ragtrace.model import RagCall
from ragtrace.report import diagnosis, rates, words
from ragtrace.report.calls import show_call
from ragtrace.report.content import Report
from ragtrace.report.records import CallRecord, badness
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


def worst(records: Iterable[CallRecord], limit: int) -> tuple[CallRecord, ...]:
    """Return the calls to read first."""
    return tuple(sorted(records, key=badness)[:limit])


def make_report(
    records: Sequence[CallRecord],
    contents: Mapping[tuple[str, str], RagCall],
    *,
    source: Source,
    made_at: datetime,
    thresholds: Mapping[str, float] = DEFAULT_THRESHOLDS,
) -> Report:
    """Return the report on `records`; shown are those whose content is there, by (trace id, observation id)."""
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
        shown=tuple(
            show_call(
                record,
                contents[record.trace_id, record.observation_id],
                number=number,
                url=source.trace_url(record.trace_id),
                thresholds=thresholds,
            )
            for number, record in enumerate(worst(known, len(known)), start=1)
        ),
    )
