"""What `ragtrace score` does between its arguments and its output."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from ragtrace.errors import BackendError
from ragtrace.judge import Judge, make_judge
from ragtrace.langfuse import CallQuery, LangfuseApi, open_langfuse
from ragtrace.metrics.own import OwnMetric
from ragtrace.otel.evaluation_events import make_events
from ragtrace.references.opening import open_references
from ragtrace.sampling.strata import Stratum
from ragtrace.scorer.config_book import open_config_book
from ragtrace.scorer.judging import choose_metrics, closing_judge
from ragtrace.scorer.moments import parse_moment
from ragtrace.scorer.preview import preview_calls
from ragtrace.scorer.reading import CallReader
from ragtrace.scorer.rebuild import make_rebuilder
from ragtrace.scorer.selection import Sampling
from ragtrace.scorer.slots import thinned
from ragtrace.scorer.state import StateFile
from ragtrace.scorer.summary import RunSummary
from ragtrace.scorer.tally import Tally
from ragtrace.scorer.versions import check_versions
from ragtrace.scorer.window import ScoringOptions, score_calls
from ragtrace.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRequest:
    """What the user asked to be scored."""

    since: str = "24h"
    until: str | None = None
    trace_id: str | None = None
    metric_names: Sequence[str] | None = None
    own_metrics: Mapping[str, OwnMetric] = field(default_factory=dict)
    """Metrics of the user's own, by score name."""
    is_rescore: bool = False
    is_dry_run: bool = False

    def query(self, now: datetime) -> CallQuery:
        """Return which calls are meant: one trace's, or those of a window."""
        if self.trace_id:
            return CallQuery(trace_id=self.trace_id)
        return CallQuery(
            since=parse_moment(self.since, option="--since", now=now),
            until=parse_moment(self.until, option="--until", now=now) if self.until else None,
        )

    def window(self) -> str:
        """Say which calls are meant."""
        if self.trace_id:
            return f"in trace {self.trace_id}"
        return f"since {self.since}" + (f" until {self.until}" if self.until else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """What a run works with."""

    api: LangfuseApi
    judge: Judge
    state: StateFile


@asynccontextmanager
async def opened(
    settings: Settings, *, metric_names: Iterable[str] = (), open_state: Callable[[str], StateFile] | None = None
) -> AsyncIterator[Opened]:
    """Open Langfuse, judge and state file, and close them again; Langfuse has answered when the block begins.

    Args:
        settings: Where they are.
        metric_names: Scores that will be computed; some are asked for only then.
        open_state: Opens the state of a project that it is given the name of; None: the state file.

    Raises:
        ConfigError: a setting is wrong.
        BackendError: Langfuse does not answer, or is too old.
    """
    judge_made = make_judge(settings, metrics=metric_names)
    async with open_langfuse(settings) as api, closing_judge(judge_made) as judge:
        check_versions((await api.health()).version)
        project = project_key(api)
        with open_state(project) if open_state else StateFile(settings.state, project=project) as state:
            yield Opened(api=api, judge=judge, state=state)


def scoring_options(settings: Settings, request: ScoreRequest, on_change: Callable[[Tally], None]) -> ScoringOptions:
    """Return how to score, as settings and arguments say.

    Raises:
        ConfigError: a metric's name is wrong.
    """
    return ScoringOptions(
        metrics=choose_metrics(settings, request.metric_names, own=request.own_metrics),
        sampling=_sampling(settings, request),
        tokens_per_hour=None if request.trace_id else settings.sampling_tokens_per_hour,
        concurrency=settings.concurrency,
        is_rescore=request.is_rescore,
        has_comments=settings.scorer_comments,
        on_change=on_change,
        references=open_references(settings),
        events=make_events(settings),
    )


async def with_configs(api: LangfuseApi, options: ScoringOptions) -> ScoringOptions:
    """Return the options with the score configs of their metrics, created where there are none."""
    return replace(options, configs=await open_config_book(api, options.metrics.names))


def _sampling(settings: Settings, request: ScoreRequest) -> Sampling:
    """A trace that was asked for by name is scored whatever the sample says."""
    if request.trace_id:
        return Sampling()
    strata = tuple(Stratum(name=name, **dict(stratum)) for name, stratum in settings.strata.items())
    return Sampling(rate=settings.sample_rate, salt=settings.sampling_salt, strata=strata)


async def run_score(
    settings: Settings, request: ScoreRequest, on_change: Callable[[Tally], None] = lambda tally: None
) -> RunSummary:
    """Score what was asked for, and say what was done, also where it had to end early.

    Raises:
        ConfigError: a setting or an argument is wrong; nothing was started.
        BackendError: Langfuse did not answer at all.
    """
    options, query = scoring_options(settings, request, on_change), request.query(datetime.now(UTC))
    started, tally = time.monotonic(), Tally()
    async with opened(settings, metric_names=request.metric_names or ()) as parts:
        if request.is_dry_run:
            work = _preview(parts, query=query, settings=settings, options=options, tally=tally)
        else:
            options = await with_configs(parts.api, options)
            work = score_all(parts, settings, query=query, options=options, tally=tally)
        return await summarise(work, tally, parts, window=request.window(), started=started)


async def score_all(
    parts: Opened, settings: Settings, *, query: CallQuery, options: ScoringOptions, tally: Tally
) -> None:
    """Score the rag-calls of a window and, where the settings ask for it, its traces that have none."""
    await score_calls(parts.api, parts.judge, parts.state, query=query, options=options, tally=tally)
    rebuilder = make_rebuilder(settings, parts.api, parts.judge, parts.state, options)
    if rebuilder and not tally.stopped_by:
        await rebuilder.look(query, tally)


async def summarise(work: Awaitable[None], tally: Tally, parts: Opened, *, window: str, started: float) -> RunSummary:
    """Wait for the work and say what it did; an error after the first listing is a part of that."""
    error = None
    try:
        await work
    except BackendError as exc:
        if not tally.listed:
            raise
        error = str(exc)
    return RunSummary(
        tally=tally,
        seconds=time.monotonic() - started,
        judge=parts.judge.model,
        window=window,
        error=error or tally.problem,
    )


async def _preview(
    parts: Opened, *, query: CallQuery, settings: Settings, options: ScoringOptions, tally: Tally
) -> None:
    sampling = await thinned(
        parts.api,
        parts.state,
        sampling=options.sampling,
        query=query,
        tokens_per_hour=options.tokens_per_hour,
        now=options.now(),
    )
    reader = CallReader(parts.api, parts.state, sampling=sampling, tally=tally, is_rescore=options.is_rescore)
    await preview_calls(reader, query, tally=tally, model=settings.judge_model, prices=settings.prices)


def project_key(api: LangfuseApi) -> str:
    """Name the project in the state file: what was done in one says nothing about another."""
    return f"{api.connection.base_url} {api.connection.public_key}"
