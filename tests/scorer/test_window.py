"""Scoring a window of calls against a real server on loopback."""

import asyncio
import json
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from opentelemetry import context as otel_context
from opentelemetry.context import _SUPPRESS_INSTRUMENTATION_KEY

from ragtrace.errors import BackendRejected, BackendUnavailable, JudgeOverBudget, JudgeRefused
from ragtrace.langfuse import CallQuery, Connection, LangfuseApi, RetryPolicy
from ragtrace.local.in_thread import LocalLangfuse
from ragtrace.local.in_thread import local_langfuse as serve_locally
from ragtrace.model import RagCall
from ragtrace.scorer import Sampling, ScoringOptions, StateFile, Tally, score_calls
from ragtrace.scorer.judging import MetricChoice
from ragtrace.semconv import JUDGE_MARK, SCORER_ENVIRONMENT
from tests.scorer.judges import ExactJudge, unavailable
from tests.seed import RIVER, STARTED_AT, TOWER, SeedCall, many, seed, stored_scores, trace_id

QUICK = RetryPolicy(timeout_seconds=10, attempts=2, first_pause_seconds=0.001)


async def run(
    server: LocalLangfuse,
    state_path: Path,
    *,
    judge: ExactJudge | None = None,
    query: CallQuery | None = None,
    **options: object,
) -> Tally:
    """One run of the scorer in a process of its own, as far as it can tell."""
    tally = Tally()
    connection = Connection(server.base_url, public_key=server.public_key, secret_key=server.secret_key, policy=QUICK)
    with StateFile(state_path, project="p") as state:
        async with LangfuseApi(connection) as api:
            await score_calls(
                api,
                judge or ExactJudge(),
                state,
                query=query or CallQuery(),
                options=ScoringOptions(concurrency=4, **options),
                tally=tally,
            )
    return tally


def adds_up(tally: Tally) -> bool:
    is_listing_whole = tally.listed == tally.own_traffic + tally.not_sampled + tally.sampled
    return is_listing_whole and tally.sampled == tally.finished


def values(server: LocalLangfuse, number: int = 0) -> dict[str, object]:
    return {str(s["name"]): s["value"] for s in stored_scores(server, traceId=trace_id(number))}


@pytest.fixture
def state_path(tmp_path: Path) -> Path:
    return tmp_path / "state.sqlite"


@pytest.mark.parametrize("emulate", ["4.59", "4.16"])
async def test_a_call_is_scored(tmp_path, state_path, emulate):
    """What was received is judged once, and the numbers are on the rag-call observation in Langfuse."""
    with serve_locally(tmp_path / "l.sqlite", emulate=emulate) as server:
        seed(
            server,
            [
                SeedCall(number=0, reference=RIVER),
                SeedCall(number=1, answer="It is 99 metres high.", environment="prod"),
            ],
        )

        judge = ExactJudge()
        tally = await run(server, state_path, judge=judge)
        first, second = values(server, 0), values(server, 1)
        targets = {(s["subject"]["kind"], s["subject"]["traceId"]) for s in stored_scores(server)}

    assert first == {
        "faithfulness": 1,
        "hallucination_rate": 0,
        "contradiction_rate": 0,
        "context_recall": 1,
        "retrieval_recall": 1,
        "context_precision": 0.5,
        "context_delivery": 1,
        "rag_outcome": "scored",
    }
    assert (second["faithfulness"], second["hallucination_rate"], second["rag_outcome"]) == (0, 1, "scored")
    assert targets == {("observation", trace_id(0)), ("observation", trace_id(1))}
    assert (tally.listed, tally.scored, tally.judge_calls, tally.prompt_tokens) == (2, 2, 2, 200)
    assert adds_up(tally)
    assert len(judge.judged) == 2


async def test_scoring_twice_changes_nothing(local_langfuse, state_path):
    """A second run, with the state file or without it, judges nothing and leaves every score as it was."""
    seed(local_langfuse, many(5))
    await run(local_langfuse, state_path)
    before = stored_scores(local_langfuse)

    judge = ExactJudge()
    again = await run(local_langfuse, state_path, judge=judge)
    state_path.unlink()
    without_state = await run(local_langfuse, state_path, judge=judge)

    assert judge.judged == []
    assert (again.already_scored, without_state.already_scored) == (5, 5)
    assert stored_scores(local_langfuse) == before
    assert adds_up(again)


async def test_rescoring_replaces(local_langfuse, state_path):
    """Judging again on purpose leaves one score a metric, the newer, with its judge."""
    seed(local_langfuse, many(3))
    await run(local_langfuse, state_path)
    before = stored_scores(local_langfuse)

    tally = await run(local_langfuse, state_path, judge=ExactJudge(fingerprint="exact-2"), is_rescore=True)
    after = stored_scores(local_langfuse)

    assert tally.scored == 3
    assert [(s["id"], s["timestamp"]) for s in after] == [(s["id"], s["timestamp"]) for s in before]
    assert {s["metadata"]["judge"]["fingerprint"] for s in after} == {"exact-2"}


async def test_a_crash_after_midnight_makes_no_second_row(local_langfuse, state_path):
    """Scores sent again on another day, because the first run never heard that they arrived, replace the first."""
    seed(local_langfuse, [SeedCall(started_at=STARTED_AT.replace(hour=23, minute=59, second=50))])
    local_langfuse.faults.apply(
        {"path": "/api/public/scores", "method": "POST", "status": 503, "after_work": True, "times": 2}
    )

    with pytest.raises(BackendUnavailable):
        await run(local_langfuse, state_path)
    local_langfuse.faults.clear()
    state_path.unlink()
    await run(local_langfuse, state_path)
    scores = stored_scores(local_langfuse)

    assert len(scores) == len({s["name"] for s in scores}) == 6
    assert {s["timestamp"] for s in scores} == {"2026-03-01T23:59:50.000Z"}


async def test_sampling_is_the_same_in_every_run(local_langfuse, state_path):
    """The hash of the trace id decides: the same calls each time, and those of a smaller rate among those of a larger."""
    seed(local_langfuse, many(200))

    small = await run(local_langfuse, state_path, sampling=Sampling(rate=0.1))
    few = {s["subject"]["traceId"] for s in stored_scores(local_langfuse, name="rag_outcome")}
    again = await run(local_langfuse, state_path, sampling=Sampling(rate=0.1))
    larger = await run(local_langfuse, state_path, sampling=Sampling(rate=0.25))
    more = {s["subject"]["traceId"] for s in stored_scores(local_langfuse, name="rag_outcome")}

    assert 8 <= small.sampled <= 35
    assert small.not_sampled == 200 - small.sampled
    assert (again.sampled, again.already_scored) == (small.sampled, small.sampled)
    assert few < more
    assert len(more) == larger.sampled
    assert adds_up(larger)


async def test_the_probability_of_being_scored_is_stored(local_langfuse, state_path):
    """It is that of being captured times that of being sampled; a call that is in the sample has it on each score."""
    metadata = {"ragtrace_capture_probability": 0.5}
    seed(local_langfuse, [SeedCall(number=n, metadata=metadata) for n in range(40)])

    tally = await run(local_langfuse, state_path, sampling=Sampling(rate=0.5))

    assert 1 <= tally.sampled <= 20
    assert {s["metadata"]["inclusion_probability"] for s in stored_scores(local_langfuse)} == {0.25}


async def test_unscored_calls_say_why(local_langfuse, state_path):
    """A call without what a number stands on is marked with the reason, and is not judged."""
    reasons = {
        "contexts_unknown": SeedCall(number=0, passages=None),
        "no_contexts": SeedCall(number=1, passages=()),
        "no_answer": SeedCall(number=2, answer=None),
        "masked": SeedCall(number=3, metadata={"ragtrace_marks": "masked"}),
        "scored": SeedCall(number=4),
    }
    seed(local_langfuse, list(reasons.values()))

    judge = ExactJudge()
    tally = await run(local_langfuse, state_path, judge=judge)

    found = {reason: values(local_langfuse, call.number)["rag_outcome"] for reason, call in reasons.items()}
    assert found == {reason: reason for reason in reasons}
    assert tally.unscored == Counter(dict.fromkeys(set(reasons) - {"scored"}, 1))
    assert len(judge.judged) == 1
    assert adds_up(tally)


async def test_a_broken_record_does_not_stop_the_others(local_langfuse, state_path):
    """A record that cannot be read is marked, and the next call is scored."""
    seed(local_langfuse, [SeedCall(number=0, raw_input='{"question": "cut'), SeedCall(number=1)])

    tally = await run(local_langfuse, state_path)

    assert (tally.scored, tally.unscored.total()) == (1, 1)
    assert values(local_langfuse, 0)["rag_outcome"] in ("incomplete_capture", "contexts_unknown")


async def test_only_the_metrics_that_were_asked_for(local_langfuse, state_path):
    """A metric that needs no judge is computed without one."""
    seed(local_langfuse, [SeedCall()])

    judge = ExactJudge()
    await run(local_langfuse, state_path, judge=judge, metrics=MetricChoice(names=("context_delivery",)))

    assert values(local_langfuse) == {"context_delivery": 1, "rag_outcome": "scored"}
    assert judge.judged == []


async def test_windows_and_traces(local_langfuse, state_path):
    """Only the calls that the query finds are scored; an empty window is no error."""
    seed(local_langfuse, many(4))

    window = await run(local_langfuse, state_path, query=CallQuery(since=STARTED_AT + timedelta(seconds=3)))
    trace = await run(local_langfuse, state_path, query=CallQuery(trace_id=trace_id(1)))
    empty = await run(local_langfuse, state_path, query=CallQuery(since=STARTED_AT + timedelta(days=9)))

    assert (window.scored, trace.scored, empty) == (1, 1, Tally())


async def test_calls_that_are_listed_twice_are_judged_once(local_langfuse, state_path):
    """Duplicate and reordered rows cost nothing and count once."""
    seed(local_langfuse, many(30))
    local_langfuse.faults.apply({"duplicates": True, "reordered": True})

    judge = ExactJudge()
    tally = await run(local_langfuse, state_path, judge=judge)

    assert (tally.listed, tally.scored, len(judge.judged)) == (30, 30, 30)
    assert judge.most_in_flight <= 4


@pytest.mark.parametrize(
    ("problem", "reason"), [(unavailable, "judge_unavailable"), (JudgeOverBudget("spent"), "over_budget")]
)
async def test_a_judge_that_is_away_costs_nothing(local_langfuse, state_path, problem, reason):
    """Nothing is written for calls that no judge took; they are pending, and scored by the next run."""
    seed(local_langfuse, many(40))

    def refuse(call: RagCall) -> None:
        if isinstance(problem, Exception):
            raise problem
        problem(call)

    judge = ExactJudge(before=refuse)
    away = await run(local_langfuse, state_path, judge=judge)
    nothing = stored_scores(local_langfuse)
    back = await run(local_langfuse, state_path)

    assert nothing == []
    assert away.pending == Counter({reason: 40})
    assert away.problem
    assert len(judge.judged) < 20
    assert adds_up(away)
    assert back.scored == 40


async def test_two_runs_at_once_on_one_state_file(local_langfuse, state_path):
    """What the other run sent for us is done: nothing is pending, nothing is twice, and both runs end well."""
    seed(local_langfuse, many(60))

    first, second = await asyncio.gather(run(local_langfuse, state_path), run(local_langfuse, state_path))

    assert first.pending == second.pending == Counter()
    assert first.sampled == second.sampled == 60
    assert adds_up(first)
    assert adds_up(second)
    assert len(stored_scores(local_langfuse, name="rag_outcome")) == 60


async def test_one_call_that_the_judge_declines(local_langfuse, state_path):
    """A refusal of the judge is a reason on that call, and the others are scored."""
    seed(local_langfuse, many(6))

    def refuse(call: RagCall) -> None:
        if call.trace_id == trace_id(2):
            raise JudgeRefused("content filter")

    tally = await run(local_langfuse, state_path, judge=ExactJudge(before=refuse))

    assert (tally.scored, tally.unscored) == (5, Counter({"judge_refused": 1}))
    assert values(local_langfuse, 2) == {"context_delivery": 1, "rag_outcome": "judge_refused"}


async def test_an_error_of_the_judge_itself_marks_nothing(local_langfuse, state_path):
    """A judge that breaks, rather than fails, leaves calls without a mark, so that the mended one judges them."""
    seed(local_langfuse, many(3))

    def break_(call: RagCall) -> None:
        raise TypeError("a bug")

    broken = await run(local_langfuse, state_path, judge=ExactJudge(before=break_))
    mended = await run(local_langfuse, state_path)

    assert (broken.failed, broken.scored, adds_up(broken)) == (3, 0, True)
    assert mended.scored == 3


async def test_an_error_of_a_metric_is_that_calls_alone(local_langfuse, state_path, caplog):
    """A metric that breaks on a call leaves it without a mark, in the log and in the counts."""

    class Broken(MetricChoice):
        def compute(self, call, verdicts):
            if call.trace_id == trace_id(1):
                raise ZeroDivisionError
            return super().compute(call, verdicts)

    seed(local_langfuse, many(3))

    tally = await run(local_langfuse, state_path, metrics=Broken())

    assert (tally.scored, tally.failed) == (2, 1)
    assert adds_up(tally)
    assert values(local_langfuse, 1) == {}
    assert f"trace {trace_id(1)} could not be scored" in caplog.text


async def test_scores_wait_on_disk_while_langfuse_is_down(local_langfuse, state_path):
    """Scores that could not be sent go out with the next run, once, and nothing is judged again."""
    seed(local_langfuse, many(5))
    local_langfuse.faults.apply({"path": "/api/public/scores", "method": "POST", "status": 503})
    judge = ExactJudge()
    down = Tally()

    with pytest.raises(BackendUnavailable, match="could not write scores"):
        down = await run(local_langfuse, state_path, judge=judge)
    nothing = stored_scores(local_langfuse)
    local_langfuse.faults.clear()
    up = await run(local_langfuse, state_path, judge=judge)

    assert nothing == []
    assert down == Tally()
    assert (up.sent_later, up.already_scored, up.judge_calls) == (5, 5, 0)
    assert len(judge.judged) == 5
    assert len(stored_scores(local_langfuse)) == 5 * 6


async def test_a_run_that_cannot_read_to_the_end_keeps_what_it_judged(local_langfuse, state_path):
    """Calls that were fetched before Langfuse went away are scored; the others are pending."""
    seed(local_langfuse, many(130))
    tally = Tally()

    def go_away(call: RagCall) -> None:
        local_langfuse.faults.apply({"path": "/api/public/v2/observations", "status": 503})

    connection = Connection(
        local_langfuse.base_url,
        public_key=local_langfuse.public_key,
        secret_key=local_langfuse.secret_key,
        policy=QUICK,
    )
    with StateFile(state_path, project="p") as state:
        async with LangfuseApi(connection) as api:
            with pytest.raises(BackendUnavailable, match="could not read calls"):
                await score_calls(
                    api,
                    ExactJudge(before=go_away),
                    state,
                    query=CallQuery(),
                    options=ScoringOptions(concurrency=4),
                    tally=tally,
                )

    assert tally.pending["langfuse_unavailable"] >= 10
    assert tally.scored == len(stored_scores(local_langfuse, name="rag_outcome"))
    assert adds_up(tally)


async def test_a_refused_score_leaves_the_call_unmarked(local_langfuse, state_path):
    """A call of which Langfuse refuses a score is counted, not marked, and not tried for ever."""
    seed(local_langfuse, many(2))

    class Odd(MetricChoice):
        def compute(self, call, verdicts):
            first, *rest = super().compute(call, verdicts)
            return (replace(first, name="" if call.trace_id == trace_id(0) else "own"), *rest)

    tally = await run(local_langfuse, state_path, metrics=Odd())
    again = await run(local_langfuse, state_path)

    assert (tally.scored, tally.refused) == (1, 1)
    assert adds_up(tally)
    assert again.already_scored == 2
    assert "rag_outcome" not in values(local_langfuse, 0)


class Odd(httpx.AsyncBaseTransport):
    """Hides the content of one call and finds that of another too large, as Langfuse Cloud does."""

    def __init__(self) -> None:
        self._inner = httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        reply = await self._inner.handle_async_request(request)
        content = json.loads(await reply.aread())
        await reply.aclose()
        if "io" in request.url.params.get("fields", ""):
            content["data"] = [row for row in content["data"] if row["traceId"] != trace_id(1)]
            if any(row["traceId"] == trace_id(0) for row in content["data"]):
                return httpx.Response(413, text="Response too large", request=request)
        return httpx.Response(reply.status_code, json=content, request=request)

    async def aclose(self) -> None:
        await self._inner.aclose()


async def test_calls_that_cannot_be_read_hold_up_nobody(local_langfuse, state_path):
    """One that is too large even alone is marked so, one that is not there yet is pending, the others are scored."""
    seed(local_langfuse, many(4))
    tally = Tally()
    connection = Connection(
        local_langfuse.base_url,
        public_key=local_langfuse.public_key,
        secret_key=local_langfuse.secret_key,
        policy=QUICK,
        transport=Odd(),
    )

    with StateFile(state_path, project="p") as state:
        async with LangfuseApi(connection) as api:
            await score_calls(
                api, ExactJudge(), state, query=CallQuery(), options=ScoringOptions(concurrency=2), tally=tally
            )

    assert (tally.scored, tally.unscored, tally.pending) == (
        2,
        Counter({"too_long": 1}),
        Counter({"incomplete_capture": 1}),
    )
    assert adds_up(tally)
    assert values(local_langfuse, 0) == {"rag_outcome": "too_long"}


async def test_wrong_keys_start_nothing(local_langfuse, state_path):
    """Refused keys end the run before anything is judged."""
    seed(local_langfuse, many(1))
    judge = ExactJudge()

    with pytest.raises(BackendRejected, match="keys refused"):
        await run(replace(local_langfuse, secret_key="sk-wrong"), state_path, judge=judge)

    assert judge.judged == []


async def test_a_judges_own_traffic_is_never_scored(local_langfuse, state_path):
    """Calls that carry the label of a judge are left out, and without the label their text gives them away."""
    request = "bomi 1 Passage.\nbomi Q Why?\nbomi A1 Because.\nbomi END A1"
    seed(
        local_langfuse,
        [
            SeedCall(number=0),
            SeedCall(number=1, environment=SCORER_ENVIRONMENT),
            SeedCall(number=2, tags=(JUDGE_MARK,)),
            SeedCall(number=3, metadata={JUDGE_MARK: "1"}),
            SeedCall(number=4, question=f"{JUDGE_MARK}\n{request}", passages=(request,)),
        ],
    )
    judge = ExactJudge()

    tallies = [await run(local_langfuse, state_path, judge=judge) for _ in range(5)]

    assert [tally.own_traffic for tally in tallies] == [4] * 5
    assert [tally.sampled for tally in tallies] == [1] * 5
    assert len(judge.judged) == 1
    assert {s["subject"]["traceId"] for s in stored_scores(local_langfuse)} == {trace_id(0)}


async def test_the_judge_is_not_traced(local_langfuse, state_path):
    """While a judge works, instrumentation in this process is told to keep quiet, and afterwards no more."""
    seed(local_langfuse, many(1))
    seen: list[tuple[object, object]] = []

    def look(call: RagCall) -> None:
        seen.append(
            (otel_context.get_value(_SUPPRESS_INSTRUMENTATION_KEY), otel_context.get_value("suppress_instrumentation"))
        )

    await run(local_langfuse, state_path, judge=ExactJudge(before=look))

    assert seen == [(True, True)]
    assert otel_context.get_value(_SUPPRESS_INSTRUMENTATION_KEY) is None


async def test_the_mark_carries_the_sentences(local_langfuse, state_path):
    """What the report shows is on the mark: sentences, verdicts, claims and the judge."""
    seed(local_langfuse, [SeedCall()])

    await run(local_langfuse, state_path)
    metadata = next(s for s in stored_scores(local_langfuse) if s["name"] == "rag_outcome")["metadata"]

    assert metadata["sentences"][0]["text"] == TOWER
    assert metadata["sentences"][0]["verdict"] == "supported"
    assert metadata["judge"]["fingerprint"] == "exact-1"
