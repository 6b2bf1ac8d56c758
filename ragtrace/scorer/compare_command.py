"""What `ragtrace compare` does between its arguments and its output."""

from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from ragtrace.langfuse import LangfuseApi, open_langfuse
from ragtrace.scorer.compare import Comparison, Gate, compare
from ragtrace.scorer.compare_langfuse import Calls, parse_side, read_calls
from ragtrace.scorer.compare_rows import Sample, read_file
from ragtrace.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareRequest:
    """What the user asked to be compared."""

    baseline: str
    candidate: str
    gate: Gate
    since: datetime
    """Start of the time in which releases, tags and runs are looked for."""


async def run_compare(settings: Settings, request: CompareRequest, *, now: datetime) -> Comparison:
    """Read both sides and compare them; Langfuse is asked only where a side is there.

    Raises:
        ConfigError: a side is none, or cannot be read.
        BackendError: Langfuse did not answer, or refused.
    """
    sides = [parse_side(text, since=request.since, now=now) for text in (request.baseline, request.candidate)]
    baseline, candidate = await _read(settings, sides)
    return compare(baseline, candidate, request.gate)


async def _read(settings: Settings, sides: list[Calls | Path]) -> list[list[Sample]]:
    async with AsyncExitStack() as stack:
        api: LangfuseApi | None = None
        found: list[list[Sample]] = []
        for side in sides:
            if isinstance(side, Path):
                found.append(read_file(side))
                continue
            if api is None:
                api = await stack.enter_async_context(open_langfuse(settings))
            found.append(await read_calls(api, side))
        return found
