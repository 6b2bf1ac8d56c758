"""A report read from a server, in the terminal's and the browser's way."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient
from typer.testing import CliRunner

from ragtrace import semconv
from ragtrace.cli import app
from ragtrace.errors import BackendRejected
from ragtrace.extract import ObservationRow
from ragtrace.langfuse import CallQuery, ScoreQuery, StoredScore, open_langfuse
from ragtrace.report.choosing import Choice
from ragtrace.report.collect import Window, collect, score_queries
from ragtrace.report.command import read_report
from ragtrace.report.joining import make_records
from ragtrace.report.pages import make_routes
from ragtrace.report.records import CallRecord
from ragtrace.scorer import ScoringOptions, StateFile, Tally, score_calls
from ragtrace.settings import Settings, load_settings
from ragtrace.stats import ratio
from tests.scorer.judges import ExactJudge
from tests.seed import STARTED_AT, TOWER, SeedCall, many, seed, trace_id

MADE_AT = datetime(2026, 3, 2, tzinfo=UTC)
LIE = "The tower is made of cheese."


def _settings(server) -> Settings:
    return load_settings(
        {},
        overrides={
            "langfuse_base_url": server.base_url,
            "langfuse_public_key": server.public_key,
            "langfuse_secret_key": server.secret_key,
        },
    )


async def _score(settings: Settings, tmp_path) -> None:
    async with open_langfuse(settings) as api:
        with StateFile(tmp_path / "state.sqlite", project="p") as state:
            query = CallQuery(since=STARTED_AT)
            await score_calls(api, ExactJudge(), state, query=query, options=ScoringOptions(), tally=Tally())


async def _report(settings: Settings, window: Window):
    async with open_langfuse(settings) as api:
        return await collect(api, window, made_at=MADE_AT)


@pytest.fixture
async def scored(local_langfuse, tmp_path) -> Settings:
    """A server with two scored calls, the second a lie, and one that came later."""
    settings = _settings(local_langfuse)
    liar = SeedCall(number=1, answer=LIE, reference=TOWER, started_at=STARTED_AT + timedelta(minutes=1))
    seed(local_langfuse, [SeedCall(tags=("shop",)), liar])
    await _score(settings, tmp_path)
    seed(local_langfuse, [SeedCall(number=2, started_at=STARTED_AT + timedelta(minutes=2))])
    return settings


async def test_report_joins_calls_scores_and_content(scored):
    """The worst answer comes first, with passages, verdicts and a link to its trace; counts add up."""
    report = await _report(scored, Window())
    worst = report.shown[0]

    assert (report.calls, report.judged, report.unseen, len(report.shown)) == (3, 2, 1, 3)
    assert (worst.trace_id, worst.question, worst.reference) == (trace_id(1), "How high is the tower?", TOWER)
    assert [(s.text, s.verdict) for s in worst.answer] == [(LIE, "unsupported")]
    assert [p.fate for p in worst.passages or ()] == ["received", "received"]
    assert worst.url == f"{scored.langfuse_base_url}/project/local-project/traces/{trace_id(1)}"
    assert report.headline == "1 of 2 judged answers says more than the generator was told."
    assert next(r.mean for r in report.rates if r.name == semconv.CONTEXT_RECALL) == 1.0


async def test_rates_are_pooled_and_held_against_thresholds(scored):
    """Counts stored with the scores give the rate over sentences, and `[thresholds]` say whether it passes."""
    strict = scored.model_copy(update={"thresholds": {"hallucination_rate": 0.4}})
    report = await read_report(strict, Window())
    rate = next(r for r in report.rates if r.name == semconv.HALLUCINATION_RATE)

    assert (rate.mean, rate.unit, rate.pass_mark, rate.has_passed) == (0.5, "sentences", 0.4, False)
    assert rate.pooled == ratio([0.0, 1.0], [1, 1], clusters=["a", "b"])
    assert [advice.layer for advice in report.advice] == ["generation"]


async def test_window_bounds_calls_and_shown_answers(scored):
    """Only calls of the window count, and only so many are read and shown."""
    since = STARTED_AT + timedelta(seconds=30)
    bounded = await _report(scored, Window(since=since, until=STARTED_AT + timedelta(minutes=2), shown=0))
    one = await _report(scored, Window(shown=1))

    assert (bounded.calls, bounded.judged, len(bounded.shown)) == (1, 1, 0)
    assert (one.calls, [c.trace_id for c in one.shown]) == (3, [trace_id(1)])


async def test_calls_are_split_by_what_they_say(scored):
    """The language is that of the question; calls that are not recorded to have a tag are a segment of their own."""
    languages = await _report(scored, Window(segment="language", shown=0))
    tags = await _report(scored, Window(segment="tag", shown=0))

    assert [(s.value, s.calls) for s in languages.segments] == [("en", 3)]
    assert [(s.value, s.calls) for s in tags.segments] == [("(not recorded)", 2), ("shop", 1)]


async def test_search_reads_all_calls(scored):
    """Words are looked for in all calls of the window, not only in those that are shown."""
    found = await _report(scored, Window(choice=Choice(search="cheese"), shown=1))

    assert (found.calls, [c.trace_id for c in found.shown]) == (1, [trace_id(1)])
    assert found.choices.tags == ("shop",)


async def test_window_before_is_as_long(scored):
    """What this window is compared with ends where it begins; without a beginning there is none."""
    since = STARTED_AT + timedelta(seconds=90)
    window = Window(since=since, until=since + timedelta(seconds=90), is_compared=True, shown=0)
    report = await _report(scored, window)

    assert (report.calls, report.compared_since, report.changes) == (1, STARTED_AT, ())
    assert Window(is_compared=True).before(MADE_AT) is None


async def test_judges_own_traffic_is_no_answer(local_langfuse):
    """A call that a scorer made is not in the report."""
    seed(local_langfuse, [SeedCall(environment=semconv.SCORER_ENVIRONMENT), *many(2)[1:]])

    assert (await _report(_settings(local_langfuse), Window())).calls == 1


def test_scores_of_other_observations_are_left_out():
    """Scores without an observation's number, of other types or of unlisted calls change nothing."""
    row = ObservationRow(id="o", trace_id="t", name="rag-call", type="CHAIN", start_time=STARTED_AT)
    stray = StoredScore(
        id="s",
        name="faithfulness",
        value=0.0,
        data_type="NUMERIC",
        timestamp=STARTED_AT,
        source="API",
        trace_id="elsewhere",
        observation_id="o",
    )
    words = replace(stray, trace_id="t", value="good", data_type="CATEGORICAL")

    assert make_records([row], [stray, words]) == (CallRecord(trace_id="t", observation_id="o", started_at=STARTED_AT),)


def test_answers_of_people_are_told_from_the_judges():
    """The newest answer of a person stands beside the judge's numbers and never in their place."""
    row = ObservationRow(id="o", trace_id="t", name="rag-call", type="CHAIN", start_time=STARTED_AT)
    judged = StoredScore(
        id="s",
        name="faithfulness",
        value=1.0,
        data_type="NUMERIC",
        timestamp=STARTED_AT,
        source="API",
        trace_id="t",
        observation_id="o",
    )
    corrected = replace(judged, value=0.0, source="ANNOTATION")
    newest = replace(corrected, name="human_supported", value=False, data_type="BOOLEAN")
    (record,) = make_records([row], [corrected, newest, replace(newest, value=True), judged])

    assert (record.scores, record.human_supported) == ({"faithfulness": 1.0}, False)


def _rows(count: int) -> list[ObservationRow]:
    return [
        ObservationRow(
            id=str(n), trace_id="t", name="rag-call", type="CHAIN", start_time=STARTED_AT + timedelta(seconds=n)
        )
        for n in range(count)
    ]


def test_scores_are_read_in_parts_of_a_page():
    """Scores of many calls are read in parts that join without a gap, up to where the page before began."""
    until = STARTED_AT + timedelta(seconds=140)
    middle = STARTED_AT + timedelta(seconds=100)

    assert score_queries(_rows(150), Window(), until=until) == (
        ScoreQuery(since=STARTED_AT, until=middle),
        ScoreQuery(since=middle, until=until),
    )
    assert score_queries(_rows(3), Window(trace_id="t"), until=None) == (
        ScoreQuery(since=STARTED_AT, trace_ids=("t",)),
    )
    assert score_queries(_rows(3), Window(), until=STARTED_AT) == ()
    assert len(score_queries(_rows(1000), Window(), until=None)) == 4


async def test_failure_of_one_part_is_one_error(local_langfuse):
    """Where scores cannot be read the report fails with the line that says why."""
    seed(local_langfuse, many(150))
    local_langfuse.faults.path = "/api/public/v3/scores"
    local_langfuse.faults.status = 403

    with pytest.raises(BackendRejected, match="may not read scores"):
        await _report(_settings(local_langfuse), Window())


async def test_pages_show_the_window_and_one_trace(scored):
    """The live page lists the window; a trace's page shows that trace alone; both forbid scripts."""
    client = TestClient(Starlette(routes=make_routes(scored)))
    window, trace = client.get("/"), client.get(f"/project/local/traces/{trace_id(0)}")
    unknown = client.get(f"/project/local/traces/{'f' * 32}")

    assert (window.status_code, trace.status_code, unknown.status_code) == (200, 200, 404)
    assert (LIE in window.text, LIE in trace.text, TOWER in trace.text) == (True, False, True)
    assert window.headers["content-security-policy"].startswith("default-src 'none'")
    assert window.headers["cache-control"] == "no-store"


def test_pages_say_what_is_wrong(local_langfuse):
    """Where Langfuse refuses the keys the page is one line that says so."""
    settings = _settings(local_langfuse).model_copy(update={"langfuse_public_key": "pk-wrong"})
    reply = TestClient(Starlette(routes=make_routes(settings))).get("/")

    assert reply.status_code == 502
    assert "keys refused (401)" in reply.text


def _environ(settings: Settings) -> dict[str, str]:
    base_url, public_key, secret_key = settings.require_langfuse()
    return {
        "LANGFUSE_BASE_URL": base_url,
        "LANGFUSE_PUBLIC_KEY": public_key,
        "LANGFUSE_SECRET_KEY": secret_key,
    }


def test_command_prints_json_and_writes_the_page(local_langfuse, tmp_path):
    """`ragtrace report` prints a table, with --json the whole report, with --html and --csv it writes files."""
    seed(local_langfuse, many(2))
    environ = _environ(_settings(local_langfuse))
    page = tmp_path / "out.html"
    as_table = CliRunner().invoke(app, ["report", "--since", "2026-03-01"], env=environ)
    as_json = CliRunner().invoke(
        app, ["report", "--since", "2026-03-01", "--until", "2026-03-01T12:00:01Z", "--json"], env=environ
    )
    table = tmp_path / "out.csv"
    tabled = CliRunner().invoke(
        app, ["report", "--since", "2026-03-01", "--by", "tag", "--no-compare", "--csv", str(table)], env=environ
    )
    written = CliRunner().invoke(app, ["report", "--since", "2026-03-01", "--html", str(page)], env=environ)

    assert "2 answers captured" in as_table.stdout
    assert json.loads(as_json.stdout)["calls"] == 1
    assert (written.exit_code, written.stdout, page.exists()) == (0, "", True)
    assert (tabled.exit_code, tabled.stdout) == (0, "")
    assert "tag,(not recorded),faithfulness,,,,0,0.0,none" in table.read_text()


def test_served_pages_are_those_of_the_report(local_langfuse, tmp_path):
    """A server that `ragtrace serve` makes has the pages; without calls they say so."""
    from ragtrace.cli.serving import _report_pages
    from ragtrace.local.app import make_app
    from ragtrace.local.serve import running

    keys = {"public_key": local_langfuse.public_key, "secret_key": local_langfuse.secret_key}
    pages = _report_pages(local_langfuse.base_url, **keys)
    with running(make_app(local_langfuse.store, **keys, pages=pages)) as base_url:
        reply = httpx.get(base_url)

    assert "Nothing was captured in this window." in reply.text
