"""Everything at once: what goes wrong in a day, in seconds."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest

from ragtrace.local.in_thread import LocalLangfuse
from tests.scorer.simulation import Simulation
from tests.seed import SeedCall, seed, stored_scores, trace_id


async def simulate(server: LocalLangfuse, folder: Path, *, number: int, looks: int, calls_a_look: int) -> Simulation:
    """Let calls arrive while everything fails, then let everything settle."""
    simulation = Simulation(server=server, state_path=folder / "state.sqlite", seed=number)
    for _ in range(looks):
        simulation.arrive(calls_a_look)
        await simulation.look()
    simulation.settle()
    for _ in range(4):
        await simulation.look()
        simulation.now += timedelta(hours=1)
    return simulation


@pytest.mark.parametrize("number", [1, 2])
async def test_each_sampled_call_ends_with_one_score_a_metric(local_langfuse, tmp_path, number):
    """Late, doubled and shuffled calls, lost requests and replies, a judge that fails and a state file that is lost."""
    simulation = await simulate(local_langfuse, tmp_path, number=number, looks=12, calls_a_look=15)

    assert simulation.wrong_scores() == {}
    assert len(simulation.judged) > 60


@pytest.mark.soak
@pytest.mark.timeout(1800)
async def test_twenty_thousand_calls(local_langfuse, tmp_path):
    """The same over a day's worth of calls."""
    simulation = await simulate(local_langfuse, tmp_path, number=3, looks=200, calls_a_look=100)
    judged = simulation.judged

    print(f"calls {len(simulation.calls)}, judged {len(judged)}, judged again {judged.total() - len(judged)}")  # noqa: T201
    assert simulation.wrong_scores() == {}


def kill_again_and_again(server: LocalLangfuse, folder: Path, *, kills: int, number: int) -> None:
    """Follow with a real process that is killed at any point and started again; the last one ends in peace."""
    random, now = Random(number), datetime.now(UTC)
    variables = {
        **{k: v for k, v in os.environ.items() if not k.startswith(("LANGFUSE_", "OPENAI_", "RAGTRACE_"))},
        "LANGFUSE_BASE_URL": server.base_url,
        "LANGFUSE_PUBLIC_KEY": server.public_key,
        "LANGFUSE_SECRET_KEY": server.secret_key,
        "RAGTRACE_STATE": str(folder / "state.sqlite"),
        "RAGTRACE_SCORER_POLL_SECONDS": "0.05",
    }
    command = [sys.executable, "-c", "from ragtrace.cli import main; main()", "score"]
    for kill in range(kills):
        first = kill * 200
        seed(server, [SeedCall(number=first + n, started_at=now - timedelta(seconds=n)) for n in range(200)])
        watched = trace_id(first + random.randrange(200))
        with subprocess.Popen([*command, "--follow"], env=variables, cwd=folder, stderr=subprocess.DEVNULL) as process:
            given_up = time.monotonic() + 60
            while not stored_scores(server, traceId=watched) and time.monotonic() < given_up:
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
    subprocess.run([*command, "--json"], env=variables, cwd=folder, check=True, stdout=subprocess.DEVNULL)


def doubled_or_missing(server: LocalLangfuse, calls: int) -> int:
    found = Counter((str(s["subject"]["traceId"]), str(s["name"])) for s in stored_scores(server))
    by_call = Counter(trace for trace, _ in found)
    return (
        sum(count > 1 for count in found.values())
        + sum(count != 6 for count in by_call.values())
        + calls
        - len(by_call)
    )


def test_killed_in_the_middle(local_langfuse, tmp_path):
    """A scorer that is killed while it writes, and started again, leaves each call with one score a metric."""
    kill_again_and_again(local_langfuse, tmp_path, kills=1, number=1)

    assert doubled_or_missing(local_langfuse, 200) == 0


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_killed_fifty_times(local_langfuse, tmp_path):
    """The same, fifty times at points that a seed draws."""
    kill_again_and_again(local_langfuse, tmp_path, kills=50, number=2)

    assert doubled_or_missing(local_langfuse, 50 * 200) == 0
