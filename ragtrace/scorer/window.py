"""Score the calls of a time window: list, sample, skip what is done, fetch, judge, write."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass, field

from ragtrace import metrics
from ragtrace.errors import BackendError
from ragtrace.extract import ObservationRow, complete_delivery, read_rag_call
from ragtrace.judge.base import Judge
from ragtrace.langfuse import CallQuery, LangfuseApi
from ragtrace.model import Unscored
from ragtrace.scorer.judging import guarded, judge_call, untraced
from ragtrace.scorer.records import make_scores
from ragtrace.scorer.selection import Sampling, is_own_call, is_own_row
from ragtrace.scorer.sender import Sender
from ragtrace.scorer.state import CallKey, StateFile
from ragtrace.scorer.tally import Tally

_GIVE_UP_AFTER = 8
"""Calls in a row that no judge would take: the rest waits for the next run."""
_SEND_EVERY_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringOptions:
    """How calls are scored."""

    names: tuple[str, ...] = metrics.DEFAULT_METRICS
    sampling: Sampling = field(default_factory=Sampling)
    concurrency: int = 16
    """Most calls with a judge at one time."""
    is_rescore: bool = False
    """Judge calls that are done again, and replace their scores."""
    on_change: Callable[[Tally], None] = lambda tally: None
    """Called whenever the counts moved."""


async def score_calls(
    api: LangfuseApi, judge: Judge, state: StateFile, *, query: CallQuery, options: ScoringOptions, tally: Tally
) -> None:
    """Score the calls that a query finds; doing it again changes nothing and judges nothing again.

    The counts are in `tally`, also when this raises. Calls that were not dealt with are counted as pending; scores
    that could not be sent are in the state file and go out first next time.

    Raises:
        BackendError: Langfuse could not be read or written to the end.
    """
    run = _Run(api, judge, state, options=options, tally=tally)
    with untraced():
        await run.sender.flush(tally)
        await run.score(query)


class _Run:
    """One pass over one query: a reader, workers that judge, and a sender, side by side."""

    def __init__(
        self, api: LangfuseApi, judge: Judge, state: StateFile, *, options: ScoringOptions, tally: Tally
    ) -> None:
        self.sender = Sender(api, state)
        self._api = api
        self._judge = judge
        self._state = state
        self._options = options
        self._tally = tally
        self._rows: asyncio.Queue[ObservationRow | None] = asyncio.Queue(maxsize=options.concurrency)
        self._in_flight: set[CallKey] = set()
        self._judge_failures = 0
        self._stopped: str | None = None
        self._failure: BackendError | None = None

    async def score(self, query: CallQuery) -> None:
        """Run to the end of the query, or until it makes no sense to go on."""
        working = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            sending = tasks.create_task(self._send_now_and_then(working))
            async with asyncio.TaskGroup() as judging:
                judging.create_task(self._read(query))
                for _ in range(self._options.concurrency):
                    judging.create_task(self._work())
            working.set()
            await sending
        left = self._tally.sampled - self._tally.finished
        if left:
            self._tally.pending[self._stopped or "incomplete_capture"] += left
        if self._failure:
            raise self._failure

    async def _read(self, query: CallQuery) -> None:
        try:
            async for row in self._wanted(query):
                await self._rows.put(row)
                if self._stopped:
                    break
        except BackendError as exc:
            self._stop("langfuse_unavailable", exc)
        for _ in range(self._options.concurrency):
            await self._rows.put(None)

    async def _wanted(self, query: CallQuery) -> AsyncIterator[ObservationRow]:
        """Yield the calls to judge, with content."""
        previous: set[CallKey] = set()
        async for page in self._api.list_calls(query):
            rows = {_key(row): row for row in page if _key(row) not in previous}
            previous = set(rows)
            async for batch in self._api.fetch(await self._open_calls(rows)):
                for row in batch.rows:
                    yield row
                for row in batch.too_large:
                    self._give_up_reading(row)
                self._tally.pending["incomplete_capture"] += len(batch.missing)
                self._in_flight -= {_key(row) for row in batch.missing}

    async def _open_calls(self, rows: dict[CallKey, ObservationRow]) -> list[ObservationRow]:
        """Return the sampled calls of a page that are not done; note the others."""
        tally = self._tally
        foreign = {key: row for key, row in rows.items() if not is_own_row(row)}
        sampled = {key: row for key, row in foreign.items() if self._options.sampling.holds(row)}
        tally.listed += len(rows)
        tally.own_traffic += len(rows) - len(foreign)
        tally.not_sampled += len(foreign) - len(sampled)
        tally.sampled += len(sampled)
        done = set() if self._options.is_rescore else await self._done(sampled)
        tally.already_scored += len(done)
        self._options.on_change(tally)
        wanted = [row for key, row in sampled.items() if key not in done]
        self._in_flight |= {_key(row) for row in wanted}
        return wanted

    async def _done(self, rows: dict[CallKey, ObservationRow]) -> set[CallKey]:
        known = set(self._state.known(rows)) | (self._in_flight & set(rows))
        unknown = [key for key in rows if key not in known]
        marked = (await self._api.marks(trace_id for trace_id, _ in unknown)) & set(unknown)
        self._state.remember_done(marked)
        return known | marked

    async def _work(self) -> None:
        while (row := await self._rows.get()) is not None:
            key = _key(row)
            if not self._stopped:
                is_through = await guarded(self._score(key, row), about=f"call {row.id} of trace {row.trace_id}")
                self._tally.failed += not is_through
            self._in_flight.discard(key)
            self._options.on_change(self._tally)

    async def _score(self, key: CallKey, row: ObservationRow) -> bool:
        """Judge one call and put its scores into the outbox; true when that is accounted for."""
        call = complete_delivery(read_rag_call(row))
        if is_own_call(call):
            self._tally.own_traffic += 1
            self._tally.sampled -= 1
            return True
        judged = await judge_call(call, self._judge, self._options.names)
        if judged.verdicts:
            self._tally.count_judging(judged.verdicts)
        probability = self._options.sampling.probability(call.capture_probability)
        scores = make_scores(call, judged.results, verdicts=judged.verdicts, inclusion_probability=probability)
        if scores:
            self._judge_failures = 0
            self.sender.take(key, scores)
        else:
            self._note_pending(judged.results[-1], judged.problem)
        return True

    def _note_pending(self, outcome: object, problem: str | None) -> None:
        reason = outcome.reason if isinstance(outcome, Unscored) else "judge_unavailable"
        self._tally.pending[reason] += 1
        self._tally.problem = problem or self._tally.problem
        self._judge_failures += 1
        if self._judge_failures >= _GIVE_UP_AFTER:
            self._stop(reason)

    def _give_up_reading(self, row: ObservationRow) -> None:
        """Mark a call that Langfuse itself cannot hand out."""
        call = read_rag_call(row)
        outcome = metrics.rag_outcome(Unscored(name=name, reason="too_long") for name in self._options.names)
        probability = self._options.sampling.probability(call.capture_probability)
        scores = make_scores(call, [outcome], verdicts=None, inclusion_probability=probability)
        if scores:
            self.sender.take(_key(row), scores)
        self._in_flight.discard(_key(row))

    async def _send_now_and_then(self, working: asyncio.Event) -> None:
        """Send while others judge, and once more when they are through."""
        is_last = False
        while not is_last:
            with suppress(TimeoutError):
                async with asyncio.timeout(_SEND_EVERY_SECONDS):
                    is_last = await working.wait()
            try:
                await self.sender.flush(self._tally)
            except BackendError as exc:
                self._stop("langfuse_unavailable", exc)
                return
            self._options.on_change(self._tally)

    def _stop(self, reason: str, failure: BackendError | None = None) -> None:
        self._stopped = self._stopped or reason
        self._failure = self._failure or failure


def _key(row: ObservationRow) -> CallKey:
    return (row.trace_id, row.id)
