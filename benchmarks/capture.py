"""What capture costs an application, beside other handlers, in one run: `make bench-capture` (about 4 minutes)."""

import argparse
import asyncio
import gc
import os
import random
import statistics
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from typing import Any

from capture_subjects import Size, Subjects, make_chain, make_documents, sink
from langchain_core.callbacks import BaseCallbackHandler

import ragtrace
from ragtrace_instrumentation_langchain import RagCallbackHandler

SMALL, LARGE, MIDDLE = (
    Size(documents=5, characters=1_000),
    Size(documents=50, characters=20_000),
    Size(documents=20, characters=5_000),
)
QUESTION = "When does the gate open?"
COMPARED = ("no-op", "ragtrace", "langfuse")
AT_ONCE, REQUESTS, BLOCKS, MODEL_SECONDS = 32, 320, 8, 0.3
SETTLING = 1_000


def main() -> None:
    """Measure everything and print it."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=200, help="interleaved rounds for each figure")
    options.add_argument("--calls", type=int, default=10_000, help="calls over which memory is watched")
    chosen = options.parse_args()
    # OpenInference calls a message's text, which LangChain advises against.
    warnings.filterwarnings("ignore", message="Calling .text")
    with sink() as (url, received):
        subjects = Subjects(url)
        for size, rounds in ((SMALL, chosen.rounds), (LARGE, max(20, chosen.rounds // 4))):
            show_callbacks(subjects, size, rounds)
            show_difference(subjects, size, rounds)
            show_processor_time(subjects, size, rounds)
            show_bytes(size, received)
        show_tokens(subjects)
        for size in (SMALL, MIDDLE):
            show_threads(subjects, size)
            show_tasks(subjects, size)
        show_memory(chosen.calls)
        ragtrace.shutdown(5.0)


def show_callbacks(subjects: Subjects, size: Size, rounds: int) -> None:
    """Time spent inside the callbacks of each handler, for each invoke."""
    chain = make_chain(make_documents(size))
    spent: dict[str, list[float]] = {name: [] for name in COMPARED}
    clocks = {name: Clock(subjects.handlers[name][0]) for name in COMPARED}
    for _ in range(rounds):
        for name in COMPARED:
            clocks[name].nanoseconds = 0
            invoke(chain, subjects, name)
            spent[name].append(clocks[name].nanoseconds / 1000)
    for clock in clocks.values():
        clock.remove()
    print(f"\n{size}: inside the callbacks, µs per invoke (wall)")
    for name in COMPARED:
        tenth = statistics.quantiles(spent[name], n=10)[0]
        print(f"  {name:14} median {statistics.median(spent[name]):9.0f}   p10 {tenth:9.0f}")
    ratio = statistics.median(spent["langfuse"]) / statistics.median(spent["ragtrace"])
    print(f"  langfuse / ragtrace: {ratio:.0f} ×")


class Clock:
    """Counts the time that a handler's callbacks take."""

    def __init__(self, handler: BaseCallbackHandler) -> None:
        self.nanoseconds = 0
        self._handler = handler
        self._events = [name for name in dir(handler) if name.startswith("on_")]
        for name in self._events:
            setattr(handler, name, self._timed(getattr(handler, name)))

    def remove(self) -> None:
        """Let the handler be as it was."""
        for name in self._events:
            delattr(self._handler, name)

    def _timed(self, event: Callable[..., object]) -> Callable[..., object]:
        def timed(*arguments: object, **named: object) -> object:
            start = time.perf_counter_ns()
            try:
                return event(*arguments, **named)
            finally:
                self.nanoseconds += time.perf_counter_ns() - start

        return timed


def show_difference(subjects: Subjects, size: Size, rounds: int) -> None:
    """What an invoke takes longer under each handler, with a 95 % interval of the median."""
    chain = make_chain(make_documents(size))
    walls: dict[str, list[float]] = {name: [] for name in Subjects.NAMES}
    for _ in range(rounds):
        for name in random.sample(Subjects.NAMES, len(Subjects.NAMES)):
            walls[name].append(invoke(chain, subjects, name))
    print(f"{size}: an invoke without handlers takes {statistics.median(walls['none']):.2f} ms; added, ms")
    for name in Subjects.NAMES[1:]:
        added = [wall - none for wall, none in zip(walls[name], walls["none"], strict=True)]
        low, high = interval(added)
        print(f"  {name:14} median {statistics.median(added):8.3f}   95 % [{low:.3f}, {high:.3f}]")


def invoke(chain: Any, subjects: Subjects, name: str) -> float:
    """Run the chain once, in a context of its own since Langfuse's handler leaves spans behind; milliseconds."""
    with subjects.using(name) as config:
        start = time.perf_counter()
        copy_context().run(chain.invoke, QUESTION, config)
        return (time.perf_counter() - start) * 1000


def show_processor_time(subjects: Subjects, size: Size, rounds: int) -> None:
    """CPU of the whole process, for each call, background included."""
    chain = make_chain(make_documents(size))
    used: dict[str, list[float]] = {name: [] for name in Subjects.NAMES}
    portion = 10
    for _ in range(max(3, rounds // portion)):
        for name in random.sample(Subjects.NAMES, len(Subjects.NAMES)):
            start = time.process_time()
            for _ in range(portion):
                invoke(chain, subjects, name)
            ragtrace.flush(10.0)
            used[name].append((time.process_time() - start) * 1000 / portion)
    base = statistics.median(used["none"])
    added = "   ".join(f"{name} {statistics.median(used[name]) - base:.2f}" for name in Subjects.NAMES[1:])
    print(f"{size}: process CPU added, ms per call, ragtrace sending, the others exporting nothing:\n  {added}")


def show_bytes(size: Size, received: Callable[[], int]) -> None:
    """Bytes sent for each byte of retrieved text: passages that arrive whole, cut, and rewritten beyond recognition."""
    documents = make_documents(size)
    ways: dict[str, Callable[[str], str]] = {
        "whole": str,
        "cut in half": lambda text: text[: len(text) // 2],
        "rewritten": lambda text: text[::-1],
    }
    text, calls, ratios = sum(len(document.page_content) for document in documents), 5, []
    for name, write in ways.items():
        before, chain = received(), make_chain(documents, write=write)
        for _ in range(calls):
            chain.invoke(QUESTION, {"callbacks": [RagCallbackHandler()]})
        ragtrace.flush(20.0)
        ratios.append(f"{name} {(received() - before) / calls / text:.2f}")
    print(f"{size}: bytes sent for each byte retrieved: {', '.join(ratios)}")


def show_tokens(subjects: Subjects) -> None:
    """CPU added for each token of `astream`."""
    tokens, rounds = 1_000, 12
    chain = make_chain(make_documents(SMALL), tokens=tokens)

    async def read(config: Any) -> float:
        start = time.process_time()
        async for _part in chain.astream(QUESTION, config):
            pass
        return (time.process_time() - start) * 1e6 / tokens

    used: dict[str, list[float]] = {name: [] for name in Subjects.NAMES}
    for _ in range(rounds):
        for name in random.sample(Subjects.NAMES, len(Subjects.NAMES)):
            with subjects.using(name) as config:
                used[name].append(asyncio.run(read(config)))
    base = statistics.median(used["none"])
    added = "   ".join(f"{name} {statistics.median(used[name]) - base:.1f}" for name in Subjects.NAMES[1:])
    print(f"\nastream: CPU added, µs per token ({base:.0f} without handlers):\n  {added}")


def show_threads(subjects: Subjects, size: Size) -> None:
    """The slowest hundredth of requests, 32 at once in threads."""

    def requests(name: str) -> list[float]:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            return list(pool.map(lambda _: invoke(chain, subjects, name), range(REQUESTS)))

    chain = make_chain(make_documents(size), seconds=MODEL_SECONDS)
    compare_tails(f"\n{size}, {AT_ONCE} threads", requests)


def show_tasks(subjects: Subjects, size: Size) -> None:
    """The same, 32 at once in one event loop."""
    chain = make_chain(make_documents(size), seconds=MODEL_SECONDS)

    async def run(config: Any) -> list[float]:
        places, walls = asyncio.Semaphore(AT_ONCE), []

        async def request() -> None:
            async with places:
                start = time.perf_counter()
                await chain.ainvoke(QUESTION, config)
                walls.append((time.perf_counter() - start) * 1000)

        async with asyncio.TaskGroup() as group:
            for _ in range(REQUESTS):
                group.create_task(request())
        return walls

    def requests(name: str) -> list[float]:
        with subjects.using(name) as config:
            return asyncio.run(run(config))

    compare_tails(f"{size}, {AT_ONCE} tasks", requests)


def compare_tails(title: str, requests: Callable[[str], list[float]]) -> None:
    """Print p50 and p99 without a handler, with one that does nothing and with ours, from blocks in turn."""
    walls: dict[str, list[list[float]]] = {"none": [], "no-op": [], "ragtrace": []}
    for _ in range(BLOCKS):
        for name in random.sample(list(walls), len(walls)):
            walls[name].append(requests(name))
            ragtrace.flush(10.0)
    half = {name: statistics.median(wall for block in blocks for wall in block) for name, blocks in walls.items()}
    # The median over blocks, since one stall of the machine decides the tail of its block.
    tails = {name: statistics.median(map(tail, blocks)) for name, blocks in walls.items()}
    against = ", ".join(f"{100 * (tails['ragtrace'] / tails[name] - 1):+.1f} % on {name}" for name in ("none", "no-op"))
    shown = "; ".join(f"{name} {half[name]:.0f} and {tails[name]:.0f}" for name in walls)
    print(f"{title}: p50 and p99, ms: {shown}; p99 of ragtrace {against}")


def show_memory(calls: int) -> None:
    """Growth of the resident memory over many calls, after as many as settle it."""
    chain, config = make_chain(make_documents(SMALL)), {"callbacks": [RagCallbackHandler()]}
    sizes = []
    for number in range(calls + SETTLING):
        chain.invoke(QUESTION, config)
        if number + 1 in (SETTLING, calls + SETTLING):
            ragtrace.flush(10.0)
            gc.collect()
            sizes.append(resident_bytes())
    print(f"\nresident memory over {calls} calls: {(sizes[1] - sizes[0]) / 1e6:+.1f} MB")


def resident_bytes() -> int:
    """Read the process's resident memory, on Linux."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def tail(values: Sequence[float]) -> float:
    """Return the 99th percentile."""
    return statistics.quantiles(values, n=100)[98]


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Return a 95 % interval of the median, by resampling."""
    medians = sorted(statistics.median(random.choices(values, k=len(values))) for _ in range(400))
    return medians[9], medians[389]


if __name__ == "__main__":
    main()
