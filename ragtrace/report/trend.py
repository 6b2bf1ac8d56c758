"""Follow metrics through a window, and say what changed against the window before."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from ragtrace import stats
from ragtrace.report import estimates, words
from ragtrace.report.content import Change, Step, Trend, TrendPoint
from ragtrace.report.records import CallRecord

STEPS: Mapping[Step, timedelta] = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(weeks=1)}
_LONGEST_BY_HOUR = timedelta(days=3)
_LONGEST_BY_DAY = timedelta(days=120)


def trends(records: Sequence[CallRecord]) -> tuple[Trend, ...]:
    """Return the course of each headline metric, by hour, day or week; none where no stretch has enough."""
    if not records:
        return ()
    starts = [record.started_at for record in records]
    step = step_for(max(starts) - min(starts))
    bins: dict[datetime, list[CallRecord]] = defaultdict(list)
    for record in records:
        bins[floor(record.started_at, step)].append(record)
    if len(bins) < 2:
        return ()
    courses = ((name, _course(name, bins)) for name in words.HEADLINE_METRICS)
    return tuple(
        Trend(name=name, label=words.label(name), step=step, points=points)
        for name, points in courses
        if any(point.estimate.value is not None for point in points)
    )


def _course(name: str, bins: Mapping[datetime, Sequence[CallRecord]]) -> tuple[TrendPoint, ...]:
    found = (TrendPoint(start=start, estimate=estimates.mean_of(name, bins[start])) for start in sorted(bins))
    return tuple(point for point in found if point.estimate.n)


def step_for(span: timedelta) -> Step:
    """Return how long a stretch of the trend is."""
    if span <= _LONGEST_BY_HOUR:
        return "hour"
    return "day" if span <= _LONGEST_BY_DAY else "week"


def floor(at: datetime, step: Step) -> datetime:
    """Return where the stretch that holds a moment begins, in UTC; weeks begin on Monday."""
    moment = at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    if step == "hour":
        return moment
    return moment.replace(hour=0) - timedelta(days=moment.weekday() if step == "week" else 0)


def changes(before: Sequence[CallRecord], now: Sequence[CallRecord]) -> tuple[Change, ...]:
    """Compare the headline metrics of two windows; a change counts where the interval of the difference leaves out 0.

    Nothing is compared where the judge is another: its numbers do not mix with those of the judge before.
    """
    if not before or _judges(before) != _judges(now):
        return ()
    found = (_change(name, before, now) for name in words.HEADLINE_METRICS)
    return tuple(change for change in found if change.before.n and change.now.n)


def _change(name: str, before: Sequence[CallRecord], now: Sequence[CallRecord]) -> Change:
    earlier, later = estimates.mean_of(name, before), estimates.mean_of(name, now)
    difference = stats.difference(later, earlier)
    is_real = difference.low is not None and difference.high is not None and not difference.low <= 0 <= difference.high
    return Change(
        name=name,
        label=words.label(name),
        before=earlier,
        now=later,
        difference=difference,
        since=turning_point(name, [*before, *now]) if is_real else None,
    )


def turning_point(name: str, records: Sequence[CallRecord]) -> datetime | None:
    """Return the start of the call where one step fits the scores best (least squares, weighted); None for one call."""
    scored = sorted((r for r in records if name in r.scores), key=lambda record: record.started_at)
    total = sum(record.weight for record in scored)
    overall = sum(record.weight * record.scores[name] for record in scored)
    best, place = -1.0, None
    weight = part = 0.0
    for earlier, later in pairwise(scored):
        weight += earlier.weight
        part += earlier.weight * earlier.scores[name]
        gap = part / weight - (overall - part) / (total - weight)
        explained = weight * (total - weight) * gap * gap
        if explained > best and later.started_at > earlier.started_at:
            best, place = explained, later.started_at
    return place


def _judges(records: Sequence[CallRecord]) -> set[str | None]:
    return {r.outcome.judge_fingerprint for r in records if r.outcome and r.outcome.judge_fingerprint}
