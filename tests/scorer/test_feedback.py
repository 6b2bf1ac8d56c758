"""A second pass over calls that users gave feedback on."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import httpx
import pytest

from ragtrace.errors import ConfigError
from ragtrace.langfuse import CallQuery, Connection, LangfuseApi, RetryPolicy, StoredScore
from ragtrace.local.in_thread import LocalLangfuse
from ragtrace.model import RagCall
from ragtrace.sampling import position
from ragtrace.scorer import Sampling, ScoringOptions, StateFile, Tally
from ragtrace.scorer.feedback import FeedbackKind, FeedbackPass, make_feedback_pass
from ragtrace.scorer.follow import Follower, Lookback
from ragtrace.settings import load_settings
from tests.scorer.judges import ExactJudge, unavailable
from tests.scorer.test_follow import Clock
from tests.seed import STARTED_AT, TOWER, SeedCall, seed, stored_scores, trace_id

QUICK = RetryPolicy(timeout_seconds=10, attempts=2, first_pause_seconds=0.001)
NOW = STARTED_AT + timedelta(minutes=10)
DISLIKED = FeedbackKind(name="disliked", rate=1.0, score="thumbs", below=0.5)


def give(server: LocalLangfuse, numbers: Sequence[int], value: float | str, *, name: str = "thumbs") -> None:
    """Let users say what they think, some of them on the observation."""
    for number in numbers:
        subject = {"traceId": trace_id(number)} | ({"observationId": f"{number + 1:016x}"} if number % 2 else {})
        body = {"id": f"user-{name}-{number}", **subject, "name": name, "value": value, "timestamp": NOW.isoformat()}
        auth = (server.public_key, server.secret_key)
        httpx.post(f"{server.base_url}/api/public/scores", json=body, auth=auth).raise_for_status()


async def look(
    server: LocalLangfuse,
    path: Path,
    *,
    now: datetime,
    rate: float,
    kinds: Sequence[FeedbackKind] = (DISLIKED,),
    judge: ExactJudge | None = None,
) -> Tally:
    tally, judge = Tally(), judge or ExactJudge()
    connection = Connection(server.base_url, public_key=server.public_key, secret_key=server.secret_key, policy=QUICK)
    with StateFile(path, project="p") as state:
        async with LangfuseApi(connection) as api:
            options = ScoringOptions(sampling=Sampling(rate=rate))
            feedback = FeedbackPass(
                api,
                judge,
                state,
                options=options,
                kinds=kinds,
                delay=timedelta(minutes=15),
                first_since=STARTED_AT,
                now=lambda: now,
            )
            follower = Follower(
                api,
                judge,
                state,
                options=options,
                lookback=Lookback(),
                first_since=STARTED_AT,
                passes=[feedback],
                now=lambda: now,
            )
            await follower.look(tally)
    return tally


def probabilities(server: LocalLangfuse, name: str = "rag_outcome") -> dict[str, float]:
    scores = stored_scores(server, name=name)
    return {str(s["subject"]["traceId"]): s["metadata"]["inclusion_probability"] for s in scores}


async def test_a_call_chosen_in_either_pass_has_the_higher_probability(local_langfuse, tmp_path):
    """All disliked calls are scored in the end, those that the first pass took have their probability corrected."""
    seed(local_langfuse, [SeedCall(number=n) for n in range(30)])
    disliked = range(10)
    first = await look(local_langfuse, tmp_path / "s", now=NOW, rate=0.25)
    give(local_langfuse, disliked, 0)
    give(local_langfuse, range(10, 15), 1)
    young = await look(local_langfuse, tmp_path / "s", now=NOW + timedelta(minutes=14), rate=0.25)
    second = await look(local_langfuse, tmp_path / "s", now=NOW + timedelta(minutes=16), rate=0.25)
    third = await look(local_langfuse, tmp_path / "s", now=NOW + timedelta(minutes=40), rate=0.25)

    in_first = {trace_id(n) for n in range(30) if position(trace_id(n)) < 0.25}
    expected = dict.fromkeys(in_first, 0.25) | {trace_id(n): 1.0 for n in disliked}
    assert (first.scored, young.scored, third.scored) == (len(in_first), 0, 0)
    assert second.scored == len(expected) - len(in_first) > 0
    assert probabilities(local_langfuse) == probabilities(local_langfuse, "faithfulness") == expected
    ours = [s for s in stored_scores(local_langfuse) if str(s["id"]).startswith("rt-")]
    assert len(ours) == len({s["id"] for s in ours}) == 6 * len(expected)
    assert {s["metadata"].get("stratum") for s in ours if s["metadata"]["inclusion_probability"] == 1.0} == {"disliked"}


async def test_two_passes_estimate_without_bias(local_langfuse, tmp_path):
    """Weighted by the stored probabilities the share of bad answers comes out as it is, whichever pass took them."""
    bad = [SeedCall(number=n, answer="It is 99 metres high.") for n in range(40)]
    good = [SeedCall(number=n, answer=TOWER) for n in range(40, 240)]
    seed(local_langfuse, [*bad, *good])
    await look(local_langfuse, tmp_path / "s", now=NOW, rate=0.5)
    give(local_langfuse, range(30), 0)
    kinds = [FeedbackKind(name="disliked", rate=0.9, score="thumbs", below=0.5)]
    later = NOW + timedelta(minutes=16)
    await look(local_langfuse, tmp_path / "s", now=later, rate=0.5, kinds=kinds)

    scores = stored_scores(local_langfuse, name="hallucination_rate")
    weights = [1 / s["metadata"]["inclusion_probability"] for s in scores]
    estimate = sum(w * s["value"] for w, s in zip(weights, scores, strict=True)) / sum(weights)
    naive = sum(s["value"] for s in scores) / len(scores)
    assert abs(estimate - 1 / 6) < 0.04
    assert naive > estimate + 0.02
    assert abs(sum(weights) - 240) < 40


async def test_a_rate_no_higher_than_the_first_changes_nothing(local_langfuse, tmp_path):
    """Feedback whose rate is not above the first pass's leaves sample and probabilities as they were."""
    seed(local_langfuse, [SeedCall(number=n) for n in range(8)])
    await look(local_langfuse, tmp_path / "s", now=NOW, rate=0.5)
    before = stored_scores(local_langfuse, name="rag_outcome")
    give(local_langfuse, range(8), 0)
    kinds = [FeedbackKind(name="all", rate=0.4, score="thumbs")]

    tally = await look(local_langfuse, tmp_path / "s", now=NOW + timedelta(minutes=16), rate=0.5, kinds=kinds)

    assert tally.scored == 0
    assert stored_scores(local_langfuse, name="rag_outcome") == before


async def test_feedback_is_looked_at_again_while_its_calls_are_pending(local_langfuse, tmp_path):
    """A judge that is away in the second pass loses no call: the feedback is read again, at the same probability."""
    seed(local_langfuse, [SeedCall(number=n) for n in range(3)])
    await look(local_langfuse, tmp_path / "s", now=NOW, rate=0.0)
    give(local_langfuse, range(3), 0)
    failing = ExactJudge(before=unavailable)
    missed = await look(local_langfuse, tmp_path / "s", now=NOW + timedelta(minutes=16), rate=0.0, judge=failing)
    again = await look(local_langfuse, tmp_path / "s", now=NOW + timedelta(minutes=17), rate=0.0)

    assert (missed.pending, missed.scored, again.scored) == (Counter({"judge_unavailable": 3}), 0, 3)
    assert set(probabilities(local_langfuse).values()) == {1.0}


async def test_feedback_on_pending_calls_waits_longer_each_time(local_langfuse, tmp_path):
    """A call that cannot be judged does not have all feedback read and judged again at every look."""
    seed(local_langfuse, [SeedCall(number=0)])
    give(local_langfuse, [0], 0)
    clock, asked = Clock(now=NOW), Counter[datetime]()

    def fail(call: RagCall) -> None:
        asked[clock.now] += 1
        unavailable(call)

    url, keys = local_langfuse.base_url, (local_langfuse.public_key, local_langfuse.secret_key)
    connection = Connection(url, public_key=keys[0], secret_key=keys[1], policy=QUICK)
    with StateFile(tmp_path / "s", project="p") as state:
        async with LangfuseApi(connection) as api:
            feedback = FeedbackPass(
                api,
                ExactJudge(before=fail),
                state,
                options=ScoringOptions(sampling=Sampling(rate=0.0)),
                kinds=[DISLIKED],
                delay=timedelta(0),
                first_since=STARTED_AT,
                now=clock,
            )
            for _ in range(10):
                clock.forward(minutes=0.5)
                await feedback.look(CallQuery(), Tally())

    assert sorted(asked) == [NOW + timedelta(minutes=minutes) for minutes in (0.5, 1.5, 3.5)]


@pytest.mark.parametrize(
    ("kind", "value", "holds"),
    [
        ({}, 0.3, True),
        ({"below": 0.5}, False, True),
        ({"below": 0.5}, 0.5, False),
        ({"above": 3}, 4.0, True),
        ({"above": 3}, 3.0, False),
        ({"above": 3}, "good", False),
        ({"values": ("bad", "awful")}, "bad", True),
        ({"values": ("bad", "awful")}, "good", False),
        ({"score": "other"}, 0.3, False),
    ],
)
def test_feedback_is_told_by_name_and_value(kind, value, holds):
    """Numbers, yes or no, and categories; a condition that is set must hold."""
    given = StoredScore(id="u", name="thumbs", value=value, data_type="NUMERIC", timestamp=NOW, source="API")

    assert FeedbackKind(**{"name": "k", "rate": 1.0, "score": "thumbs", **kind}).holds(given) is holds


async def test_feedback_is_set_up_in_the_settings(local_langfuse, tmp_path):
    """A table for each kind; without one there is no second pass; an unknown key is an error."""
    toml = tmp_path / "ragtrace.toml"
    toml.write_text('[feedback.disliked]\nrate = 1.0\nscore = "thumbs"\nbelow = 0.5\n', "utf-8")
    made = []
    connection = Connection(local_langfuse.base_url, public_key="p", secret_key="s")
    async with LangfuseApi(connection) as api:
        with StateFile(tmp_path / "s", project="p") as state:
            for settings in (load_settings({}), load_settings({}, toml=toml)):
                options = ScoringOptions()
                one = make_feedback_pass(settings, api, ExactJudge(), state, options=options, first_since=NOW)
                made.append(type(one))
    toml.write_text('[feedback.disliked]\nrate = 1.0\nscores = "thumbs"\n', "utf-8")

    assert made == [type(None), FeedbackPass]
    with pytest.raises(ConfigError, match="scores"):
        load_settings({}, toml=toml)
