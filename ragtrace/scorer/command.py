"""What `ragtrace score` does between its arguments and its output."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from ragtrace import metrics
from ragtrace.errors import BackendError
from ragtrace.judge import make_judge
from ragtrace.langfuse import CallQuery, LangfuseApi, open_langfuse
from ragtrace.scorer.moments import parse_moment
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
    metric_names: Sequence[str] = metrics.DEFAULT_METRICS
    is_rescore: bool = False

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
    names = metrics.check_names(request.metric_names)
    query = request.query(datetime.now(UTC))
    started, tally = time.monotonic(), Tally()
    judge = make_judge(settings)
    try:
        async with open_langfuse(settings) as api:
            await api.health()
            with StateFile(settings.state, project=project_key(api)) as state:
                options = ScoringOptions(
                    names=names,
                    # A trace that was asked for by name is scored whatever the sample says.
                    sampling=Sampling(
                        rate=1.0 if request.trace_id else settings.sample_rate, salt=settings.sampling_salt
                    ),
                    concurrency=settings.concurrency,
                    is_rescore=request.is_rescore,
                    on_change=on_change,
                )
                error = None
                try:
                    await score_calls(api, judge, state, query=query, options=options, tally=tally)
                except BackendError as exc:
                    if not tally.listed:
                        raise
                    error = str(exc)
    finally:
        await judge.aclose()
    return RunSummary(
        tally=tally,
        seconds=time.monotonic() - started,
        judge=judge.model,
        window=request.window(),
        error=error or tally.problem,
    )


def project_key(api: LangfuseApi) -> str:
    """Name the project in the state file: what was done in one says nothing about another."""
    return f"{api.connection.base_url} {api.connection.public_key}"
