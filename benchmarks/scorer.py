"""What the scorer costs and sustains: requests under a rate limit, write-back, memory with a long backlog.

    make bench-scorer

Langfuse is played by a transport in this process that waits as long as a server would and answers as 4.59 or 4.16 do,
so that the figures are the scorer's own and not those of a test server that shares its processor.
"""

import asyncio
import json
import random
import resource
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qs

import httpx

from ragtrace.langfuse import CallQuery, Connection, LangfuseApi, OutgoingScore, RetryPolicy, ScoreRecord
from ragtrace.model import Claim, JudgedSentence, JudgeInfo, RagCall, Sentence, Verdicts
from ragtrace.scorer import Sampling, ScoringOptions, StateFile, Tally, score_calls

START = datetime(2026, 3, 1, tzinfo=UTC)
PASSAGE = "The tower is 57 metres high. " * 320


@dataclass(kw_only=True)
class Server(httpx.AsyncBaseTransport):
    """Langfuse, as far as the scorer asks."""

    calls: int = 0
    version: str = "4.59.0"
    seconds_a_request: float = 0.0
    failing: float = 0.0
    """Share of the requests that are answered 503."""
    requests_a_minute: int | None = None
    requests: Counter[str] = field(default_factory=Counter)
    scores: set[str] = field(default_factory=set)
    _window: tuple[int, int] = (0, 0)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix("/api/public/")
        self.requests[f"{request.method} {path}"] += 1
        await asyncio.sleep(self.seconds_a_request)
        if self._is_over_limit():
            return httpx.Response(429, json={"message": "Rate limit exceeded"}, headers={"retry-after": "5"})
        if random.random() < self.failing and path != "health":
            return httpx.Response(503, json={"message": "no"})
        if request.method == "POST":
            return self._take(json.loads(await request.aread()))
        if path == "health":
            return httpx.Response(200, json={"status": "OK", "version": self.version})
        query = {name: values[0] for name, values in parse_qs(request.url.query.decode()).items()}
        return self._scores(query) if path == "v3/scores" else self._observations(query)

    def _is_over_limit(self) -> bool:
        if self.requests_a_minute is None:
            return False
        minute, used = self._window
        now = int(time.monotonic() // 60)
        self._window = (now, used + 1 if now == minute else 1)
        return self._window[1] > self.requests_a_minute

    def _take(self, body: list[dict[str, str]] | dict[str, str]) -> httpx.Response:
        if isinstance(body, dict):
            self.scores.add(body["id"])
            return httpx.Response(200, json={"id": body["id"]})
        self.scores |= {score["id"] for score in body}
        return httpx.Response(202, json={"message": "Accepted"})

    def _scores(self, query: dict[str, str]) -> httpx.Response:
        return httpx.Response(200, json={"data": [], "meta": {"limit": 100}})

    def _observations(self, query: dict[str, str]) -> httpx.Response:
        wanted = next((c["value"] for c in json.loads(query["filter"]) if c["column"] == "id"), None)
        if wanted is not None:
            rows = [_row(int(name, 16), with_content=True) for name in wanted]
            return httpx.Response(200, json={"data": rows, "meta": {}})
        first, limit = int(query.get("cursor", "0")), int(query["limit"])
        rows = [_row(n, with_content=False) for n in range(first, min(first + limit, self.calls))]
        meta = {"cursor": str(first + limit)} if first + limit < self.calls else {}
        return httpx.Response(200, json={"data": rows, "meta": meta})


def _row(number: int, *, with_content: bool) -> dict[str, object]:
    record = {
        "question": "How high is the tower?",
        "passages": [{"rank": 0, "text": PASSAGE, "received": "full", "coverage": 1.0, "at": 0}],
    }
    content = {"input": json.dumps(record), "output": "The tower is 57 metres high."} if with_content else {}
    stamp = (START - timedelta(seconds=number)).isoformat().replace("+00:00", "Z")
    return {
        "id": f"{number:016x}",
        "traceId": f"{number:032x}",
        "type": "CHAIN",
        "name": "rag-call",
        "startTime": stamp,
        "endTime": stamp,
        "metadata": {"ragtrace_schema": 1, "ragtrace_prompt_length": len(PASSAGE)},
        **content,
    }


@dataclass
class InstantJudge:
    """Supports everything at once, so that only the scorer is measured."""

    fingerprint: str = "instant"
    model: str = "instant"
    is_calibrated: bool = False

    async def judge(self, call: RagCall) -> Verdicts:
        claim = Claim(text=call.answer, verdict="supported", evidence=(0,))
        sentence = Sentence(number=1, text=call.answer, start=0, end=len(call.answer))
        info = JudgeInfo(fingerprint=self.fingerprint, model=self.model, calls=1)
        return Verdicts(judge=info, answer=(JudgedSentence(sentence=sentence, claims=(claim,)),), useful=(0,))

    async def aclose(self) -> None:
        """Nothing to let go of."""


async def score(server: Server, *, rate: float = 1.0) -> tuple[Tally, float]:
    """Return the counts and the seconds of one run."""
    tally, started = Tally(), time.monotonic()
    connection = Connection("http://bench", public_key="pk", secret_key="sk", transport=server)
    with tempfile.TemporaryDirectory() as folder, StateFile(Path(folder) / "state.sqlite", project="p") as state:
        async with LangfuseApi(connection) as api:
            options = ScoringOptions(sampling=Sampling(rate=rate))
            await score_calls(api, InstantJudge(), state, query=CallQuery(since=START), options=options, tally=tally)
    return tally, time.monotonic() - started


async def write(server: Server, count: int) -> float:
    """Return the seconds that writing scores takes."""
    outgoing = []
    for n in range(count):
        record = ScoreRecord(
            id=f"s{n}",
            trace_id=f"{n:032x}",
            observation_id=f"{n:016x}",
            name="faithfulness",
            value=0.5,
            data_type="NUMERIC",
            timestamp=START,
            comment="All claims supported. 2 of 2 claims supported.",
            metadata={"judge": {"fingerprint": "f" * 16, "model": "m"}, "inclusion_probability": 0.05, "claims": 2},
        )
        outgoing.append(OutgoingScore(id=record.id, body=record.body()))
    policy = RetryPolicy(attempts=50, first_pause_seconds=0.05, longest_pause_seconds=0.5)
    connection = Connection("http://bench", public_key="pk", secret_key="sk", transport=server, policy=policy)
    async with LangfuseApi(connection) as api:
        started, accepted = time.monotonic(), 0
        async for receipt in api.write_scores(outgoing):
            accepted += len(receipt.accepted)
        seconds = time.monotonic() - started
    if accepted != count or len(server.scores) != count:
        raise SystemExit(f"lost {count - len(server.scores)} scores")
    return seconds


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Print the figures."""
    random.seed(1)
    asyncio.run(score(Server(calls=5_000), rate=0.5))
    before = _megabytes()
    tally, seconds = asyncio.run(score(Server(calls=1_000_000), rate=0.002))
    print(
        f"backlog of {tally.listed:,} calls, {tally.scored} sampled: {seconds:.0f} s, memory grew by "
        f"{_megabytes() - before:.0f} MB"
    )
    for version, count in (("4.59.0", 20_000), ("4.16.0", 5_000)):
        for failing in (0.0, 0.3):
            server = Server(version=version, seconds_a_request=0.1, failing=failing)
            seconds = asyncio.run(write(server, count))
            sent = server.requests["POST scores"]
            print(
                f"write-back, {version}, 100 ms a request, {failing:.0%} failing: {count / seconds:,.0f} scores/s, "
                f"{sent} requests, none lost"
            )
    server = Server(calls=400, requests_a_minute=29, seconds_a_request=0.02)
    tally, seconds = asyncio.run(score(server))
    print(
        f"29 requests a minute: {tally.scored} calls of {len(PASSAGE) / 1000:.1f} KB scored in {seconds:.1f} s with "
        f"{server.requests.total()} requests {dict(server.requests)}"
    )
    tally, seconds = asyncio.run(score(Server(calls=5_000)))
    print(f"pipeline alone, instant judge: {tally.scored / seconds:,.0f} calls/s")


if __name__ == "__main__":
    main()
