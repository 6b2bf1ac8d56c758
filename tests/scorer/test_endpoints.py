"""What a supervisor and Prometheus ask."""

import asyncio
from collections import Counter

import httpx
import pytest

from ragtrace.errors import ConfigError
from ragtrace.scorer.endpoints import serving
from ragtrace.scorer.tally import Tally
from ragtrace.scorer.totals import Totals


async def ask(port: int | None, path: str) -> tuple[int, str]:
    async with httpx.AsyncClient() as client:
        reply = await client.get(f"http://127.0.0.1:{port}{path}")
    return reply.status_code, reply.text


def add(totals: Totals, tally: Tally, *, is_complete: bool = True) -> None:
    totals.add(tally, is_complete=is_complete, lag_seconds=2.5, requests=7, rate_limited=1)


async def test_health_and_readiness():
    """Alive from the start; ready after a look that reached the end, and not after one that did not."""
    totals = Totals()
    async with serving("127.0.0.1:0", totals, stale_seconds=60) as port:
        before = [await ask(port, path) for path in ("/healthz", "/readyz")]
        add(totals, Tally())
        after = await ask(port, "/readyz")
        add(totals, Tally(), is_complete=False)
        failed = await ask(port, "/readyz")
        unknown = await ask(port, "/")

    assert before == [(200, "ok\n"), (503, "the last look did not reach the end\n")]
    assert after == (200, "ok\n")
    assert failed[0] == 503
    assert unknown == (404, "/healthz, /readyz or /metrics\n")


async def test_a_scorer_that_is_stuck_is_not_healthy():
    """Without a look for too long a supervisor is told to start it again."""
    async with serving(":0", Totals(), stale_seconds=-1) as port:
        assert await ask(port, "/healthz") == (503, "no look for too long\n")


async def test_counts_add_up_over_looks():
    """Prometheus sees totals of all looks and the latest lag."""
    totals = Totals()
    add(totals, Tally(scored=2, unscored=Counter({"refusal": 1}), judge_calls=3, prompt_tokens=30, scores_written=12))
    add(totals, Tally(lost=1, read_back=4))
    for seconds in (0.1, 0.2, 3.0, 500.0):
        totals.add_judged(seconds)
    add(totals, Tally(scored=1, failed=1, completion_tokens=4, pending=Counter({"over_budget": 2}), put_off=3))

    async with serving("127.0.0.1:0", totals, stale_seconds=60) as port:
        status, text = await ask(port, "/metrics")

    assert status == 200
    assert text.splitlines() == [
        'ragtrace_scorer_calls_total{outcome="failed"} 1',
        'ragtrace_scorer_calls_total{outcome="refusal"} 1',
        'ragtrace_scorer_calls_total{outcome="refused"} 0',
        'ragtrace_scorer_calls_total{outcome="scored"} 3',
        "ragtrace_scorer_judge_calls_total 3",
        'ragtrace_scorer_judge_tokens_total{kind="completion"} 4',
        'ragtrace_scorer_judge_tokens_total{kind="prompt"} 30',
        "ragtrace_scorer_scores_lost_total 1",
        "ragtrace_scorer_scores_read_back_total 4",
        "ragtrace_scorer_scores_written_total 12",
        "ragtrace_scorer_lag_seconds 2.5",
        "ragtrace_scorer_langfuse_rate_limited 1",
        "ragtrace_scorer_langfuse_requests 7",
        "ragtrace_scorer_pending_calls 5",
        *(
            f'ragtrace_scorer_judge_seconds_bucket{{le="{limit}"}} {count}'
            for limit, count in (("0.1", 1), ("0.25", 2), ("0.5", 2), ("1.0", 2), ("2.0", 2), ("4.0", 3))
        ),
        *(f'ragtrace_scorer_judge_seconds_bucket{{le="{limit}"}} 3' for limit in (8.0, 15.0, 30.0, 60.0, 120.0)),
        'ragtrace_scorer_judge_seconds_bucket{le="+Inf"} 4',
        "ragtrace_scorer_judge_seconds_sum 503.3",
        "ragtrace_scorer_judge_seconds_count 4",
    ]


async def test_nothing_listens_unasked():
    """Without an address there is no port."""
    async with serving(None, Totals(), stale_seconds=60) as port:
        assert port is None


@pytest.mark.parametrize("address", ["nowhere", "127.0.0.1:x", "127.0.0.1:99999", "203.0.113.9:1"])
async def test_an_address_that_is_none_is_said(address):
    """The setting and its value are named."""
    with pytest.raises(ConfigError, match=f"RAGTRACE_SCORER_LISTEN='{address}': cannot listen there"):
        async with serving(address, Totals(), stale_seconds=60):
            pass


@pytest.mark.parametrize("request_", [b"", b"GET", b"nonsense\r\n\r\n", b"x" * 70_000])
async def test_broken_requests_do_no_harm(request_):
    """A connection that is closed early, or says nonsense, is answered or dropped, and the next one works."""
    async with serving("127.0.0.1:0", Totals(), stale_seconds=60) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request_)
        writer.write_eof()
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()

        assert answer == b"" or answer.startswith(b"HTTP/1.1 404")
        assert (await ask(port, "/healthz"))[0] == 200
