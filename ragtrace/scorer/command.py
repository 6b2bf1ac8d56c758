"""What `ragtrace score` does between its arguments and its output."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from ragtrace.errors import BackendError
from ragtrace.judge import make_judge
from ragtrace.langfuse import CallQuery, LangfuseApi, open_langfuse
from ragtrace.scorer.judging import choose_metrics, closing_judge
from ragtrace.scorer.moments import parse_moment
from ragtrace.scorer.preview import preview_calls
from ragtrace.scorer.reading import CallReader
from ragtrace.scorer.selection import Sampling
from ragtrace.scorer.state import StateFile
from ragtrace.scorer.summary import RunSummary
from ragtrace.scorer.tally import Tally
from ragtrace.scorer.window import ScoringOptions, score_calls
from ragtrace.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRequest:
    """What the user asked to be scored."""

    since: str = "24h"
    until: str | None = None
    trace_id: str | None = None
    metric_names: Sequence[str] | None = None
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


async def run_score(
    settings: Settings, request: ScoreRequest, on_change: Callable[[Tally], None] = lambda tally: None
) -> RunSummary:
    """Score what was asked for, and say what was done, also where it had to end early.

    Raises:
        ConfigError: a setting or an argument is wrong; nothing was started.
        BackendError: Langfuse did not answer at all.
    """
    options = ScoringOptions(
        metrics=choose_metrics(settings, request.metric_names),
        # A trace that was asked for by name is scored whatever the sample says.
        sampling=Sampling(rate=1.0 if request.trace_id else settings.sample_rate, salt=settings.sampling_salt),
        concurrency=settings.concurrency,
        is_rescore=request.is_rescore,
        on_change=on_change,
    )
    query = request.query(datetime.now(UTC))
    started, tally, error = time.monotonic(), Tally(), None
    async with open_langfuse(settings) as api, closing_judge(make_judge(settings)) as judge:
        await api.health()
        with StateFile(settings.state, project=project_key(api)) as state:
            try:
                if request.is_dry_run:
                    await _preview(api, state, query=query, settings=settings, options=options, tally=tally)
                else:
                    await score_calls(api, judge, state, query=query, options=options, tally=tally)
            except BackendError as exc:
                if not tally.listed:
                    raise
                error = str(exc)
        return RunSummary(
            tally=tally,
            seconds=time.monotonic() - started,
            judge=judge.model,
            window=request.window(),
            error=error or tally.problem,
        )


async def _preview(
    api: LangfuseApi, state: StateFile, *, query: CallQuery, settings: Settings, options: ScoringOptions, tally: Tally
) -> None:
    reader = CallReader(api, state, sampling=options.sampling, tally=tally, is_rescore=options.is_rescore)
    await preview_calls(reader, query, tally=tally, price=settings.prices.get(settings.judge_model or ""))


def project_key(api: LangfuseApi) -> str:
    """Name the project in the state file: what was done in one says nothing about another."""
    return f"{api.connection.base_url} {api.connection.public_key}"
