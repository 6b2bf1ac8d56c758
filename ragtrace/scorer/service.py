"""What `ragtrace score --follow`, `--once` and `--backfill` do between their arguments and their output."""

import asyncio
import logging
import signal
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta

from ragtrace.errors import BackendError
from ragtrace.langfuse import CallQuery
from ragtrace.scorer.command import Opened, ScoreRequest, opened, score_all, scoring_options, summarise, with_configs
from ragtrace.scorer.endpoints import serving
from ragtrace.scorer.feedback import make_feedback_pass
from ragtrace.scorer.follow import Follower, Lookback, follow
from ragtrace.scorer.moments import utc_now
from ragtrace.scorer.rebuild import make_rebuilder
from ragtrace.scorer.summary import RunSummary
from ragtrace.scorer.tally import Tally
from ragtrace.scorer.totals import Totals
from ragtrace.settings import Settings

_SLICE = timedelta(hours=1)
STUCK_AFTER_SECONDS = 900.0
_LONGEST_CANCELLATION_SECONDS = 5.0
_logger = logging.getLogger(__name__)


async def run_follow(settings: Settings, request: ScoreRequest) -> None:
    """Score calls as they arrive, until SIGTERM or SIGINT; then finish what is with the judge, within a bound.

    Raises:
        ConfigError: a setting or an argument is wrong.
        BackendRejected: Langfuse refuses us.
    """
    totals, stopping = Totals(), asyncio.Event()
    async with opened(settings, metric_names=request.metric_names or ()) as parts:
        follower = await _follower(parts, settings, request, stopping, on_judged=totals.add_judged)

        def note(tally: Tally, error: BackendError | None) -> None:
            log_look(tally, error)
            connection = parts.api.connection
            totals.add(
                tally,
                is_complete=error is None and tally.stopped_by is None,
                lag_seconds=follower.lag().total_seconds(),
                requests=connection.requests,
                rate_limited=connection.rate_limited,
            )

        work = follow(follower, stopping=stopping, poll_seconds=settings.scorer_poll_seconds, on_look=note)
        stuck = max(STUCK_AFTER_SECONDS, 10 * settings.scorer_poll_seconds)
        async with serving(settings.scorer_listen, totals, stale_seconds=stuck):
            with stopped_by_signals(stopping):
                await until_drained(work, stopping, settings.scorer_drain_seconds)


async def run_once(
    settings: Settings, request: ScoreRequest, on_change: Callable[[Tally], None] = lambda tally: None
) -> RunSummary:
    """Take one look as `run_follow` does, and end: for cron.

    Raises:
        ConfigError: a setting or an argument is wrong.
        BackendError: Langfuse did not answer at all.
    """
    started, tally = time.monotonic(), Tally()
    async with opened(settings, metric_names=request.metric_names or ()) as parts:
        follower = await _follower(parts, settings, request, asyncio.Event(), on_change)
        return await summarise(follower.look(tally), tally, parts, window="since the last look", started=started)


async def run_backfill(
    settings: Settings, request: ScoreRequest, on_change: Callable[[Tally], None] = lambda tally: None
) -> RunSummary:
    """Score a long window hour by hour, oldest first; started again, it goes on where it ended.

    Raises:
        ConfigError: a setting or an argument is wrong.
        BackendError: Langfuse did not answer at all.
    """
    started, tally, now = time.monotonic(), Tally(), utc_now()
    whole = request.query(now)
    async with opened(settings, metric_names=request.metric_names or ()) as parts:
        options = await with_configs(parts.api, scoring_options(settings, request, on_change))
        name = f"backfill since {request.since} until {request.until}"
        since = max(whole.since or now, parts.state.position(name) or whole.since or now)

        async def work() -> None:
            for query in _slices(since, whole.until or now):
                await score_all(parts, settings, query=query, options=options, tally=tally)
                if tally.stopped_by or query.until is None:
                    return
                parts.state.move_position(name, query.until)

        return await summarise(work(), tally, parts, window=request.window(), started=started)


def _slices(since: datetime, until: datetime) -> Iterator[CallQuery]:
    while since < until:
        end = min(since + _SLICE, until)
        yield CallQuery(since=since, until=end)
        since = end


async def _follower(
    parts: Opened,
    settings: Settings,
    request: ScoreRequest,
    stopping: asyncio.Event,
    on_change: Callable[[Tally], None] = lambda tally: None,
    on_judged: Callable[[float], None] = lambda seconds: None,
) -> Follower:
    now = utc_now()
    options = await with_configs(parts.api, scoring_options(settings, request, on_change))
    first_since = request.query(now).since or now
    options = replace(options, stopping=stopping, on_judged=on_judged)
    rebuilder = make_rebuilder(settings, parts.api, parts.judge, parts.state, options)
    feedback = make_feedback_pass(
        settings, parts.api, parts.judge, parts.state, options=options, first_since=first_since
    )
    return Follower(
        parts.api,
        parts.judge,
        parts.state,
        options=options,
        passes=[further for further in (rebuilder, feedback) if further],
        lookback=lookback_of(settings),
        first_since=first_since,
    )


def lookback_of(settings: Settings) -> Lookback:
    """Return how far each look goes back."""
    return Lookback(
        overlap=timedelta(seconds=settings.scorer_overlap_seconds),
        late=timedelta(seconds=settings.scorer_late_seconds),
        sweep=timedelta(seconds=settings.scorer_sweep_seconds),
        longest_call=timedelta(seconds=settings.scorer_longest_call_seconds),
    )


def log_look(tally: Tally, error: BackendError | None) -> None:
    """Log what a look did, if it did anything."""
    counts = " ".join(f"{name}={value}" for name, value in tally.as_json().items() if value)
    if error or tally.problem:
        _logger.warning("look incomplete: %s; %s", error or tally.problem, counts)
    elif tally.scored or tally.unscored or tally.sent_later:
        _logger.info("look: %s", counts)


@contextmanager
def stopped_by_signals(stopping: asyncio.Event) -> Iterator[None]:
    """Set the event at SIGTERM and SIGINT."""
    loop = asyncio.get_running_loop()
    signals = (signal.SIGTERM, signal.SIGINT)
    for number in signals:
        loop.add_signal_handler(number, stopping.set)
    try:
        yield
    finally:
        for number in signals:
            loop.remove_signal_handler(number)


async def until_drained(work: Coroutine[None, None, None], stopping: asyncio.Event, drain_seconds: float) -> None:
    """Run until the work ends; once told to stop, it gets so long to do so. What is cut off is judged again later."""
    working, told = asyncio.create_task(work), asyncio.create_task(stopping.wait())
    try:
        await asyncio.wait({working, told}, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait({working}, timeout=drain_seconds)
        if working.done():
            await working
        else:
            _logger.warning("not finished %g s after the signal: the rest is judged next time", drain_seconds)
    finally:
        told.cancel()
        working.cancel()
        # A library that swallows a cancellation must not keep the process.
        await asyncio.wait({working, told}, timeout=_LONGEST_CANCELLATION_SECONDS)
