"""What `ragtrace score --follow --distributed` does between its arguments and its output."""

import asyncio
import math
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import timedelta
from typing import Literal

import redis
from taskiq import SendTaskError

from ragtrace.errors import BackendError, BackendUnavailable, ConfigError
from ragtrace.scorer.command import Opened, ScoreRequest, opened, project_key, scoring_options, with_configs
from ragtrace.scorer.distributed import (
    IN_THIS_PROCESS,
    Channel,
    Coordinator,
    Workplace,
    employ,
    make_channel,
    work_until,
)
from ragtrace.scorer.endpoints import serving
from ragtrace.scorer.feedback import make_feedback_pass
from ragtrace.scorer.follow import follow
from ragtrace.scorer.moments import utc_now
from ragtrace.scorer.service import STUCK_AFTER_SECONDS, log_look, lookback_of, stopped_by_signals, until_drained
from ragtrace.scorer.shared_state import SharedState, connect, key_prefix
from ragtrace.scorer.state import StateFile
from ragtrace.scorer.tally import Tally
from ragtrace.scorer.totals import Totals
from ragtrace.scorer.window import ScoringOptions
from ragtrace.settings import Settings

Role = Literal["coordinator", "worker", "both"]


async def run_distributed(settings: Settings, request: ScoreRequest, *, url: str, role: Role) -> None:
    """Score calls as they arrive, shared among processes, until SIGTERM or SIGINT; then finish what is in hand.

    Raises:
        ConfigError: a setting or an argument is wrong, or Redis does not answer.
        BackendRejected: Langfuse refuses us.
    """
    if settings.scorer_rebuild:
        raise ConfigError("RAGTRACE_SCORER_REBUILD: not with --distributed: run one scorer without it for such traces")
    if url == IN_THIS_PROCESS and role != "both":
        raise ConfigError(f"--role {role}: with --distributed {IN_THIS_PROCESS} there is one process: leave --role out")
    client = None if url == IN_THIS_PROCESS else connect(url)

    def open_shared(project: str) -> StateFile:
        return SharedState(client, project=project) if client else StateFile(settings.state, project=project)

    async with opened(settings, metric_names=request.metric_names or (), open_state=open_shared) as parts:

        def open_for_a_task() -> AbstractContextManager[StateFile]:
            return open_shared(project_key(parts.api)) if client else nullcontext(parts.state)

        await _run(_Process(settings, request, parts, url=url, open_state=open_for_a_task), role)


class _Process:
    """One process of the fleet: its parts, and what it counts."""

    def __init__(
        self,
        settings: Settings,
        request: ScoreRequest,
        parts: Opened,
        *,
        url: str,
        open_state: Callable[[], AbstractContextManager[StateFile]],
    ) -> None:
        self.settings, self.request, self.parts, self.open_state = settings, request, parts, open_state
        self.totals, self.stopping = Totals(), asyncio.Event()
        claim_after = timedelta(seconds=settings.scorer_claim_seconds)
        self.channel: Channel = make_channel(
            url, queue=f"{key_prefix(project_key(parts.api))}:tasks", claim_after=claim_after
        )
        self.lag: Callable[[], timedelta] = timedelta

    async def options(self) -> ScoringOptions:
        options = await with_configs(self.parts.api, scoring_options(self.settings, self.request, lambda tally: None))
        return replace(options, stopping=self.stopping, on_judged=self.totals.add_judged)

    def coordinate(self, options: ScoringOptions) -> Coroutine[None, None, None]:
        first_since = self.request.query(utc_now()).since or utc_now()
        feedback = make_feedback_pass(
            self.settings,
            self.parts.api,
            self.parts.judge,
            self.parts.state,
            options=options,
            first_since=first_since,
        )
        coordinator = Coordinator(
            self.parts.api,
            self.parts.judge,
            self.parts.state,
            channel=self.channel,
            options=options,
            lookback=lookback_of(self.settings),
            first_since=first_since,
            passes=[feedback] if feedback else [],
        )
        self.lag = coordinator.lag
        poll = self.settings.scorer_poll_seconds
        return follow(coordinator, stopping=self.stopping, poll_seconds=poll, on_look=self.note)

    def note(self, tally: Tally, error: BackendError | None) -> None:
        log_look(tally, error)
        connection = self.parts.api.connection
        self.totals.add(
            tally,
            is_complete=error is None and tally.stopped_by is None,
            lag_seconds=self.lag().total_seconds(),
            requests=connection.requests,
            rate_limited=connection.rate_limited,
        )


async def _run(process: _Process, role: Role) -> None:
    settings, broker = process.settings, process.channel.broker
    options = await process.options()
    work: list[Coroutine[None, None, None]] = []
    if role != "coordinator":
        place = Workplace(
            api=process.parts.api,
            judge=process.parts.judge,
            open_state=process.open_state,
            options=options,
            on_task=process.note,
        )
        employ(process.channel, place)
        work.append(work_until(process.channel, stopping=process.stopping, drain_seconds=settings.scorer_drain_seconds))
    if role != "worker":
        work.append(process.coordinate(options))
    # A worker takes no looks, and may wait for tasks as long as there are none.
    stuck = math.inf if role == "worker" else max(STUCK_AFTER_SECONDS, 10 * settings.scorer_poll_seconds)
    await broker.startup()
    try:
        async with serving(settings.scorer_listen, process.totals, stale_seconds=stuck):
            with stopped_by_signals(process.stopping):
                await until_drained(_all(work), process.stopping, settings.scorer_drain_seconds)
    finally:
        await broker.shutdown()


async def _all(work: list[Coroutine[None, None, None]]) -> None:
    """Do all of it; the first failure ends the rest.

    Raises:
        BackendError: Langfuse refuses us, or Redis stayed away.
    """
    try:
        async with asyncio.TaskGroup() as tasks:
            for one in work:
                tasks.create_task(one)
    except BaseExceptionGroup as group:
        failure = _first(group)
        if isinstance(failure, redis.RedisError | SendTaskError):
            cause = failure.__cause__ or failure
            raise BackendUnavailable(f"--distributed: Redis does not answer: {cause}") from failure
        raise failure from None


def _first(failure: BaseException) -> BaseException:
    while isinstance(failure, BaseExceptionGroup):
        failure = failure.exceptions[0]
    return failure
