"""Look at all alarms once: read the calls, hold them against each rule, tell what is new."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from ragtrace import __version__
from ragtrace.alarms.book import AlarmBook, Entry
from ragtrace.alarms.check import Finding, Rule, check
from ragtrace.errors import BackendRejected, ConfigError
from ragtrace.langfuse import LangfuseApi, OutgoingScore, ScoreRecord, open_langfuse
from ragtrace.model import JsonValue
from ragtrace.report.collect import Window, read_records
from ragtrace.scorer.command import project_key
from ragtrace.scorer.moments import parse_moment
from ragtrace.scorer.records import stable_id
from ragtrace.semconv import (
    GRADE_COMPLETENESS,
    GRADE_CORRECTNESS,
    GRADE_OVERALL,
    GRADE_RELEVANCE,
    RAG_ALARM,
)
from ragtrace.settings import Settings

News = Literal["ALARM", "still", "over", "ok", "wait"]
"""`ALARM`: raised now. `still`: raised before. `over`: no longer. `wait`: too few calls to say."""
_LONGEST_COMMENT = 500
_GRADES = (GRADE_COMPLETENESS, GRADE_CORRECTNESS, GRADE_OVERALL, GRADE_RELEVANCE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A rule's finding, and what of it is news."""

    news: News
    finding: Finding

    def as_text(self) -> str:
        """Return one line for people."""
        return f"{self.news:<5} {self.finding.text}"

    def as_json(self) -> dict[str, JsonValue]:
        """Return the line as an object."""
        estimate = self.finding.estimate
        return {
            "news": self.news,
            "rule": self.finding.rule,
            "value": estimate.value,
            "low": estimate.low,
            "high": estimate.high,
            "judged": estimate.n,
            "began_at": self.finding.began_at.isoformat() if self.finding.began_at else None,
            "text": self.finding.text,
        }


async def run_alarms(settings: Settings, *, now: datetime, is_dry_run: bool = False) -> tuple[Told, ...]:
    """Look at every rule once; a new alarm is written to Langfuse as a score, and remembered.

    Args:
        settings: Where Langfuse and the state file are, and the rules.
        now: The end of all windows.
        is_dry_run: Write and remember nothing.

    Raises:
        ConfigError: there is no rule, or one is wrong.
        BackendError: Langfuse could not be read, or a score not be written.
    """
    rules = read_rules(settings, now)
    async with open_langfuse(settings) as api:
        since = now - max(rule.reach for rule in rules)
        records = await read_records(api, Window(since=since, until=now))
        with AlarmBook.open(settings.state, project=project_key(api)) as book:
            told = []
            for rule in rules:
                definition = rule.settings.model_dump_json()
                known = book.read(rule.name, definition)
                finding = check(rule, records, now=now, changed_at=known.changed_at)
                news = _news(finding, known)
                if news == "ALARM" and not is_dry_run:
                    await _write(api, rule, finding)
                if not is_dry_run:
                    book.write(rule.name, definition, _remembered(finding, known, news))
                told.append(Told(news=news, finding=finding))
    return tuple(told)


def read_rules(settings: Settings, now: datetime) -> Sequence[Rule]:
    """Return the rules of the settings.

    Raises:
        ConfigError: there is none, or one has a time that is none or a metric that it cannot watch.
    """
    if not settings.alarms:
        raise ConfigError("there are no alarms: add a table [alarms.NAME] to ragtrace.toml, with metric and above")
    rules = []
    for name, given in settings.alarms.items():
        if given.change and given.metric in _GRADES:
            raise ConfigError(f"[alarms.{name}] change: {given.metric} is not in 0-1; use above or below")
        begins = [
            parse_moment(value, option=f"[alarms.{name}] {key}", now=now)
            for key, value in (("window", given.window), ("baseline", given.baseline))
        ]
        rules.append(Rule(name=name, settings=given, window=now - begins[0], baseline=now - begins[1]))
    return rules


def _news(finding: Finding, known: Entry) -> News:
    match finding.state:
        case "raised":
            return "still" if known.is_raised else "ALARM"
        case "well":
            return "over" if known.is_raised else "ok"
        case _:
            return "still" if known.is_raised else "wait"


def _remembered(finding: Finding, known: Entry, news: News) -> Entry:
    if news == "ALARM":
        return Entry(is_raised=True, changed_at=finding.began_at or known.changed_at)
    return replace(known, is_raised=news == "still")


async def _write(api: LangfuseApi, rule: Rule, finding: Finding) -> None:
    """Write a new alarm as a score on the call that it is about, where Langfuse's own monitors see it."""
    call = finding.call
    if call is None:
        return
    estimate = finding.estimate
    record = ScoreRecord(
        id=stable_id(rule.name, call.trace_id, call.observation_id),
        trace_id=call.trace_id,
        observation_id=call.observation_id,
        name=RAG_ALARM,
        value=1.0,
        data_type="NUMERIC",
        timestamp=call.started_at,
        environment=next(iter(call.labels.get("environment", ())), None),
        comment=finding.text[:_LONGEST_COMMENT],
        metadata={
            "rule": rule.name,
            "metric": rule.settings.metric,
            "value": estimate.value,
            "low": estimate.low,
            "high": estimate.high,
            "ragtrace": __version__,
        },
    )
    async for receipt in api.write_scores([OutgoingScore(id=record.id, body=record.body())]):
        for _, why in receipt.rejected:
            raise BackendRejected(f"Langfuse refused the score of alarm {rule.name!r}: {why}")
