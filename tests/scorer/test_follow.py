"""Scoring calls as they arrive."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from ragtrace.errors import BackendError, BackendRejected, BackendUnavailable
from ragtrace.langfuse import Connection, LangfuseApi, RetryPolicy
from ragtrace.local.in_thread import LocalLangfuse
from ragtrace.scorer import ScoringOptions, StateFile, Tally
from ragtrace.scorer.follow import Follower, Lookback, follow
from ragtrace.scorer.moments import utc_now
from tests.scorer.judges import ExactJudge, unavailable
from tests.seed import STARTED_AT, SeedCall, many, seed, stored_scores, trace_id

QUICK = RetryPolicy(timeout_seconds=10, attempts=2, first_pause_seconds=0.001)


@dataclass(slots=True)
class Clock:
    """A clock that a test moves."""

    now: datetime = STARTED_AT + timedelta(minutes=10)

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **delta: float) -> None:
        self.now += timedelta(**delta)


@dataclass(kw_only=True)
class Setting:
    """A scorer that follows a server; each look may be by a new process."""

    server: LocalLangfuse
    state_path: Path
    judge: ExactJudge = field(default_factory=ExactJudge)
    clock: Clock = field(default_factory=Clock)
    lookback: Lookback = field(default_factory=Lookback)
    requests: int = 0

    async def look(self, **options: object) -> Tally:
        tally = Tally()
        await self.use(lambda follower: follower.look(tally), **options)
        return tally

    async def use(self, work: Callable[[Follower], object], **options: object) -> None:
        connection = Connection(
            self.server.base_url, public_key=self.server.public_key, secret_key=self.server.secret_key, policy=QUICK
        )
        with StateFile(self.state_path, project="p") as state:
            async with LangfuseApi(connection) as api:
                follower = Follower(
                    api,
                    self.judge,
                    state,
                    options=ScoringOptions(concurrency=4, **options),
                    lookback=self.lookback,
                    first_since=STARTED_AT,
                    now=self.clock,
                )
                await work(follower)
        self.requests = connection.requests

    def scored(self) -> set[str]:
        return {str(s["subject"]["traceId"]) for s in stored_scores(self.server, name="rag_outcome")}


@pytest.fixture
def setting(local_langfuse, tmp_path):
    return Setting(server=local_langfuse, state_path=tmp_path / "state.sqlite")


def call(number: int, clock: Clock, *, minutes_ago: float = 0, seconds: float = 1.0) -> SeedCall:
    """A call that ended so long ago by its own clock."""
    ended = clock.now - timedelta(minutes=minutes_ago)
    return SeedCall(number=number, started_at=ended - timedelta(seconds=seconds), seconds=seconds)


async def test_each_look_scores_what_is_new(setting):
    """New calls are scored once, whichever process looks; a look at nothing new judges nothing."""
    seed(setting.server, many(3))
    first = await setting.look()
    setting.clock.forward(minutes=1)
    second = await setting.look()
    seed(setting.server, [call(10, setting.clock)])
    setting.clock.forward(minutes=1)
    third = await setting.look()

    assert (first.scored, second.scored, third.scored) == (3, 0, 1)
    assert len(setting.judge.judged) == 4
    assert setting.scored() == {trace_id(n) for n in (0, 1, 2, 10)}


async def test_late_calls_are_found(setting):
    """A call that shows up minutes late is found by the next look, one that shows up an hour late by the deep look."""
    await setting.look()
    setting.clock.forward(minutes=5)
    await setting.look()
    seed(
        setting.server,
        [
            call(1, setting.clock, minutes_ago=4),
            call(2, setting.clock, minutes_ago=60),
            call(3, setting.clock, minutes_ago=-3),
            call(4, setting.clock, minutes_ago=1, seconds=500),
        ],
    )

    setting.clock.forward(minutes=1)
    await setting.look()
    soon = setting.scored()
    setting.clock.forward(minutes=11)
    await setting.look()

    assert soon == {trace_id(n) for n in (1, 3, 4)}
    assert setting.scored() == {trace_id(n) for n in (1, 2, 3, 4)}


async def test_old_windows_are_not_read_again(setting):
    """A look lists what ended lately, not the whole day."""
    seed(setting.server, many(5))
    await setting.look()
    setting.clock.forward(hours=1)
    await setting.look()
    setting.clock.forward(minutes=6)

    tally = await setting.look()

    assert tally.listed == 0


async def test_an_incomplete_look_is_taken_again(setting):
    """While Langfuse or the judge is away the watermark stays, so that nothing is left out, and nothing is twice."""
    seed(setting.server, many(30))
    setting.judge.before = unavailable
    away = await setting.look()
    setting.clock.forward(hours=1)
    still_away = await setting.look()
    seed(setting.server, [call(99, setting.clock)])
    setting.judge.before = lambda call: None
    setting.clock.forward(hours=1)
    setting.server.faults.apply({"path": "/api/public/v2/observations", "status": 503})
    with pytest.raises(BackendUnavailable):
        await setting.look()
    setting.server.faults.clear()

    setting.judge.judged.clear()
    back = await setting.look()
    rest = await setting.look()

    assert (away.scored, still_away.scored) == (0, 0)
    assert away.pending == Counter({"judge_unavailable": 30})
    assert setting.scored() == {trace_id(n) for n in (*range(30), 99)}
    assert back.scored + rest.scored == 31
    assert Counter(setting.judge.judged).most_common(1)[0][1] == 1


async def test_a_call_that_failed_alone_is_tried_again(setting):
    """One call that the judge would not take is put off for growing pauses, and nobody waits for it."""
    setting.clock.now = STARTED_AT
    seed(setting.server, many(3))

    def refuse_one(rag_call):
        if rag_call.trace_id == trace_id(1):
            unavailable(rag_call)

    setting.judge.before = refuse_one
    first = await setting.look()
    soon = await setting.look()
    setting.clock.forward(minutes=1)
    second = await setting.look()
    setting.clock.forward(minutes=1)
    too_soon = await setting.look()
    setting.judge.before = lambda rag_call: None
    setting.clock.forward(minutes=1)
    third = await setting.look()

    assert (first.scored, first.pending) == (2, Counter({"judge_unavailable": 1}))
    assert (soon.put_off, too_soon.put_off) == (1, 1)
    assert second.pending == Counter({"judge_unavailable": 1})
    assert third.scored == 1
    assert setting.scored() == {trace_id(n) for n in range(3)}
    assert Counter(setting.judge.judged)[f"{2:016x}"] == 3


async def test_a_call_that_nobody_takes_is_given_up(setting, caplog):
    """After a week a call that no judge takes is given up, and that is said."""
    seed(setting.server, many(1))
    setting.judge.before = unavailable
    await setting.look()
    setting.clock.forward(days=8)

    tally = await setting.look()

    assert tally == Tally(listed=1, sampled=1, put_off=1)
    assert "gave up 1 calls" in caplog.text


async def test_lag_is_the_age_of_the_last_complete_look(setting):
    """Before the first look it counts from where reading starts."""
    lags: list[timedelta] = []

    async def measure(follower: Follower) -> None:
        lags.append(follower.lag())
        await follower.look(Tally())
        setting.clock.forward(minutes=2)
        lags.append(follower.lag())

    await setting.use(measure)

    assert lags == [timedelta(minutes=10), timedelta(minutes=2)]


async def test_a_stop_finishes_what_is_with_the_judge(setting):
    """Told to stop in the middle, no further call is begun, those begun are stored, the rest is for the next time."""
    seed(setting.server, many(50))
    stopping = asyncio.Event()
    setting.judge.before = lambda rag_call: stopping.set()

    stopped = await setting.look(stopping=stopping)
    begun = len(setting.judge.judged)
    stored = setting.scored()
    setting.judge.before = lambda rag_call: None
    rest = await setting.look()

    assert 1 <= begun <= 4
    assert stopped.pending == Counter({"interrupted": 50 - begun})
    assert len(stored) == begun
    assert (rest.scored, rest.already_scored) == (50 - begun, begun)


async def test_following_goes_on_through_failures(setting):
    """Looks are taken until told to stop; failures are handed on and do not end it."""
    stopping = asyncio.Event()
    seen: list[tuple[int, str | None]] = []
    setting.server.faults.apply({"path": "/api/public/v2/observations", "status": 503, "times": 2})
    seed(setting.server, many(2))

    def note(tally: Tally, error: BackendError | None) -> None:
        seen.append((tally.scored, type(error).__name__ if error else None))
        if len(seen) == 3:
            stopping.set()

    await setting.use(lambda follower: follow(follower, stopping=stopping, poll_seconds=0.001, on_look=note))

    assert seen == [(0, "BackendUnavailable"), (2, None), (0, None)]


async def test_following_ends_where_langfuse_refuses(setting):
    """Wrong keys end it: waiting would not mend them."""
    setting.server = replace(setting.server, secret_key="sk-wrong")

    with pytest.raises(BackendRejected, match="keys refused"):
        await setting.use(
            lambda follower: follow(
                follower, stopping=asyncio.Event(), poll_seconds=0.001, on_look=lambda tally, error: None
            )
        )


def test_the_clock_is_utc():
    """Times are aware and now."""
    assert abs(utc_now().timestamp() - time.time()) < 60


async def test_scores_that_langfuse_lost_are_noticed(setting, caplog):
    """A minute after they were accepted, one of twenty scores is looked for; one line says how many are not there."""
    seed(setting.server, many(30))
    found: list[Tally] = []

    async def looks(follower: Follower) -> None:
        found.append(Tally())
        await follower.look(found[-1])
        for score in stored_scores(setting.server, name="faithfulness"):
            setting.server.store.scores.delete(str(score["id"]))
        for _ in range(2):
            setting.clock.forward(minutes=1)
            found.append(Tally())
            await follower.look(found[-1])

    await setting.use(looks)

    assert [(tally.read_back > 0, tally.lost > 0) for tally in found] == [(False, False), (True, True), (False, False)]
    assert found[1].lost < found[1].read_back < 30
    assert caplog.text.count("scores and does not have them") == 1
