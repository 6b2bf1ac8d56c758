"""Score on many machines: a coordinator lists and samples, any number of workers judge and write, Redis between them.

A task is a list of calls. It is acknowledged when the scores of all of them are written, so that what a killed worker
held is claimed by another; and a call that was handed out counts as put off, so that the coordinator hands it out again
should its task be lost altogether. Doing a call twice is harmless: ids of scores are deterministic.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Annotated

import redis
from redis.asyncio.retry import Retry as Reconnect
from taskiq import AsyncBroker, Context, InMemoryBroker, TaskiqDepends
from taskiq.acks import AcknowledgeType
from taskiq.kicker import AsyncKicker
from taskiq.receiver import Receiver
from taskiq_redis import RedisStreamBroker

from ragtrace.errors import BackendError
from ragtrace.extract import ObservationRow
from ragtrace.judge import Judge
from ragtrace.langfuse import CallQuery, LangfuseApi
from ragtrace.scorer.follow import Follower, Lookback, Pass
from ragtrace.scorer.read_back import ReadBack
from ragtrace.scorer.reading import CallReader, key_of
from ragtrace.scorer.sender import Sender
from ragtrace.scorer.shared_state import RECONNECTS, RECONNECTS_AFTER
from ragtrace.scorer.slots import thinned
from ragtrace.scorer.state import CallKey, Retry, StateFile
from ragtrace.scorer.tally import Tally
from ragtrace.scorer.window import ScoringOptions, score_again

WireCall = tuple[str, str, str]
"""Trace id, observation id, and the start in ISO format."""
IN_THIS_PROCESS = "memory://"
_TASK = "ragtrace.score"
_ROUNDS_A_TASK = 4
"""Calls a task for each call in flight: fetching and writing are shared by so many rounds of judging."""
_CLAIMED_AT_ONCE = 4
_LONGEST_STREAM = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Workplace:
    """What a worker works with."""

    api: LangfuseApi
    judge: Judge
    open_state: Callable[[], AbstractContextManager[StateFile]]
    """Opens the state for the time of one task."""
    options: ScoringOptions
    on_task: Callable[[Tally, BackendError | None], None]
    """Called with the counts of each task."""
    read_back: ReadBack = field(default_factory=ReadBack)


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """The way from the coordinator to the workers."""

    broker: AsyncBroker
    claim_after: timedelta
    """A task that is not acknowledged for so long is taken over; a lost one is sent again after this and a pause."""

    async def send(self, calls: list[WireCall]) -> None:
        """Hand calls out as one task."""
        kicker: AsyncKicker[[list[WireCall]], None] = AsyncKicker(_TASK, self.broker, {})
        await kicker.kiq(calls)


def make_channel(url: str, *, queue: str, claim_after: timedelta) -> Channel:
    """Return the way from the coordinator to the workers.

    Args:
        url: `redis://…`, or `memory://` for coordinator and worker in one process.
        queue: The stream's name; one a project.
        claim_after: Longer than any task takes.
    """
    if url == IN_THIS_PROCESS:
        return Channel(broker=InMemoryBroker(await_inplace=True), claim_after=claim_after)
    broker = RedisStreamBroker(
        url,
        queue_name=queue,
        consumer_group_name="ragtrace-workers",
        consumer_id="0",
        # A worker that reads ahead keeps others from the work.
        xread_count=1,
        xread_block=1000,
        idle_timeout=round(claim_after.total_seconds() * 1000),
        unacknowledged_batch_size=_CLAIMED_AT_ONCE,
        unacknowledged_lock_timeout=10.0,
        # Finished tasks stay in a stream until it is trimmed; one that is trimmed too early is sent again.
        maxlen=_LONGEST_STREAM,
        retry=Reconnect(RECONNECTS_AFTER, RECONNECTS),
        retry_on_error=[redis.ConnectionError],
    )
    return Channel(broker=broker, claim_after=claim_after)


class Coordinator(Follower):
    """Looks as a follower does, and hands out what it finds instead of judging it."""

    def __init__(
        self,
        api: LangfuseApi,
        judge: Judge,
        state: StateFile,
        *,
        channel: Channel,
        options: ScoringOptions,
        lookback: Lookback,
        first_since: datetime,
        passes: Sequence[Pass] = (),
    ) -> None:
        super().__init__(
            api,
            judge,
            state,
            options=options,
            lookback=lookback,
            first_since=first_since,
            passes=passes,
            now=options.now,
        )
        self._channel = channel

    async def _take_new(self, query: CallQuery, tally: Tally) -> None:
        options = self._options
        sampling = await thinned(
            self._api,
            self._state,
            sampling=options.sampling,
            query=query,
            tokens_per_hour=options.tokens_per_hour,
            now=self._now(),
        )
        reader = CallReader(
            self._api,
            self._state,
            sampling=sampling,
            tally=tally,
            is_rescore=options.is_rescore,
            put_off=self._state.postponed,
        )
        async for rows in reader.open_calls(query):
            await self._hand_out([Retry(key=key_of(row), started_at=row.start_time, tries=0) for row in rows], tally)
            if options.stopping.is_set():
                tally.stopped_by = "interrupted"
                return
        # A worker looks for work to take over only after it was given some.
        await self._channel.send([])

    async def _take_due(self, due: Sequence[Retry], tally: Tally) -> None:
        tally.listed += len(due)
        tally.sampled += len(due)
        await self._hand_out(due, tally)

    async def _hand_out(self, calls: Sequence[Retry], tally: Tally) -> None:
        for some in _chunks(calls, self._options.concurrency * _ROUNDS_A_TASK):
            for call in some:
                self._state.postpone(
                    call.key,
                    started_at=call.started_at,
                    reason="handed_out",
                    now=self._now() + self._channel.claim_after,
                )
            tally.pending["handed_out"] += len(some)
            await self._channel.send([(*call.key, call.started_at.isoformat()) for call in some])


def employ(channel: Channel, place: Workplace) -> None:
    """Let a process that listens to the broker do the tasks."""

    @channel.broker.task(task_name=_TASK)
    async def score(calls: list[WireCall], context: Annotated[Context, TaskiqDepends()]) -> None:
        if await _work(place, [_retry(call) for call in calls]) and context.is_ackable:
            await context.ack()


async def work_until(channel: Channel, *, stopping: asyncio.Event, drain_seconds: float) -> None:
    """Take one task after the other until told to stop; then finish the one in hand, within a bound."""
    if isinstance(channel.broker, InMemoryBroker):
        return  # Its tasks run where they are sent.
    with ThreadPoolExecutor(max_workers=1) as unused:
        receiver = Receiver(
            channel.broker,
            unused,
            max_async_tasks=1,
            ack_type=AcknowledgeType.MANUAL,
            wait_tasks_timeout=drain_seconds,
        )
        await receiver.listen(stopping)


async def _work(place: Workplace, calls: Sequence[Retry]) -> bool:
    """Score calls; true when nothing of them is left to others but what is noted to be tried again."""
    tally, error = Tally(), None
    with place.open_state() as state:
        known = state.known(call.key for call in calls)
        left = [call for call in calls if call.key not in known or place.options.is_rescore]

        def postpone(row: ObservationRow, reason: str) -> None:
            state.postpone(key_of(row), started_at=row.start_time, reason=reason, now=place.options.now())

        def note_written(score_ids: Sequence[str]) -> None:
            place.read_back.note(score_ids, place.options.now())

        try:
            options = replace(place.options, postpone=postpone, on_written=note_written)
            if left:
                await score_again(place.api, place.judge, state, retries=left, options=options, tally=tally)
            else:
                # Without Redis the outbox outlives a task, and may hold what an earlier one could not write.
                await Sender(place.api, state, on_written=note_written).flush(tally)
            await place.read_back.check(place.api, now=place.options.now(), tally=tally)
        except BackendError as exc:
            error = exc
    place.on_task(tally, error)
    return error is None and tally.stopped_by is None


def _retry(call: WireCall) -> Retry:
    trace_id, observation_id, started = call
    key: CallKey = (trace_id, observation_id)
    return Retry(key=key, started_at=datetime.fromisoformat(started), tries=0)


def _chunks(calls: Sequence[Retry], size: int) -> Iterator[Sequence[Retry]]:
    yield from (calls[start : start + size] for start in range(0, len(calls), size))
