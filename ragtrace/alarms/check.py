"""Hold the judged calls of a window against a rule. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from ragtrace.metrics import METRICS
from ragtrace.report.estimates import mean_of
from ragtrace.report.records import CallRecord
from ragtrace.settings import AlarmSettings
from ragtrace.stats import Estimate
from ragtrace.stats.change import detect_fall, detect_rise

State = Literal["raised", "well", "too_few", "learning"]
_SEGMENTS = ("environment", "release", "model", "name", "tag")
_LEAST_RATE = 0.001
"""A baseline of 0 would make a single call an alarm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """An alarm of the settings, with its times read."""

    name: str
    settings: AlarmSettings
    window: timedelta
    baseline: timedelta

    @property
    def reach(self) -> timedelta:
        """How far back the calls go that it looks at."""
        return self.window + self.baseline if self.settings.change else self.window


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a rule says of the calls until now."""

    rule: str
    state: State
    """`learning`: a change cannot be told yet, since too few calls say what is usual."""
    estimate: Estimate
    """Of the window."""
    baseline: Estimate | None = None
    """Of the time before it, for rules on changes."""
    call: CallRecord | None = None
    """Raised: the call that made it certain, or the worst of the window."""
    began_at: datetime | None = None
    """Raised, for rules on changes: start of the call with which it most likely began."""
    text: str
    """One line for people."""


def check(rule: Rule, records: Sequence[CallRecord], *, now: datetime, changed_at: datetime | None = None) -> Finding:
    """Hold calls against a rule.

    Args:
        rule: What is watched.
        records: The project's calls, oldest first, at least from the beginning of the rule's times.
        now: The end of the window.
        changed_at: When the last change began that this rule told of: what was before is usual no more.
    """
    metric, begin = rule.settings.metric, now - rule.window
    judged = [record for record in records if metric in record.scores and is_in_segment(record, rule.settings)]
    recent = [record for record in judged if begin <= record.started_at < now]
    if rule.settings.change is None:
        return _check_limit(rule, recent)
    since = max(begin - rule.baseline, changed_at or begin - rule.baseline)
    return _check_change(rule, recent, usual=[record for record in judged if since <= record.started_at < begin])


def is_in_segment(record: CallRecord, settings: AlarmSettings) -> bool:
    """Tell whether a call is one of those that the rule watches."""
    wanted = {name: getattr(settings, name) for name in _SEGMENTS}
    return all(value is None or value in record.labels.get(name, ()) for name, value in wanted.items())


def _check_limit(rule: Rule, recent: Sequence[CallRecord]) -> Finding:
    metric, above, below = rule.settings.metric, rule.settings.above, rule.settings.below
    estimate = mean_of(metric, recent)
    said = f"{rule.name}: {describe(metric, estimate, rule.settings.window)}"
    if estimate.low is None or estimate.high is None:
        return Finding(rule=rule.name, state="too_few", estimate=estimate, text=f"{said}: too few to say anything")
    is_beyond = estimate.low > above if above is not None else below is not None and estimate.high < below
    limit = f"above {above:g}" if above is not None else f"below {below:g}"
    if not is_beyond:
        return Finding(rule=rule.name, state="well", estimate=estimate, text=f"{said}; the alarm is {limit}")
    worst = (max if above is not None else min)(recent, key=lambda record: record.scores[metric])
    return Finding(rule=rule.name, state="raised", estimate=estimate, call=worst, text=f"{said}, for certain {limit}")


def _check_change(rule: Rule, recent: Sequence[CallRecord], *, usual: Sequence[CallRecord]) -> Finding:
    settings = rule.settings
    estimate, before = mean_of(settings.metric, recent), mean_of(settings.metric, usual)
    said = f"{rule.name}: {describe(settings.metric, estimate, settings.window)}"
    if before.low is None or before.high is None or before.quality != "ok":
        text = f"{said}; only {before.effective_n:.0f} earlier ones say what is usual, 30 are needed"
        return Finding(rule=rule.name, state="learning", estimate=estimate, baseline=before, text=text)
    detect, end = (detect_rise, before.high) if settings.change == "rise" else (detect_fall, before.low)
    found = detect(
        [record.scores[settings.metric] for record in recent],
        [record.probability for record in recent],
        # The unsure end: what is usual is itself an estimate.
        baseline=min(1 - _LEAST_RATE, max(_LEAST_RATE, end)),
        calls_per_false_alarm=settings.calls_per_false_alarm,
    )
    told = f"{said}, {before.value:.1%} [{before.low:.1%}, {before.high:.1%}] before"
    if found is None:
        return Finding(rule=rule.name, state="well", estimate=estimate, baseline=before, text=told)
    began_at = recent[found.began_at].started_at
    verb = "risen" if settings.change == "rise" else "fallen"
    return Finding(
        rule=rule.name,
        state="raised",
        estimate=estimate,
        baseline=before,
        call=recent[found.noticed_at],
        began_at=began_at,
        text=f"{told}: has {verb} since about {began_at:%Y-%m-%d %H:%M} UTC",
    )


def describe(metric: str, estimate: Estimate, window: str) -> str:
    """Say a rate with its interval and what it stands on."""
    if estimate.value is None:
        # A metric of the user's own may have any name; one that no answer has looks like a slip of the pen.
        doubt = "" if estimate.n or metric in METRICS else " (no metric of ragtrace: is the name right?)"
        return f"{metric}{doubt} of {estimate.n} judged answers in {window}"
    return f"{metric} {estimate.value:.1%} [{estimate.low:.1%}, {estimate.high:.1%}] of {estimate.n} in {window}"
