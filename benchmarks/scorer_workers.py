"""What more workers bring: calls a second of 1 and of 4 processes, with a judge of 200 ms and 8 calls in flight each.

    make bench-scorer

Needs `redis-server`. Each worker has a Langfuse of its own inside its process, as in `scorer.py`, so that the workers
share Redis only.
"""

import asyncio
import multiprocessing
import resource
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing.synchronize import Barrier

import redis
from scorer import START, InstantJudge, Server

from ragtrace.langfuse import Connection, LangfuseApi
from ragtrace.model import RagCall, Verdicts
from ragtrace.scorer import ScoringOptions, Tally
from ragtrace.scorer.distributed import Channel, Coordinator, Workplace, employ, make_channel, work_until
from ragtrace.scorer.follow import Lookback
from ragtrace.scorer.shared_state import SharedState, connect

CALLS = 2_048
IN_FLIGHT = 8
JUDGE_SECONDS = 0.2
REQUEST_SECONDS = 0.02
PROJECT = "bench"


@dataclass
class SlowJudge(InstantJudge):
    """Takes as long as a judge does."""

    async def judge(self, call: RagCall) -> Verdicts:
        await asyncio.sleep(JUDGE_SECONDS)
        return await super().judge(call)


def api() -> LangfuseApi:
    """Return a Langfuse inside this process."""
    server = Server(calls=CALLS, seconds_a_request=REQUEST_SECONDS)
    return LangfuseApi(Connection("http://bench", public_key="pk", secret_key="sk", transport=server))


def channel(url: str) -> Channel:
    """Return the way between the processes."""
    return make_channel(url, queue="bench:tasks", claim_after=timedelta(minutes=10))


async def coordinate(url: str) -> None:
    """Hand all calls out."""
    way = channel(url)
    await way.broker.startup()
    with connect(url) as client, SharedState(client, project=PROJECT) as state:
        async with api() as langfuse:
            options = ScoringOptions(concurrency=IN_FLIGHT, now=lambda: START)
            coordinator = Coordinator(
                langfuse,
                InstantJudge(),
                state,
                channel=way,
                options=options,
                lookback=Lookback(),
                first_since=START,
            )
            await coordinator.look(Tally())
    await way.broker.shutdown()


async def work(url: str, ready: Barrier) -> None:
    """Do tasks until all calls are scored."""
    way, stopping, done = channel(url), asyncio.Event(), 0
    await way.broker.startup()
    with connect(url) as client:

        def count(tally: Tally, error: object) -> None:
            nonlocal done
            done = client.incrby("done", tally.scored)

        async def watch() -> None:
            while int(client.get("done") or 0) < CALLS:
                await asyncio.sleep(0.02)
            stopping.set()

        async with api() as langfuse, asyncio.TaskGroup() as tasks:
            place = Workplace(
                api=langfuse,
                judge=SlowJudge(),
                open_state=lambda: SharedState(client, project=PROJECT),
                options=ScoringOptions(concurrency=IN_FLIGHT, now=lambda: START),
                on_task=count,
            )
            employ(way, place)
            await asyncio.to_thread(ready.wait)
            tasks.create_task(watch())
            tasks.create_task(work_until(way, stopping=stopping, drain_seconds=10))
    await way.broker.shutdown()


def run_worker(url: str, ready: Barrier) -> None:
    """Be one process."""
    asyncio.run(work(url, ready))


@contextmanager
def running_redis() -> Iterator[str]:
    """Run a Redis that keeps nothing."""
    program = shutil.which("redis-server")
    if program is None:
        raise SystemExit("this benchmark needs redis-server")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = str(unused.getsockname()[1])
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "--bind", "127.0.0.1", "--port", port, "--dir", folder, "--save", ""]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            process.kill()
            process.wait()


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What a number of workers did."""

    calls_a_second: float
    cpu_seconds_a_call: float
    """Of the workers, their start included."""


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(workers: int) -> Figures:
    """Return how fast so many workers score what was handed out before they begin."""
    with running_redis() as url:
        for _ in range(100):
            try:
                redis.Redis.from_url(url).ping()
                break
            except redis.ConnectionError:
                time.sleep(0.05)
        asyncio.run(coordinate(url))
        spawn = multiprocessing.get_context("spawn")
        ready = spawn.Barrier(workers + 1)
        processes = [spawn.Process(target=run_worker, args=(url, ready)) for _ in range(workers)]
        for process in processes:
            process.start()
        ready.wait()
        cpu = _cpu_of_children()
        started = time.monotonic()
        with connect(url) as client:
            while int(client.get("done") or 0) < CALLS:
                time.sleep(0.01)
        seconds = time.monotonic() - started
        for process in processes:
            process.join()
    return Figures(calls_a_second=CALLS / seconds, cpu_seconds_a_call=(_cpu_of_children() - cpu) / CALLS)


def main() -> None:
    """Print the figures."""
    one, four = measure(1), measure(4)
    print(
        f"workers, judge of {JUDGE_SECONDS * 1000:.0f} ms, {IN_FLIGHT} in flight each: 1 worker "
        f"{one.calls_a_second:.0f} calls/s, 4 workers {four.calls_a_second:.0f} calls/s, "
        f"{four.calls_a_second / one.calls_a_second:.2f} x; {four.cpu_seconds_a_call * 1000:.1f} ms CPU a call"
    )


if __name__ == "__main__":
    main()
