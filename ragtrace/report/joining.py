"""Give each listed call the scores that are stored for it."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from ragtrace import semconv
from ragtrace.extract import ObservationRow
from ragtrace.langfuse import StoredScore
from ragtrace.metrics.pooling import count_units
from ragtrace.report.outcome import read_outcome, read_probability
from ragtrace.report.records import CallRecord
from ragtrace.report.segments import labels_of_row

_BY_PEOPLE = "ANNOTATION"


def make_records(rows: Iterable[ObservationRow], scores: Iterable[StoredScore]) -> tuple[CallRecord, ...]:
    """Give each listed call its scores, of which the first of a name counts; scores of others are left out."""
    by_call: dict[tuple[str | None, str | None], list[StoredScore]] = defaultdict(list)
    for score in scores:
        by_call[score.trace_id, score.observation_id].append(score)
    return tuple(_record(row, by_call.get((row.trace_id, row.id), [])) for row in rows)


def _record(row: ObservationRow, scores: Sequence[StoredScore]) -> CallRecord:
    # A person's number of a metric is none of the judge's.
    answers = [score for score in scores if score.source == _BY_PEOPLE and score.name == semconv.HUMAN_SUPPORTED]
    # From the last to the first, so that the first of a name stays.
    stored = {score.name: score for score in reversed(scores) if score.source != _BY_PEOPLE}
    mark, review = stored.get(semconv.RAG_OUTCOME), stored.get(semconv.RAG_REVIEW)
    numbers = {
        name: (float(score.value), score)
        for name, score in stored.items()
        if name != semconv.RAG_ALARM and score.data_type == "NUMERIC" and isinstance(score.value, float | int)
    }
    counts = {name: count_units(name, score.metadata) for name, (_, score) in numbers.items()}
    return CallRecord(
        trace_id=row.trace_id,
        observation_id=row.id,
        started_at=row.start_time,
        scores={name: value for name, (value, _) in numbers.items()},
        units={name: count for name, count in counts.items() if count is not None},
        comments={name: score.comment for name, (_, score) in numbers.items() if score.comment},
        labels=labels_of_row(row),
        human_supported=bool(answers[0].value) if answers else None,
        review_probability=read_probability(review) if review else None,
        outcome=read_outcome(mark) if mark else None,
    )
