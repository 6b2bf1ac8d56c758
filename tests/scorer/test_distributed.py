"""Scoring with a coordinator, workers and a real Redis."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ragtrace.errors import ConfigError
from ragtrace.local.in_thread import LocalLangfuse
from ragtrace.scorer.command import ScoreRequest
from ragtrace.scorer.fleet import run_distributed
from ragtrace.scorer.shared_state import SharedState, connect
from ragtrace.scorer.state import Slot
from ragtrace.settings import Settings, load_settings
from tests.scorer.redis_server import RedisServer, running_redis
from tests.scorer.simulation import SCORES_A_CALL
from tests.seed import SeedCall, seed, stored_scores


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


def test_a_killed_worker_and_a_killed_redis_lose_nothing(local_langfuse, tmp_path, redis_server):
    """Of two workers one is killed in the middle, and Redis is killed and started again: one mark a call."""
    seed_recent(local_langfuse, 100)
    with processes(local_langfuse, tmp_path, url=redis_server.url, roles=["both", "worker"]) as (other, killed):
        wait_until(lambda: len(marks(local_langfuse)) > 0, seconds=30)
        killed.kill()
        redis_server.kill()
        redis_server.start()
        wait_until(lambda: len(marks(local_langfuse)) == 100, seconds=60)
        assert other.poll() is None

    assert is_each_score_stored_once(local_langfuse, 100)
    assert b"Traceback" not in (tmp_path / "log").read_bytes()


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
