"""Score the calls of a time window: list, sample, skip what is done, fetch, judge, write."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime

from ragtrace.errors import BackendError
from ragtrace.extract import ObservationRow, complete_delivery, read_rag_call
from ragtrace.judge.base import Judge
from ragtrace.langfuse import CallQuery, FetchedBatch, LangfuseApi
from ragtrace.metrics import rag_outcome
from ragtrace.model import RagCall, Score, Unscored
from ragtrace.otel.evaluation_events import EvaluationEvents
from ragtrace.references import ReferenceBook
from ragtrace.scorer.config_book import ConfigBook
from ragtrace.scorer.judging import JudgedCall, MetricChoice, guarded, judge_call, untraced
from ragtrace.scorer.moments import utc_now
from ragtrace.scorer.reading import CallReader, key_of
from ragtrace.scorer.records import make_scores
from ragtrace.scorer.remarks import Remarks
from ragtrace.scorer.selection import Sampling, is_own_call
from ragtrace.scorer.sender import Sender
from ragtrace.scorer.slots import thinned, with_thresholds
from ragtrace.scorer.state import CallKey, Retry, StateFile
from ragtrace.scorer.tally import Tally
from ragtrace.scorer.withdrawing import Withdrawals
from ragtrace.semconv import UnscoredReason

ReadCall = Callable[[ObservationRow], RagCall]
_GIVE_UP_AFTER = 8
"""Calls in a row that no judge would take: the rest waits for the next run."""
_SEND_EVERY_SECONDS = 5.0
"""Rate limits count requests, so scores are collected for a while."""
_UNAVAILABLE = "langfuse_unavailable"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringOptions:
    """How calls are scored."""

    metrics: MetricChoice = field(default_factory=MetricChoice)
    sampling: Sampling = field(default_factory=Sampling)
    configs: ConfigBook = field(default_factory=ConfigBook)
    concurrency: int = 16
    """Most calls with a judge at one time."""
    tokens_per_hour: int | None = None
    """Token budget that thins the sample."""
    is_rescore: bool = False
    """Judge calls that are done again, and replace their scores."""
    has_comments: bool = False
    """Comment on answers that fail."""
    on_change: Callable[[Tally], None] = lambda tally: None
    """Called whenever the counts moved."""
    postpone: Callable[[ObservationRow, str], None] = lambda row, reason: None
    """Called with each call that is pending, and why."""
    put_off: Callable[[Iterable[CallKey]], set[CallKey]] = lambda keys: set()
    """Returns those of some calls that are not tried now."""
    references: ReferenceBook | None = None
    """Known good answers for calls that were recorded without one."""
    events: EvaluationEvents | None = None
    """Takes scores as OTel events, too."""
    on_judged: Callable[[float], None] = lambda seconds: None
    """Called with the seconds that the judge took for a call, a cached answer aside."""
    on_written: Callable[[Sequence[str]], None] = lambda ids: None
    """Called with the ids of scores that Langfuse accepted."""
    now: Callable[[], datetime] = utc_now
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    """Set from outside to take no further calls; those with the judge are finished."""


async def score_calls(
    api: LangfuseApi, judge: Judge, state: StateFile, *, query: CallQuery, options: ScoringOptions, tally: Tally
) -> None:
    """Score the calls that a query finds; doing it again changes nothing and judges nothing again.

    The counts are in `tally`, also when this raises. Calls that were not dealt with are counted as pending; scores
    that could not be sent are in the state file and go out first next time.

    Raises:
        BackendError: Langfuse could not be read or written to the end.
    """
    sampling = await thinned(
        api,
        state,
        sampling=options.sampling,
        query=query,
        tokens_per_hour=options.tokens_per_hour,
        now=options.now(),
    )
    run = _Run(api, judge, state, options=replace(options, sampling=sampling), tally=tally)
    with untraced():
        await run.score(run.reader.with_content(query))


async def score_again(
    api: LangfuseApi, judge: Judge, state: StateFile, *, retries: Sequence[Retry], options: ScoringOptions, tally: Tally
) -> None:
    """Score calls that were put off; otherwise as `score_calls`."""
    oldest = min(retry.started_at for retry in retries)
    sampling = with_thresholds(state, options.sampling, oldest)
    run = _Run(api, judge, state, options=replace(options, sampling=sampling), tally=tally)
    with untraced():
        await run.score(run.reader.again(retries))


async def score_rebuilt(
    api: LangfuseApi,
    judge: Judge,
    state: StateFile,
    *,
    batches: AsyncIterator[FetchedBatch],
    read_call: ReadCall,
    options: ScoringOptions,
    tally: Tally,
) -> None:
    """Score calls that are found and read in another way than rag-calls; otherwise as `score_calls`."""
    run = _Run(api, judge, state, options=options, tally=tally, read_call=read_call)
    with untraced():
        await run.score(batches)


def read_recorded(row: ObservationRow) -> RagCall:
    """Read a rag-call, and place what the application left to the scorer."""
    return complete_delivery(read_rag_call(row))


class _Run:
    """One pass over some calls: a reader, workers that judge, and a sender, side by side."""

    def __init__(
        self,
        api: LangfuseApi,
        judge: Judge,
        state: StateFile,
        *,
        options: ScoringOptions,
        tally: Tally,
        read_call: ReadCall = read_recorded,
    ) -> None:
        self._read_call = read_call
        self.reader = CallReader(
            api,
            state,
            sampling=options.sampling,
            tally=tally,
            is_rescore=options.is_rescore,
            put_off=options.put_off,
        )
        self._judge = judge
        self._options = options
        self._tally = tally
        self._sender = Sender(api, state, on_written=options.on_written)
        self._withdrawals = Withdrawals(api)
        self._remarks = Remarks(api)
        self._rows: asyncio.Queue[ObservationRow | None] = asyncio.Queue(maxsize=options.concurrency)
        self._judge_failures = 0
        self._failure: BackendError | None = None

    async def score(self, batches: AsyncIterator[FetchedBatch]) -> None:
        """Run to the end, or until it makes no sense to go on."""
        await self._sender.flush(self._tally)
        all_judged = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._send(all_judged))
            async with asyncio.TaskGroup() as judging:
                judging.create_task(self._read(batches))
                for _ in range(self._options.concurrency):
                    judging.create_task(self._work())
            all_judged.set()
        if self._options.events:
            await self._options.events.send()
        left = self._tally.sampled - self._tally.finished
        if self._tally.stopped_by:
            self._tally.pending[self._tally.stopped_by] += left
        else:
            # Nothing waits and nothing stopped us: a run beside ours, on the same state file, sent the rest.
            self._tally.already_scored += left
        self._options.on_change(self._tally)
        if self._failure:
            raise self._failure

    async def _read(self, batches: AsyncIterator[FetchedBatch]) -> None:
        try:
            async for batch in batches:
                for row, reason in _unscorable(batch):
                    self._mark(row, reason)
                for row in batch.missing:
                    self._note_pending(row, "incomplete_capture")
                for row in batch.rows:
                    await self._rows.put(row)
                if self._is_stopped():
                    break
        except BackendError as exc:
            self._stop(_UNAVAILABLE, exc)
        for _ in range(self._options.concurrency):
            await self._rows.put(None)

    async def _work(self) -> None:
        while (row := await self._rows.get()) is not None:
            if not self._is_stopped():
                about = f"call {row.id} of trace {row.trace_id}"
                is_through = await guarded(self._score(row), about=about)
                self._tally.failed += not is_through
            self.reader.release(key_of(row))
            self._options.on_change(self._tally)

    async def _score(self, row: ObservationRow) -> bool:
        """Judge one call and put its scores into the outbox; true when that is accounted for."""
        call = self._read_call(row)
        if self._options.references:
            call = self._options.references.complete(call)
        if is_own_call(call):
            self._tally.own_traffic += 1
            self._tally.sampled -= 1
            return True
        judged = await judge_call(call, self._judge, self._options.metrics)
        if judged.seconds is not None:
            self._options.on_judged(judged.seconds)
        if judged.verdicts:
            self._tally.count_judging(judged.verdicts)
        draw = self._options.sampling.draw(row)
        scores = make_scores(
            call, judged.results, verdicts=judged.verdicts, draw=draw, config_id=self._options.configs.id_for
        )
        if scores:
            self._judge_failures = 0
            self._sender.take(key_of(row), scores)
            self._add_events(call, judged)
            if self._options.has_comments:
                self._remarks.note(key_of(row), judged.results)
            if self._options.is_rescore:
                self._withdrawals.note(key_of(row), judged.results)
        else:
            self._note_failure(row, judged)
        return True

    def _add_events(self, call: RagCall, judged: JudgedCall) -> None:
        if self._options.events:
            fingerprint = judged.verdicts.judge.fingerprint if judged.verdicts else None
            self._options.events.add(call, judged.results, judge=fingerprint)

    def _note_failure(self, row: ObservationRow, judged: JudgedCall) -> None:
        outcome = judged.results[-1]
        reason = outcome.reason if isinstance(outcome, Unscored) else "judge_unavailable"
        self._note_pending(row, reason)
        self._tally.problem = judged.problem or self._tally.problem
        self._judge_failures += 1
        if self._judge_failures >= _GIVE_UP_AFTER:
            self._stop(reason)

    def _note_pending(self, row: ObservationRow, reason: str) -> None:
        self._tally.pending[reason] += 1
        self._options.postpone(row, reason)
        self.reader.release(key_of(row))

    def _mark(self, row: ObservationRow, reason: UnscoredReason) -> None:
        """Mark a call that cannot be had: Langfuse itself cannot hand it out, or it never became whole."""
        call = read_rag_call(row)
        found: list[Score | Unscored] = [Unscored(name=name, reason=reason) for name in self._options.metrics.all_names]
        draw = self._options.sampling.draw(row)
        scores = make_scores(
            call, [rag_outcome(found)], verdicts=None, draw=draw, config_id=self._options.configs.id_for
        )
        if scores:
            self._sender.take(key_of(row), scores)
        self.reader.release(key_of(row))

    async def _send(self, all_judged: asyncio.Event) -> None:
        """Send while others judge, and all that is left when they are through."""
        try:
            while not all_judged.is_set():
                with suppress(TimeoutError):
                    async with asyncio.timeout(_SEND_EVERY_SECONDS):
                        await all_judged.wait()
                await self._sender.send_some(self._tally)
                await self._withdrawals.carry_out(self._tally)
                await self._remarks.write()
                self._options.on_change(self._tally)
            await self._sender.flush(self._tally)
            await self._withdrawals.carry_out(self._tally)
            await self._remarks.write()
        except BackendError as exc:
            self._stop(_UNAVAILABLE, exc)

    def _is_stopped(self) -> bool:
        if self._options.stopping.is_set():
            self._stop("interrupted")
        return self._tally.stopped_by is not None

    def _stop(self, reason: str, failure: BackendError | None = None) -> None:
        self._tally.stopped_by = self._tally.stopped_by or reason
        self._failure = self._failure or failure


def _unscorable(batch: FetchedBatch) -> Iterator[tuple[ObservationRow, UnscoredReason]]:
    yield from ((row, "too_long") for row in batch.too_large)
    yield from ((row, "incomplete_capture") for row in batch.given_up)
