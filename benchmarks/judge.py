"""What the LLM judge costs and how it fails: calls, exact tokens, samples a second, every fault of the peers' table.

Run: make bench-judge, or python benchmarks/judge.py [tokens] [speed] [faults] [flat]
The samples are read from RAGTRACE_SHARED, or ../shared beside the repository. Exact token counts need cl100k: point
TIKTOKEN_CACHE_DIR at a folder that holds it, else tokens are a quarter of the characters and said to be so.
"""

import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from judge_cases import FAULTS, ROOT, inputs, joined, read_samples, to_call, truth

from ragtrace import metrics
from ragtrace.judge.batch import judge_calls
from ragtrace.judge.llm import LlmJudge
from ragtrace.model import RagCall, Score, Unscored, Verdicts
from ragtrace.settings import load_settings

NAMES = ("faithfulness", "context_recall", "hallucination_rate")
MODES = ("lean", "default", "all")


class Oracle:
    """The endpoint, in a process of its own."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(ROOT / "benchmarks/oracle.py")], stdout=subprocess.PIPE, text=True
        )
        self.port = int(self.process.stdout.readline()) if self.process.stdout else 0

    def control(self, **settings: object) -> dict[str, Any]:
        """Set it anew, and return what it served before."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/control", json.dumps(settings).encode(), method="POST"
        )
        with urllib.request.urlopen(request) as response:
            return json.load(response)

    def judge(self, **settings: object) -> LlmJudge:
        """Return a judge there."""
        given: dict[str, object] = {
            "openai_base_url": f"http://127.0.0.1:{self.port}/v1",
            "judge_model": "oracle",
            "state": Path(tempfile.mkdtemp()) / "state.sqlite",
        }
        return LlmJudge(load_settings({}, overrides=given | settings))


@contextmanager
def oracle() -> Iterator[Oracle]:
    """Start the endpoint, and end it."""
    started = Oracle()
    try:
        yield started
    finally:
        started.process.kill()
        started.process.wait()


def values(call: RagCall, verdicts: Verdicts | Unscored) -> dict[str, float | str]:
    """Return value or reason by metric."""
    results = metrics.compute(call, verdicts, names=NAMES)
    return {r.name: r.value if isinstance(r, Score) else r.reason for r in results if r.name in NAMES}


async def run(judge: LlmJudge, calls: Iterable[RagCall], concurrency: int) -> dict[str, tuple[RagCall, Any, float]]:
    """Return outcome and seconds by call id."""
    started = time.perf_counter()
    found = {}
    async for call, verdicts in judge_calls(judge, calls, concurrency):
        found[call.id] = (call, verdicts, time.perf_counter() - started)
    await judge.aclose()
    return found


def tokens(served: Oracle, samples: Sequence[dict[str, Any]]) -> None:
    """Print calls and tokens a sample, and the error against the truth, by half and mode."""
    is_exact = "TIKTOKEN_CACHE_DIR" in os.environ
    print(f"\n## Calls and tokens a sample ({'cl100k' if is_exact else 'ESTIMATED: characters / 4'})\n")
    print("| half | mode | language | calls | prompt | of it the same for all | completion | MAE f, c, h |")
    print("|---|---|---|---|---|---|---|---|")
    halves = {"one claim a sentence": samples, "2-4 claims a sentence": [joined(sample) for sample in samples]}
    for half, all_samples in halves.items():
        for mode in MODES:
            for language in ("en", "zh"):
                some = [sample for sample in all_samples if sample["lang"] == language]
                _print_tokens(served, some, f"{half} | {mode} | {language}", mode=mode, is_exact=is_exact)
    some = [sample for sample in samples if sample["lang"] == "en"]
    title = "2 of 5 passages withheld | default | en"
    _print_tokens(served, some, title, mode="default", is_exact=is_exact, withheld=2)


def _print_tokens(
    served: Oracle, samples: Sequence[dict[str, Any]], title: str, *, mode: str, is_exact: bool, withheld: int = 0
) -> None:
    served.control(latency=0, counts_tokens=is_exact)
    calls = [to_call(sample, withheld=withheld) for sample in samples]
    found = asyncio.run(run(served.judge(judge_mode=mode), calls, 8))
    told = served.control(latency=0)
    prompt, completion, same = (total / len(samples) for total in told["tokens"])
    error = dict.fromkeys(NAMES, 0.0)
    for sample in samples if not withheld else ():
        call, verdicts, _ = found[sample["id"]]
        got, right = values(call, verdicts), truth(sample)
        error = {name: error[name] + abs(float(got[name]) - right[name]) / len(samples) for name in NAMES}
    errors = ", ".join(f"{value:.3f}" for value in error.values()) if not withheld else "-"
    calls_each = told["calls"] / len(samples)
    print(f"| {title} | {calls_each:.2f} | {prompt:,.0f} | {same:,.0f} | {completion:.0f} | {errors} |")


def speed(served: Oracle, samples: Sequence[dict[str, Any]]) -> None:
    """Print samples a second, CPU and memory at 50 ms latency."""
    print("\n## Samples a second at 50 ms (endpoint in its own process)\n")
    print("| mode | concurrency | samples/s | CPU ms/sample | most in flight | peak RSS MB |")
    print("|---|---|---|---|---|---|")
    for mode in ("default", "lean"):
        for concurrency, count in ((16, 2_000), (64, 4_000)):
            served.control(latency=0.05)
            calls = (to_call(samples[n % len(samples)], f" {n}") for n in range(count))
            judge = served.judge(judge_mode=mode, concurrency=concurrency)
            cpu, started = time.process_time(), time.perf_counter()
            judged = asyncio.run(_count(judge, calls, concurrency))
            seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
            most = served.control(latency=0.05)["most_in_flight"]
            figures = f"{judged / seconds:.0f} | {cpu / count * 1e3:.2f} | {most} | {peak_rss()}"
            print(f"| {mode} | {concurrency} | {figures} |")


async def _count(judge: LlmJudge, calls: Iterable[RagCall], concurrency: int) -> int:
    """Return how many calls got verdicts; nothing is kept, as in the scorer."""
    judged = 0
    async for _, verdicts in judge_calls(judge, calls, concurrency):
        judged += isinstance(verdicts, Verdicts)
    await judge.aclose()
    return judged


def flat(served: Oracle, samples: Sequence[dict[str, Any]]) -> None:
    """Print the memory after each 5,000 of 20,000 samples."""
    served.control(latency=0)

    async def all_of_them() -> None:
        judge = served.judge(judge_mode="default", concurrency=32)
        calls = (to_call(samples[n % len(samples)], f" {n}") for n in range(20_000))
        done = 0
        async for _ in judge_calls(judge, calls, 32):
            done += 1
            if done % 5_000 == 0:
                print(f"after {done:,} samples: {rss_now()} MB")
        await judge.aclose()

    print("\n## Memory over 20,000 samples\n")
    asyncio.run(all_of_them())


def peak_rss() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1024 * (1024 if sys.platform == "darwin" else 1))


def rss_now() -> int:
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * resource.getpagesize() // 2**20


def faults(served: Oracle, samples: Sequence[dict[str, Any]]) -> None:
    """Print what becomes of twelve samples under each fault, and of the poisoned one."""
    twelve = [sample for sample in samples if sample["lang"] == "en"][:12]
    print("\n## Faults: 12 samples, concurrency 4\n")
    print("| scenario | poisoned sample | others right | calls/sample | others done s | all done s |")
    print("|---|---|---|---|---|---|")
    for name, fault in FAULTS.items():
        calls = [to_call(sample, f" @{n} ") for n, sample in enumerate(twelve)]
        deadline = 5.0 if name == "hang_sample3" else 120.0
        _print_fault(served, name, calls, twelve, fault=fault, judge_deadline_seconds=deadline)
    for name, change in inputs(twelve[3]).items():
        some = [*twelve[:3], {**twelve[3], **change}, *twelve[4:]]
        calls = [to_call(sample, f" @{n} ") for n, sample in enumerate(some)]
        _print_fault(served, name, calls, twelve, window=16_000 if name.endswith("16k") else 0)


def _print_fault(
    served: Oracle,
    name: str,
    calls: Sequence[RagCall],
    samples: Sequence[dict[str, Any]],
    *,
    fault: Mapping[str, Any] | None = None,
    window: int = 0,
    **settings: object,
) -> None:
    served.control(latency=0.05, fault=dict(fault or {}), window=window)
    found = asyncio.run(run(served.judge(**settings), calls, 4))
    told = served.control(latency=0.05)
    got = [values(call, found[call.id][1]) for call in calls]
    right = [number != 3 and got[number] == truth(sample) for number, sample in enumerate(samples)]
    poisoned = ", ".join(
        f"{short}={value:.4g}" if isinstance(value, float) else f"{short}={value}"
        for short, value in zip("fch", (got[3][metric] for metric in NAMES), strict=True)
    )
    times = [found[call.id][2] for call in calls]
    others = max(seconds for number, seconds in enumerate(times) if number != 3)
    figures = f"{told['calls'] / len(calls):.2f} | {others:.1f} | {max(times):.1f}"
    print(f"| {name} | {poisoned} | {sum(right)}/11 | {figures} |")


if __name__ == "__main__":
    parts = {"tokens": tokens, "speed": speed, "faults": faults, "flat": flat}
    chosen = [name for name in sys.argv[1:] if name in parts] or ["tokens", "faults", "speed", "flat"]
    if len(chosen) > 1:
        # A process each: what one part imported and kept must not count as another's memory.
        sys.exit(max(subprocess.call([sys.executable, __file__, name]) for name in chosen))
    with oracle() as endpoint:
        parts[chosen[0]](endpoint, read_samples())
