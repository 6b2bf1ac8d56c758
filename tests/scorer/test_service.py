"""The scorer as a service, inside this process."""

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from ragtrace.local.in_thread import LocalLangfuse
from ragtrace.scorer.command import ScoreRequest
from ragtrace.scorer.service import run_follow
from ragtrace.settings import Settings, load_settings
from tests.seed import SeedCall, seed, stored_scores


def settings_for(server: LocalLangfuse, folder: Path, **more: str) -> Settings:
    return load_settings(
        {
            "LANGFUSE_BASE_URL": server.base_url,
            "LANGFUSE_PUBLIC_KEY": server.public_key,
            "LANGFUSE_SECRET_KEY": server.secret_key,
            "RAGTRACE_STATE": str(folder / "state.sqlite"),
            "RAGTRACE_SCORER_POLL_SECONDS": "0.02",
            **more,
        }
    )


def seed_recent(server: LocalLangfuse, count: int) -> None:
    now = datetime.now(UTC)
    seed(server, [SeedCall(number=n, started_at=now - timedelta(seconds=n + 1)) for n in range(count)])


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not is_so():
            await asyncio.sleep(0.02)


async def test_following_ends_at_a_signal(local_langfuse, tmp_path, caplog):
    """Calls are scored and logged, health and counts can be asked for, and SIGTERM ends it."""
    caplog.set_level(logging.INFO, logger="ragtrace.scorer")
    seed_recent(local_langfuse, 3)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
    settings = settings_for(local_langfuse, tmp_path, RAGTRACE_SCORER_LISTEN=address)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(run_follow(settings, ScoreRequest()))
        await until(lambda: "scored=3" in caplog.text)
        async with httpx.AsyncClient() as client:
            ready = await client.get(f"http://{address}/readyz")
            counts = await client.get(f"http://{address}/metrics")
        os.kill(os.getpid(), signal.SIGTERM)

    assert ready.status_code == 200
    assert 'ragtrace_scorer_calls_total{outcome="scored"} 3' in counts.text
    assert len(stored_scores(local_langfuse, name="rag_outcome")) == 3
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


async def test_a_judge_that_hangs_does_not_hold_the_end_up(local_langfuse, tmp_path, caplog):
    """After the bound, what is still with the judge is let go: it is judged next time, and nothing is half-written."""
    asked = asyncio.Event()

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.set()
        await reader.read()
        writer.close()
        await writer.wait_closed()

    seed_recent(local_langfuse, 1)
    judge = await asyncio.start_server(hang, "127.0.0.1", 0)
    settings = settings_for(
        local_langfuse,
        tmp_path,
        RAGTRACE_SCORER_DRAIN_SECONDS="0.05",
        RAGTRACE_JUDGE_MODEL="m",
        OPENAI_API_KEY="k",
        OPENAI_BASE_URL=f"http://127.0.0.1:{judge.sockets[0].getsockname()[1]}/v1",
    )

    async with judge, asyncio.TaskGroup() as tasks:
        tasks.create_task(run_follow(settings, ScoreRequest()))
        await asked.wait()
        os.kill(os.getpid(), signal.SIGTERM)

    assert "the rest is judged next time" in caplog.text
    assert stored_scores(local_langfuse) == []


async def test_failures_are_logged_and_survived(local_langfuse, tmp_path, caplog):
    """While Langfuse fails the log says so; afterwards calls are scored."""
    seed_recent(local_langfuse, 1)
    local_langfuse.faults.apply({"path": "/api/public/v2/observations", "status": 400, "times": 1})
    settings = settings_for(local_langfuse, tmp_path)

    with pytest.raises(ExceptionGroup, match="unhandled errors"):
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(run_follow(settings, ScoreRequest()))
    local_langfuse.faults.apply({"status": 503, "times": 4})

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(run_follow(settings, ScoreRequest()))
        await until(lambda: len(stored_scores(local_langfuse, name="rag_outcome")) == 1)
        os.kill(os.getpid(), signal.SIGTERM)

    assert "look incomplete: LANGFUSE_BASE_URL=" in caplog.text
