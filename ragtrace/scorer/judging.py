"""Judge one call and do the arithmetic."""

import logging
from collections.abc import AsyncIterator, Awaitable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from opentelemetry import context as otel_context
from opentelemetry.context import _SUPPRESS_INSTRUMENTATION_KEY

from ragtrace import metrics
from ragtrace.errors import JudgeError, JudgeOverBudget, JudgeRefused, JudgeReplyInvalid
from ragtrace.judge import Judge
from ragtrace.model import RagCall, Score, Unscored, Verdicts
from ragtrace.semconv import RAG_OUTCOME, UnscoredReason
from ragtrace.settings import Settings

T = TypeVar("T")
_REASONS: tuple[tuple[type[JudgeError], UnscoredReason], ...] = (
    (JudgeOverBudget, "over_budget"),
    (JudgeReplyInvalid, "judge_reply_invalid"),
    (JudgeRefused, "judge_refused"),
    (JudgeError, "judge_unavailable"),
)
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedCall:
    """What came out for one call."""

    results: tuple[Score | Unscored, ...]
    """One a metric, `rag_outcome` last."""
    verdicts: Verdicts | None
    """None where the judge was not asked or gave none."""
    problem: str | None = None
    """Why the judge gave none, for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricChoice:
    """Which metrics are computed, and how."""

    names: tuple[str, ...] = metrics.DEFAULT_METRICS
    options: metrics.MetricOptions = field(default_factory=metrics.MetricOptions)

    def compute(self, call: RagCall, verdicts: Verdicts | Unscored | None) -> tuple[Score | Unscored, ...]:
        """Return one result a metric, and `rag_outcome` last."""
        return metrics.compute(call, verdicts, names=self.names, options=self.options)


def choose_metrics(settings: Settings, names: Iterable[str] | None) -> MetricChoice:
    """Return the metrics of these names (None: the default ones), as the settings tune them.

    Raises:
        ConfigError: a name is no metric.
    """
    options = metrics.MetricOptions(
        k=settings.metrics_k,
        string_similarity=settings.metrics_string_similarity,
        undecided_limit=settings.metrics_undecided_limit,
    )
    return MetricChoice(names=metrics.check_names(metrics.DEFAULT_METRICS if names is None else names), options=options)


async def judge_call(call: RagCall, judge: Judge, choice: MetricChoice) -> JudgedCall:
    """Ask the judge where one of the metrics needs it, and compute the metrics; a judge's failure is a value."""
    if not metrics.needs_judge(call, names=choice.names):
        return JudgedCall(results=choice.compute(call, None), verdicts=None)
    try:
        verdicts = await judge.judge(call)
    except JudgeError as exc:
        reason = next(reason for kind, reason in _REASONS if isinstance(exc, kind))
        found = Unscored(name=RAG_OUTCOME, reason=reason, detail=str(exc))
        return JudgedCall(results=choice.compute(call, found), verdicts=None, problem=str(exc))
    return JudgedCall(results=choice.compute(call, verdicts), verdicts=verdicts)


async def guarded(work: Awaitable[T], *, about: str) -> T | None:
    """Do the work for one call; an error of ours, or of a user's metric, is logged and must not stop the others."""
    try:
        return await work
    except Exception:
        _logger.exception("%s could not be scored", about)
        return None


@asynccontextmanager
async def closing_judge(judge: Judge) -> AsyncIterator[Judge]:
    """Close a judge at the end of the block."""
    try:
        yield judge
    finally:
        await judge.aclose()


@contextmanager
def untraced() -> Iterator[None]:
    """Keep instrumentation of the judge's client quiet: a judge's requests are never captured."""
    quiet = otel_context.set_value("suppress_instrumentation", True)
    token = otel_context.attach(otel_context.set_value(_SUPPRESS_INSTRUMENTATION_KEY, True, quiet))
    try:
        yield
    finally:
        otel_context.detach(token)
