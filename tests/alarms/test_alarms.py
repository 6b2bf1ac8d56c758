"""Alarms: which rates raise one, that each is told once, and what Langfuse is told."""

import json
import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from typer.testing import CliRunner

from ragtrace.alarms import run_alarms
from ragtrace.alarms.check import Rule, check
from ragtrace.cli import app
from ragtrace.errors import ConfigError
from ragtrace.langfuse import LangfuseApi, OutgoingScore, ScoreRecord, open_langfuse
from ragtrace.report.records import CallRecord
from ragtrace.settings import AlarmSettings, Settings, load_settings
from tests.seed import SeedCall, seed, span_id, stored_scores, trace_id

NOW = datetime(2026, 3, 9, tzinfo=UTC)
METRIC = "hallucination_rate"


def rule(**given: Any) -> Rule:
    settings = AlarmSettings(**{"metric": METRIC, **given})
    return Rule(name="wrong", settings=settings, window=timedelta(days=1), baseline=timedelta(days=7))


def calls(rates: Sequence[float], *, until: datetime = NOW, every: timedelta = timedelta(minutes=5), **labels: str):
    """One call a rate, the last of them just before `until`."""
    begin = until - len(rates) * every
    return [
        CallRecord(
            trace_id=f"t{until:%d}-{n}",
            observation_id="o",
            started_at=begin + n * every,
            scores={METRIC: rate},
            labels={name: (value,) for name, value in labels.items()},
        )
        for n, rate in enumerate(rates)
    ]


def chance(rate: float, count: int, *, of: int = 1) -> list[float]:
    drawn = random.Random(of)
    return [float(drawn.random() < rate) for _ in range(count)]


@pytest.mark.parametrize(
    ("given", "rates", "state"),
    [
        ({"above": 0.1}, chance(0.3, 200), "raised"),
        ({"above": 0.1}, chance(0.12, 60), "well"),
        ({"above": 0.1}, [1.0] * 5, "too_few"),
        ({"below": 0.5}, chance(0.3, 200), "raised"),
        ({"below": 0.5}, chance(0.7, 200), "well"),
        ({"above": 0.1}, [], "too_few"),
    ],
)
def test_a_limit_is_passed_by_the_whole_interval(given, rates, state):
    """A rate that may be beyond the limit by chance is no alarm, and few answers say nothing."""
    found = check(rule(**given), calls(rates), now=NOW)

    assert (found.state, (found.call is not None)) == (state, state == "raised")


def test_the_worst_call_stands_for_a_limit():
    """Whoever is called sees where to look first."""
    found = check(rule(above=0.1), calls([0.2] * 50 + [1.0] + [0.2] * 50), now=NOW)

    assert found.call is not None
    assert (found.call.trace_id, found.text) == (
        "t09-50",
        "wrong: hallucination_rate 20.8% [19.2%, 22.4%] of 101 in 24h, for certain above 0.1",
    )


def test_a_rule_watches_its_segment_only():
    """Calls of another environment, and calls of which it is not known, do not count."""
    records = [*calls([1.0] * 100, environment="staging"), *calls([1.0] * 100), *calls([0.0] * 50, environment="prod")]

    found = check(rule(above=0.1, environment="prod"), records, now=NOW)

    assert (found.state, found.estimate.n) == ("well", 50)


def test_a_rise_is_dated():
    """A rate that triples is noticed within hours, and the alarm says since when."""
    usual, rises_at = chance(0.1, 1500, of=2), NOW - timedelta(hours=12)
    records = [*calls(usual, until=rises_at), *calls(chance(0.4, 144, of=3))]

    found = check(rule(change="rise"), records, now=NOW)

    assert found.state == "raised"
    assert found.began_at is not None
    assert abs(found.began_at - rises_at) < timedelta(hours=2)
    assert "has risen since about 2026-03-0" in found.text


def test_a_fall_is_told_by_the_same_rule_turned_round():
    """What falls is noticed where a fall is watched for, and is well where a rise is."""
    records = [*calls(chance(0.9, 1500, of=2), until=NOW - timedelta(days=1)), *calls(chance(0.5, 280, of=3))]

    states = [check(rule(change=change), records, now=NOW).state for change in ("fall", "rise")]

    assert states == ["raised", "well"]


def test_no_change_without_knowing_what_is_usual():
    """After a change, and in a young project, the next one waits until enough calls say what is usual now."""
    records = [*calls(chance(0.1, 1500), until=NOW - timedelta(days=1)), *calls(chance(0.5, 280))]

    young = check(rule(change="rise"), records[-290:], now=NOW)
    changed = check(rule(change="rise"), records, now=NOW, changed_at=NOW - timedelta(hours=20))

    assert [found.state for found in (young, changed)] == ["learning", "learning"]
    assert young.text.endswith("only 10 earlier ones say what is usual, 30 are needed")


def test_one_wrong_answer_after_none_is_no_change():
    """A baseline of zero is an estimate, too."""
    records = [*calls([0.0] * 1500, until=NOW - timedelta(days=1)), *calls([0.0] * 279 + [1.0])]

    assert check(rule(change="rise"), records, now=NOW).state == "well"


def settings_for(server, tmp_path, **alarms: dict[str, Any]) -> Settings:
    return load_settings(
        {},
        overrides={
            "langfuse_base_url": server.base_url,
            "langfuse_public_key": server.public_key,
            "langfuse_secret_key": server.secret_key,
            "state": tmp_path / "state.sqlite",
            "alarms": alarms,
        },
    )


async def put(settings: Settings, server, rates: Sequence[float], *, first: int = 0, until: datetime = NOW) -> None:
    """Store calls with this score, one a minute."""
    starts = [until - timedelta(minutes=len(rates) - n) for n in range(len(rates))]
    seed(server, [SeedCall(number=first + n, started_at=at, environment="prod") for n, at in enumerate(starts)])
    records = [
        ScoreRecord(
            id=f"s{first + n}",
            trace_id=trace_id(first + n),
            observation_id=span_id(first + n),
            name=METRIC,
            value=rate,
            data_type="NUMERIC",
            timestamp=at,
        )
        for n, (rate, at) in enumerate(zip(rates, starts, strict=True))
    ]
    async with open_langfuse(settings) as api:
        assert isinstance(api, LangfuseApi)
        async for _ in api.write_scores([OutgoingScore(id=r.id, body=r.body()) for r in records]):
            pass


async def test_an_alarm_is_told_once_and_written_to_langfuse(local_langfuse, tmp_path):
    """First `ALARM` and a score, then `still`, then `over`, then, with new wrong answers, `ALARM` again."""
    settings = settings_for(local_langfuse, tmp_path, wrong={"metric": METRIC, "above": 0.1, "environment": "prod"})
    await put(settings, local_langfuse, [0.2] * 39 + [1.0])
    times = [NOW, NOW + timedelta(minutes=5), NOW + timedelta(days=3), NOW + timedelta(days=6)]

    news = [(await run_alarms(settings, now=now))[0].news for now in times[:2]]
    written = stored_scores(local_langfuse, name="rag_alarm")
    await put(settings, local_langfuse, [0.0] * 40, first=100, until=times[2])
    news.append((await run_alarms(settings, now=times[2]))[0].news)
    await put(settings, local_langfuse, [0.5] * 40, first=200, until=times[3])
    news.append((await run_alarms(settings, now=times[3]))[0].news)

    assert news == ["ALARM", "still", "over", "ALARM"]
    assert [(s["value"], s["subject"], s["comment"]) for s in written] == [
        (
            1,
            {"kind": "observation", "id": span_id(39), "traceId": trace_id(39)},
            "wrong: hallucination_rate 22.0% [18.2%, 26.2%] of 40 in 24h, for certain above 0.1",
        )
    ]
    assert len(stored_scores(local_langfuse, name="rag_alarm")) == 2


async def test_a_change_is_told_once(local_langfuse, tmp_path):
    """After a change the new rate becomes what is usual, so that the same change is no second alarm."""
    settings = settings_for(
        local_langfuse,
        tmp_path,
        drift={"metric": METRIC, "change": "rise", "window": "2h", "baseline": "5h", "calls_per_false_alarm": 1000},
    )
    await put(settings, local_langfuse, [*chance(0.1, 240), *chance(0.6, 60)])

    news = [(await run_alarms(settings, now=NOW + timedelta(minutes=n)))[0].news for n in (0, 1, 30)]
    await put(settings, local_langfuse, chance(0.6, 400, of=5), first=400, until=NOW + timedelta(hours=8))
    later = (await run_alarms(settings, now=NOW + timedelta(hours=8)))[0].news

    assert (news, later) == (["ALARM", "still", "still"], "over")


async def test_a_dry_run_remembers_nothing(local_langfuse, tmp_path):
    """Looking first costs no alarm."""
    settings = settings_for(local_langfuse, tmp_path, wrong={"metric": METRIC, "above": 0.1})
    await put(settings, local_langfuse, [1.0] * 40)

    dry = await run_alarms(settings, now=NOW, is_dry_run=True)
    nothing = stored_scores(local_langfuse, name="rag_alarm")
    real = await run_alarms(settings, now=NOW)

    assert ([t.news for t in (*dry, *real)], nothing) == (["ALARM", "ALARM"], [])


async def test_a_rule_that_is_redefined_starts_afresh(local_langfuse, tmp_path):
    """A new limit is a new alarm."""
    rules = [{"metric": METRIC, "above": above} for above in (0.1, 0.2)]
    await put(settings_for(local_langfuse, tmp_path), local_langfuse, [1.0] * 40)

    news = [(await run_alarms(settings_for(local_langfuse, tmp_path, wrong=r), now=NOW))[0].news for r in rules]

    assert news == ["ALARM", "ALARM"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, r"there are no alarms: add a table \[alarms.NAME\]"),
        ({"a": {"metric": METRIC, "above": 1, "window": "soon"}}, r"\[alarms.a\] window 'soon': expected how long ago"),
        ({"a": {"metric": "grade_overall", "change": "fall"}}, r"\[alarms.a\] change: grade_overall is not in 0-1"),
    ],
)
async def test_wrong_rules_are_said(local_langfuse, tmp_path, given, said):
    """One line says which rule, and what it should be."""
    with pytest.raises(ConfigError, match=said):
        await run_alarms(settings_for(local_langfuse, tmp_path, **given), now=NOW)


async def test_a_state_file_that_cannot_be_used(local_langfuse, tmp_path):
    """Without a memory each look would tell the alarm again, so none is told."""
    settings = settings_for(local_langfuse, tmp_path, wrong={"metric": METRIC, "above": 0.1})
    settings.state.mkdir()

    with pytest.raises(ConfigError, match=r"RAGTRACE_STATE=.*: cannot be used"):
        await run_alarms(settings, now=NOW)


def test_the_command(local_langfuse, tmp_path, monkeypatch):
    """Rules come from ragtrace.toml; a line a rule, exit code 1 where an alarm is new."""
    monkeypatch.chdir(tmp_path)
    toml = f'[alarms.wrong]\nmetric = "{METRIC}"\nabove = 0.1\n[scorer]\npoll_seconds = 5\n'
    (tmp_path / "ragtrace.toml").write_text(toml)
    environ = {
        "LANGFUSE_BASE_URL": local_langfuse.base_url,
        "LANGFUSE_PUBLIC_KEY": local_langfuse.public_key,
        "LANGFUSE_SECRET_KEY": local_langfuse.secret_key,
    }

    empty = CliRunner().invoke(app, ["alarms"], env=environ)
    as_json = CliRunner().invoke(app, ["alarms", "--json", "--dry-run"], env=environ)
    (tmp_path / "ragtrace.toml").write_text(toml.replace(METRIC, "halucination_rate"))
    slip = CliRunner().invoke(app, ["alarms", "--dry-run"], env=environ)
    (tmp_path / "ragtrace.toml").write_text(toml.replace("above = 0.1", "above = 0.1\nbelow = 0.2"))
    both = CliRunner().invoke(app, ["alarms"], env=environ)

    assert (empty.exit_code, empty.stdout) == (
        0,
        "wait  wrong: hallucination_rate of 0 judged answers in 24h: too few to say anything\n",
    )
    assert json.loads(as_json.stdout)["news"] == "wait"
    assert "wrong: halucination_rate (no metric of ragtrace: is the name right?) of 0 judged" in slip.stdout
    assert "one of above, below and change" in str(both.exception)
