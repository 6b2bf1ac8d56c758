"""A judge that is rate-limited, hangs and is short of room: all is scored in the end, and nothing is made up."""

import threading
import time
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise

import pytest

from ragtrace.judge.llm import LlmJudge
from ragtrace.langfuse import CallQuery, Connection, LangfuseApi
from ragtrace.local.in_thread import LocalLangfuse
from ragtrace.scorer import ScoringOptions, StateFile, Tally, score_calls
from ragtrace.settings import Settings
from tests.judge.endpoint import Asked, Reply, ScriptedEndpoint, fails, supports_all
from tests.seed import many, seed, stored_scores

CALLS = 60
HANGING, TOO_LONG = ("Question 5?", "Question 17?", "Question 40?"), "Question 23?"


class Limited:
    """Refuses every second request for a while; three requests hang, and one does not fit."""

    def __init__(self, scale: float) -> None:
        self.retry_after = 2 * scale
        self.in_flight = self.most_in_flight = 0
        self.failed: set[str] = set()
        self.asked: dict[str, list[tuple[float, int]]] = defaultdict(list)
        """When each question was asked, and with which status it was answered."""
        self._limited_until = time.monotonic() + 30 * scale
        self._latency = 0.2 * scale
        self._answered = 0
        self._lock = threading.Lock()

    def answer(self, asked: Asked) -> Reply:
        question = asked.items["Q"]
        with self._lock:
            reply = self._choose(asked, question)
            self.asked[question].append((time.monotonic(), reply.status))
            if reply.hangs:
                return reply
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
        time.sleep(self._latency)
        with self._lock:
            self.in_flight -= 1
        return reply

    def _choose(self, asked: Asked, question: str) -> Reply:
        self._answered += 1
        if time.monotonic() < self._limited_until and self._answered % 2:
            return fails(429, "slow down", headers={"Retry-After": f"{self.retry_after:g}"})
        if question in HANGING and question not in self.failed:
            self.failed.add(question)
            return Reply(body="", hangs=True)
        if question == TOO_LONG and TOO_LONG not in self.failed:
            self.failed.add(question)
            told = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens."
            return fails(400, told, code="context_length_exceeded")
        return supports_all(asked)


async def look(server: LocalLangfuse, settings: Settings) -> Tally:
    """One run of the scorer."""
    tally, judge = Tally(), LlmJudge(settings)
    connection = Connection(server.base_url, public_key=server.public_key, secret_key=server.secret_key)
    with StateFile(settings.state, project="p") as state:
        async with LangfuseApi(connection) as api:
            options = ScoringOptions(concurrency=settings.concurrency)
            await score_calls(api, judge, state, query=CallQuery(), options=options, tally=tally)
    await judge.aclose()
    return tally


@pytest.mark.parametrize(
    "scale", [pytest.param(0.05, id="fast"), pytest.param(1.0, id="as reported", marks=pytest.mark.soak)]
)
@pytest.mark.timeout(600)
async def test_a_rate_limit_skews_no_average(local_langfuse, tmp_path, scale):
    """No more than eight at once, no retry before its time, counts that add up, and no 0 for a failure."""
    limited, endpoint = Limited(scale), ScriptedEndpoint()
    endpoint.answers(limited.answer)
    seed(local_langfuse, [replace(call, question=f"Question {call.number}?") for call in many(CALLS)])
    looks: list[Tally] = []
    settings = endpoint.settings(
        concurrency=8,
        judge_timeout_seconds=10 * scale,
        judge_deadline_seconds=60 * scale,
        state=tmp_path / "state.sqlite",
    )
    try:
        while len(looks) < 5 and (not looks or looks[-1].pending or looks[-1].put_off):
            looks.append(await look(local_langfuse, settings))
    finally:
        endpoint.close()

    last = looks[-1]
    assert limited.most_in_flight <= 8
    assert [(tally.sampled, tally.finished) for tally in looks] == [(CALLS, CALLS)] * len(looks)
    assert last.already_scored + last.scored + last.unscored.total() == CALLS
    early = [
        question
        for question, times in limited.asked.items()
        for (refused_at, status), (again_at, _) in pairwise(times)
        if status == 429 and again_at - refused_at < limited.retry_after
    ]
    assert early == []
    assert [s for s in stored_scores(local_langfuse) if s["name"] == "faithfulness" and s["value"] == 0] == []
