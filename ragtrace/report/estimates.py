"""Estimate a metric over calls, each weighing one over the probability that it was judged."""

from collections.abc import Sequence

from ragtrace import semconv, stats
from ragtrace.report.content import DeliveryLoss
from ragtrace.report.records import CallRecord


def mean_of(name: str, records: Sequence[CallRecord]) -> stats.Estimate:
    """Return the mean of a metric with its interval; calls of one trace are no independent draws."""
    return _mean([(record, record.scores[name]) for record in records if name in record.scores])


def pooled(name: str, records: Sequence[CallRecord]) -> stats.Estimate | None:
    """Return the share over all claims or sentences (micro); None where no call says how many it has."""
    counted = [record for record in records if name in record.scores and record.units.get(name)]
    if not counted:
        return None
    units = [record.units[name] for record in counted]
    return stats.ratio(
        [record.scores[name] * count for record, count in zip(counted, units, strict=True)],
        units,
        [record.probability for record in counted],
        clusters=[record.trace_id for record in counted],
    )


def delivery_loss(records: Sequence[CallRecord]) -> DeliveryLoss:
    """Return what was found and lost on the way: recall of the retrieved text less recall of the received text."""
    pairs = [
        (record, record.scores[semconv.RETRIEVAL_RECALL] - record.scores[semconv.CONTEXT_RECALL])
        for record in records
        if semconv.RETRIEVAL_RECALL in record.scores and semconv.CONTEXT_RECALL in record.scores
    ]
    return DeliveryLoss(recall=_mean(pairs), text=mean_of(semconv.CONTEXT_DELIVERY, records))


def _mean(values: Sequence[tuple[CallRecord, float]]) -> stats.Estimate:
    return stats.mean(
        [value for _, value in values],
        [record.probability for record, _ in values],
        clusters=[record.trace_id for record, _ in values],
    )
