"""Write a report's numbers as a CSV table: one row an estimate."""

import csv
import io
from collections.abc import Iterator

from ragtrace.report.content import Report
from ragtrace.stats import Estimate

HEADER = ("part", "group", "metric", "value", "low", "high", "n", "effective_n", "quality")
Row = tuple[str, str, str, float | None, float | None, float | None, int, float, str]
_DIGITS = 6
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def to_csv(report: Report) -> str:
    """Return the table; cells that a spreadsheet would run as a formula begin with an apostrophe."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADER)
    for part, group, *numbers in _rows(report):
        writer.writerow((part, f"'{group}" if group.startswith(_FORMULA) else group, *numbers))
    return out.getvalue()


def _rows(report: Report) -> Iterator[Row]:
    yield from _window(report)
    for trend in report.trends:
        for point in trend.points:
            yield _row(trend.step, point.start.isoformat(), trend.name, point.estimate)
    for change in report.changes:
        yield _row("before", "", change.name, change.before)
        yield _row("change", change.since.isoformat() if change.since else "", change.name, change.difference)
    for segment in report.segments:
        for name, estimate in segment.estimates.items():
            yield _row(report.segmented_by or "", segment.value, name, estimate)


def _window(report: Report) -> Iterator[Row]:
    for rate in report.rates:
        yield _row("window", "", rate.name, rate.estimate)
        if rate.pooled:
            yield _row("pooled", rate.unit or "", rate.name, rate.pooled)
    for share in report.corrected:
        for part, found in (("judge", share.raw), ("corrected", share.corrected)):
            yield _row(part, f"{share.judge} {share.language}", "wholly_supported", found)
    yield _row("delivery", "", "delivery_loss", report.delivery_loss.recall)


def _row(part: str, group: str, metric: str, found: Estimate) -> Row:
    value, low, high = (
        None if number is None else round(number, _DIGITS) for number in (found.value, found.low, found.high)
    )
    return (part, group, metric, value, low, high, found.n, round(found.effective_n, 1), found.quality)
