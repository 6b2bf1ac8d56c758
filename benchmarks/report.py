"""What a report of many calls takes: seconds from command to page, and bytes of the page.

    make bench-report

The calls lie in `ragtrace serve`, a process of its own, with scores of a judge that finds one answer in ten wrong;
the report is the command that people type.
"""

import asyncio
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx

from ragtrace.langfuse import CallQuery, open_langfuse
from ragtrace.model import Claim, JudgedSentence, JudgeInfo, RagCall, Sentence, Verdicts
from ragtrace.scorer import ScoringOptions, StateFile, Tally, score_calls
from ragtrace.settings import load_settings

CALLS = 10_000
DAYS = 7
PASSAGES = ["The tower is 57 metres high. " * 30, "The river Arno flows past the tower. " * 20]
ANSWER = "The tower is 57 metres high."
_BATCH = 500
_RAGTRACE = [str(Path(sys.executable).parent / "ragtrace")]


class RandomJudge:
    """Finds one answer in ten unsupported, so that pages have something to show."""

    fingerprint = "random"
    model = "random"
    is_calibrated = False

    def __init__(self) -> None:
        self._draws = random.Random(1)

    async def judge(self, call: RagCall) -> Verdicts:
        verdict = "unsupported" if self._draws.random() < 0.1 else "supported"
        claim = Claim(text=call.answer, verdict=verdict, evidence=(0,))
        sentence = Sentence(number=1, text=call.answer, start=0, end=len(call.answer))
        info = JudgeInfo(
            fingerprint=self.fingerprint, model=self.model, calls=1, prompt_tokens=900, completion_tokens=60
        )
        return Verdicts(judge=info, answer=(JudgedSentence(sentence=sentence, claims=(claim,)),), useful=(0,))

    async def aclose(self) -> None:
        """Nothing to let go of."""


@contextmanager
def serving(folder: Path) -> Iterator[dict[str, str]]:
    """Run the local server on a free port; what it prints names it."""
    command = [*_RAGTRACE, "serve", "--port", "0", "--db", str(folder / "langfuse.sqlite")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None  # noqa: S101 - told to the type checker
        exports = [process.stdout.readline().removeprefix("export ").strip() for _ in range(3)]
        try:
            yield dict(line.split("=", 1) for line in exports)
        finally:
            process.terminate()


def seed(environ: dict[str, str], *, since: datetime) -> None:
    """Store the calls, spread evenly over the days."""
    apart = timedelta(days=DAYS) / CALLS
    keys = (environ["LANGFUSE_PUBLIC_KEY"], environ["LANGFUSE_SECRET_KEY"])
    for first in range(0, CALLS, _BATCH):
        spans = [_span(number, at=since + number * apart) for number in range(first, first + _BATCH)]
        body = {"resourceSpans": [{"scopeSpans": [{"scope": {"name": "ragtrace"}, "spans": spans}]}]}
        url = f"{environ['LANGFUSE_BASE_URL']}/api/public/otel/v1/traces"
        httpx.post(url, json=body, auth=keys, timeout=60).raise_for_status()


def _span(number: int, *, at: datetime) -> dict[str, object]:
    record = {
        "question": f"How high is tower {number}?",
        "passages": [
            {"id": f"d{rank}", "rank": rank, "text": text, "received": "full", "coverage": 1.0, "at": rank * 5_000}
            for rank, text in enumerate(PASSAGES)
        ],
    }
    attributes = {
        "gen_ai.operation.name": "retrieval",
        "langfuse.observation.type": "chain",
        "langfuse.observation.input": json.dumps(record),
        "langfuse.observation.output": ANSWER,
        "langfuse.observation.metadata.ragtrace_schema": "1",
        "langfuse.observation.metadata.ragtrace_model": f"model-{number % 3}",
    }
    nanoseconds = int(at.timestamp() * 1e9)
    return {
        "traceId": f"{number + 1:032x}",
        "spanId": f"{number + 1:016x}",
        "name": "rag-call",
        "kind": 1,
        "startTimeUnixNano": str(nanoseconds),
        "endTimeUnixNano": str(nanoseconds + 1_000_000_000),
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()],
    }


async def judge(environ: dict[str, str], folder: Path, *, since: datetime) -> None:
    """Score the calls."""
    async with open_langfuse(load_settings(environ)) as api:
        with StateFile(folder / "state.sqlite", project="p") as state:
            query = CallQuery(since=since)
            await score_calls(api, RandomJudge(), state, query=query, options=ScoringOptions(), tally=Tally())


def main() -> None:
    """Print the figures."""
    since = datetime.now(UTC).replace(microsecond=0) - timedelta(days=DAYS)
    with tempfile.TemporaryDirectory() as name, serving(Path(name)) as environ:
        folder = Path(name)
        seed(environ, since=since)
        asyncio.run(judge(environ, folder, since=since))
        page = folder / "report.html"
        command = [*_RAGTRACE, "report", "--since", since.isoformat(), "--by", "model", "--html", str(page)]
        started = time.monotonic()
        subprocess.run(command, env={**os.environ, **environ}, check=True, stderr=subprocess.DEVNULL)
        seconds = time.monotonic() - started
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(
            f"report on {CALLS:,} calls: {seconds:.1f} s, {used.ru_utime + used.ru_stime:.1f} s of them computing, "
            f"page of {page.stat().st_size / 1e6:.2f} MB"
        )


if __name__ == "__main__":
    main()
