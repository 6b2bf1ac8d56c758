"""Scoring with a coordinator, workers and a real Redis."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ragtrace.errors import BackendError, BackendUnavailable, ConfigError
from ragtrace.langfuse import Connection, LangfuseApi, RetryPolicy
from ragtrace.local.in_thread import LocalLangfuse
from ragtrace.scorer import ScoringOptions, StateFile, Tally
from ragtrace.scorer.command import ScoreRequest
from ragtrace.scorer.distributed import Coordinator, Workplace, employ, make_channel
from ragtrace.scorer.fleet import run_distributed
from ragtrace.scorer.follow import Lookback
from ragtrace.scorer.shared_state import SharedState, connect
from ragtrace.scorer.state import Slot
from ragtrace.settings import Settings, load_settings
from tests.scorer.judges import ExactJudge, unavailable
from tests.scorer.redis_server import RedisServer, running_redis
from tests.scorer.simulation import SCORES_A_CALL
from tests.seed import STARTED_AT, SeedCall, many, seed, stored_scores

QUICK = RetryPolicy(timeout_seconds=10, attempts=2, first_pause_seconds=0.001)


@pytest.fixture
def redis_server(tmp_path) -> Iterator[RedisServer]:
    with running_redis(tmp_path) as server:
        yield server


def variables(server: LocalLangfuse, folder: Path) -> dict[str, str]:
    return {
        "LANGFUSE_BASE_URL": server.base_url,
        "LANGFUSE_PUBLIC_KEY": server.public_key,
        "LANGFUSE_SECRET_KEY": server.secret_key,
        "RAGTRACE_STATE": str(folder / "state.sqlite"),
        "RAGTRACE_SCORER_POLL_SECONDS": "0.2",
        "RAGTRACE_CONCURRENCY": "2",
        "RAGTRACE_SCORER_CLAIM_SECONDS": "3",
    }


def settings_for(server: LocalLangfuse, folder: Path, **more: str) -> Settings:
    return load_settings({**variables(server, folder), **more})


@contextmanager
def processes(
    server: LocalLangfuse, folder: Path, *, url: str, roles: list[str]
) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes of the command line; those that still run are killed at the end."""
    environment = {"PATH": os.environ["PATH"], **variables(server, folder)}
    command = [str(Path(sys.executable).with_name("ragtrace")), "score", "--follow", "--distributed", url, "--role"]
    with (folder / "log").open("wb") as log:
        started = [subprocess.Popen([*command, role], env=environment, stdout=log, stderr=log) for role in roles]
        try:
            yield started
        finally:
            for process in started:
                process.kill()
                process.wait()


def seed_recent(server: LocalLangfuse, count: int) -> None:
    now = datetime.now(UTC)
    seed(server, [SeedCall(number=n, started_at=now - timedelta(seconds=n % 3000 + 1)) for n in range(count)])


def marks(server: LocalLangfuse) -> Counter[str]:
    return Counter(str(score["subject"]["traceId"]) for score in stored_scores(server, name="rag_outcome"))


def is_each_score_stored_once(server: LocalLangfuse, calls: int) -> bool:
    scores = stored_scores(server)
    return set(marks(server).values()) == {1} and len(scores) == len({s["id"] for s in scores}) == calls * SCORES_A_CALL


def wait_until(is_so: Callable[[], bool], *, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


async def test_one_machine_runs_the_same_code_without_redis(local_langfuse, tmp_path):
    """With the in-memory broker one process coordinates and works."""
    seed_recent(local_langfuse, 12)
    settings = settings_for(local_langfuse, tmp_path)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(run_distributed(settings, ScoreRequest(), url="memory://", role="both"))
        async with asyncio.timeout(30):
            while len(marks(local_langfuse)) < 12:
                await asyncio.sleep(0.05)
        os.kill(os.getpid(), signal.SIGTERM)

    assert set(marks(local_langfuse).values()) == {1}


async def test_one_process_can_be_coordinator_and_worker(local_langfuse, tmp_path, redis_server):
    """The default role needs one process and Redis; more workers may join it."""
    seed_recent(local_langfuse, 12)
    settings = settings_for(local_langfuse, tmp_path)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(run_distributed(settings, ScoreRequest(), url=redis_server.url, role="both"))
        async with asyncio.timeout(30):
            while len(marks(local_langfuse)) < 12:
                await asyncio.sleep(0.05)
        os.kill(os.getpid(), signal.SIGTERM)

    assert set(marks(local_langfuse).values()) == {1}


@pytest.mark.soak
def test_a_killed_worker_and_a_killed_redis_lose_nothing(local_langfuse, tmp_path, redis_server):
    """Of two workers one is killed in the middle, and Redis is killed and started again: one mark a call."""
    seed_recent(local_langfuse, 100)
    with processes(local_langfuse, tmp_path, url=redis_server.url, roles=["both", "worker"]) as (other, killed):
        wait_until(lambda: len(marks(local_langfuse)) > 0, seconds=30)
        killed.kill()
        redis_server.kill()
        redis_server.start()
        wait_until(lambda: len(marks(local_langfuse)) == 100, seconds=300)
        assert other.poll() is None

    assert is_each_score_stored_once(local_langfuse, 100)
    assert b"Traceback" not in (tmp_path / "log").read_bytes()


async def test_work_outlives_the_coordinator(local_langfuse, tmp_path, redis_server):
    """What a coordinator handed out before it ended is done by a worker that starts later."""
    seed_recent(local_langfuse, 12)
    settings = settings_for(local_langfuse, tmp_path)
    with connect(redis_server.url) as client:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(run_distributed(settings, ScoreRequest(), url=redis_server.url, role="coordinator"))
            async with asyncio.timeout(30):
                while not any(client.scan_iter("ragtrace:*:positions")):
                    await asyncio.sleep(0.02)
            os.kill(os.getpid(), signal.SIGTERM)
    before = marks(local_langfuse)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(run_distributed(settings, ScoreRequest(), url=redis_server.url, role="worker"))
        async with asyncio.timeout(30):
            while len(marks(local_langfuse)) < 12:
                await asyncio.sleep(0.05)
        os.kill(os.getpid(), signal.SIGTERM)

    assert before == {}
    assert is_each_score_stored_once(local_langfuse, 12)


@dataclass(kw_only=True)
class OneMachine:
    """Coordinator and worker in this process, with a clock and a judge that a test controls."""

    server: LocalLangfuse
    state: StateFile
    judge: ExactJudge = field(default_factory=ExactJudge)
    now: datetime = STARTED_AT + timedelta(minutes=10)
    tasks: list[tuple[Tally, BackendError | None]] = field(default_factory=list)

    async def look(self, *, looks: int = 1, stopping: bool = False) -> Tally:
        """Take looks, each a minute more than a task's claim after the last; return the last one's counts."""
        connection = Connection(
            self.server.base_url, public_key=self.server.public_key, secret_key=self.server.secret_key, policy=QUICK
        )
        channel = make_channel("memory://", queue="unused", claim_after=timedelta(minutes=10))
        async with LangfuseApi(connection) as api:
            options = ScoringOptions(concurrency=2, now=lambda: self.now)
            place = Workplace(
                api=api,
                judge=self.judge,
                open_state=lambda: nullcontext(self.state),
                options=options,
                on_task=lambda tally, error: self.tasks.append((tally, error)),
            )
            employ(channel, place)
            coordinator = Coordinator(
                api,
                self.judge,
                self.state,
                channel=channel,
                options=options,
                lookback=Lookback(),
                first_since=STARTED_AT,
            )
            if stopping:
                options.stopping.set()
            for _ in range(looks):
                tally = Tally()
                await coordinator.look(tally)
                self.now += timedelta(minutes=12)
        return tally


@pytest.fixture
def one_machine(local_langfuse, tmp_path) -> Iterator[OneMachine]:
    with StateFile(tmp_path / "state", project="p") as state:
        yield OneMachine(server=local_langfuse, state=state)


async def test_what_the_judge_did_not_take_is_handed_out_again(one_machine):
    """A call whose judge was away is noted by the worker and handed out again by the coordinator when it is due."""
    seed(one_machine.server, many(10))
    one_machine.judge.before = unavailable
    await one_machine.look()
    one_machine.judge.before = lambda call: None

    second = await one_machine.look()

    assert second.pending == {"handed_out": 10}
    assert is_each_score_stored_once(one_machine.server, 10)


async def test_what_could_not_be_written_is_handed_out_again(one_machine):
    """A task whose scores Langfuse did not take is not done; its calls come again."""
    seed(one_machine.server, many(3))
    one_machine.server.faults.apply({"path": "/api/public/scores", "method": "POST", "status": 503})
    await one_machine.look()
    one_machine.server.faults.clear()
    failed = one_machine.tasks[0][1]

    await one_machine.look(looks=2)

    assert isinstance(failed, BackendUnavailable)
    assert is_each_score_stored_once(one_machine.server, 3)


async def test_a_task_that_comes_twice_judges_once(one_machine):
    """A task that was taken over although it was done asks the judge for nothing."""
    seed(one_machine.server, many(3))
    await one_machine.look()
    judged = len(one_machine.judge.judged)
    channel = make_channel("memory://", queue="unused", claim_after=timedelta(minutes=10))
    connection = Connection(one_machine.server.base_url, public_key="p", secret_key="s", policy=QUICK)
    async with LangfuseApi(connection) as api:
        place = Workplace(
            api=api,
            judge=one_machine.judge,
            open_state=lambda: nullcontext(one_machine.state),
            options=ScoringOptions(),
            on_task=lambda tally, error: one_machine.tasks.append((tally, error)),
        )
        employ(channel, place)
        await channel.send([(*call.key, call.started_at.isoformat()) for call in many(3)])

    assert (judged, len(one_machine.judge.judged)) == (3, 3)


async def test_a_coordinator_that_is_told_to_stop_leaves_the_rest(one_machine):
    """The look counts as not complete, so that the next process reads the window again."""
    seed(one_machine.server, many(3))

    tally = await one_machine.look(stopping=True)

    assert tally.stopped_by == "interrupted"
    assert one_machine.state.position("read") is None


@pytest.mark.soak
async def test_a_redis_that_stays_away_ends_the_process(local_langfuse, tmp_path, redis_server):
    """Half a minute after Redis has gone the process ends with one line, for its supervisor to start it again."""
    settings = settings_for(local_langfuse, tmp_path)
    following = asyncio.create_task(run_distributed(settings, ScoreRequest(), url=redis_server.url, role="both"))
    with connect(redis_server.url) as client:
        while not any(client.scan_iter("ragtrace:*:positions")):
            await asyncio.sleep(0.02)
    redis_server.kill()

    with pytest.raises(BackendUnavailable, match="--distributed: Redis does not answer"):
        await following


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_killed_workers_and_a_killed_redis_lose_nothing(local_langfuse, tmp_path, redis_server):
    """Of four workers two are killed, and Redis is killed and started again: 5,000 calls, one mark each."""
    seed_recent(local_langfuse, 5000)
    roles = ["coordinator", *["worker"] * 4]
    with processes(local_langfuse, tmp_path, url=redis_server.url, roles=roles) as started:
        wait_until(lambda: len(marks(local_langfuse)) > 500, seconds=300)
        started[1].kill()
        started[2].kill()
        redis_server.kill()
        redis_server.start()
        wait_until(lambda: len(marks(local_langfuse)) == 5000, seconds=900)
        assert [process.poll() for process in started] == [None, -9, -9, None, None]

    assert is_each_score_stored_once(local_langfuse, 5000)


@pytest.mark.parametrize(
    ("url", "role", "more", "message"),
    [
        ("memory://", "worker", {}, "there is one process"),
        ("memory://", "both", {"RAGTRACE_SCORER_REBUILD": "true"}, "RAGTRACE_SCORER_REBUILD: not with --distributed"),
        ("redis://127.0.0.1:1/0", "both", {}, "--distributed: Redis cannot be used"),
        ("http://x", "both", {}, "--distributed: Redis cannot be used"),
    ],
)
async def test_what_cannot_be_shared_is_said(local_langfuse, tmp_path, url, role, more, message):
    """A wrong role, a setting that does not go with it, or no Redis: one line."""
    with pytest.raises(ConfigError, match=message):
        await run_distributed(settings_for(local_langfuse, tmp_path, **more), ScoreRequest(), url=url, role=role)


def test_redis_remembers_what_the_state_file_does(redis_server):
    """Finished calls, retries, slots and positions are shared by all who open the state of a project."""
    now = datetime(2026, 3, 1, 12, tzinfo=UTC)
    key, other = ("t1", "o1"), ("t2", "o2")
    slot = Slot(threshold=0.25, expected=1000.0)
    with connect(redis_server.url) as client:
        with SharedState(client, project="p") as state:
            state.remember_done([("t0", "o0")])
            state.postpone(key, started_at=now, reason="judge_unavailable", now=now)
            state.postpone(key, started_at=now, reason="judge_unavailable", now=now)
            state.postpone(other, started_at=now - timedelta(days=8), reason="judge_unavailable", now=now)
            state.fix_slots({now: slot})
            state.fix_slots({now: Slot(threshold=1.0, expected=0.0)})
            state.move_position("read", now)
        with SharedState(client, project="p") as state, SharedState(client, project="q") as foreign:
            assert state.known([key, ("t0", "o0")]) == {("t0", "o0"): "done"}
            assert foreign.known([("t0", "o0")]) == {}
            assert state.postponed([key, other, ("t0", "o0")]) == {key, other}
            assert state.expire(now - timedelta(days=7)) == 1
            assert state.expire(now - timedelta(days=7)) == 0
            assert state.due(now + timedelta(minutes=1), limit=9) == ()
            assert [(r.key, r.started_at, r.tries) for r in state.due(now + timedelta(minutes=2), limit=9)] == [
                (key, now, 2)
            ]
            assert (state.slots(now), state.slots(now + timedelta(minutes=5))) == ({now: slot}, {})
            assert (state.position("read"), state.position("swept")) == (now, None)
            assert (state.known([]), state.postponed([])) == ({}, set())
