"""Judge one call and do the arithmetic."""

import logging
import time
from collections.abc import AsyncIterator, Awaitable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from opentelemetry import context as otel_context
from opentelemetry.context import _SUPPRESS_INSTRUMENTATION_KEY

from ragtrace import metrics
from ragtrace.errors import JudgeError, JudgeOverBudget, JudgeRefused, JudgeReplyInvalid
from ragtrace.judge import Judge
from ragtrace.metrics.own import OwnMetric, check_own_name, compute_own, load_own_metrics
from ragtrace.model import RagCall, Score, Unscored, Verdicts
from ragtrace.semconv import PENDING_REASONS, RAG_OUTCOME, UnscoredReason
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
    seconds: float | None = None
    """How long the judge took, also where it gave none; None where it was not asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricChoice:
    """Which metrics are computed, and how."""

    names: tuple[str, ...] = metrics.DEFAULT_METRICS
    options: metrics.MetricOptions = field(default_factory=metrics.MetricOptions)
    own: Mapping[str, OwnMetric] = field(default_factory=dict)
    """The user's own metrics, by score name."""
    own_timeout_seconds: float = 120.0

    @property
    def all_names(self) -> tuple[str, ...]:
        """Names of ours and of the user's own."""
        return (*self.names, *self.own)

    def needs_judge(self, call: RagCall) -> bool:
        """Tell whether to ask the judge; metrics of the user's own get verdicts wherever a judge could give any."""
        return metrics.needs_judge(call, names=metrics.JUDGED_METRICS if self.own else self.names)

    async def compute_all(self, call: RagCall, verdicts: Verdicts | Unscored | None) -> tuple[Score | Unscored, ...]:
        """Return one result a metric, the user's own after ours, and `rag_outcome` last."""
        results = self.compute(call, verdicts)
        if not self.own:
            return results
        given = verdicts if isinstance(verdicts, Verdicts) else None
        own = await compute_own(call, given, self.own, timeout_seconds=self.own_timeout_seconds)
        ours = results[:-1]
        # Own metrics alone wait for the judge as ours do: without verdicts their numbers are not the ones wanted.
        if isinstance(verdicts, Unscored) and verdicts.reason in PENDING_REASONS:
            return (*ours, *own, verdicts)
        return (*ours, *own, metrics.rag_outcome(ours, own=own))

    def compute(self, call: RagCall, verdicts: Verdicts | Unscored | None) -> tuple[Score | Unscored, ...]:
        """Return one result a metric, and `rag_outcome` last."""
        return metrics.compute(call, verdicts, names=self.names, options=self.options)


def choose_metrics(
    settings: Settings, names: Iterable[str] | None, *, own: Mapping[str, OwnMetric] | None = None
) -> MetricChoice:
    """Return the metrics of these names, as the settings tune them.

    Args:
        settings: Cut-offs and limits.
        names: Of ours and of installed ones; None: the default ones and all that are installed.
        own: Metrics of the user's own beside those, whatever the names.

    Raises:
        ConfigError: a name is no metric, or the user's own metric has the name of one of ours.
    """
    wanted = None if names is None else tuple(names)
    passed = dict(own or {})
    for name in passed:
        check_own_name(name)
    ours = metrics.DEFAULT_METRICS if wanted is None else tuple(name for name in wanted if name not in passed)
    # What packages registered is imported only where it may be wanted: one that is broken spoils no other choice.
    is_installed_wanted = wanted is None or any(name not in metrics.METRICS for name in ours)
    installed = load_own_metrics() if is_installed_wanted else {}
    chosen = {name: metric for name, metric in installed.items() if wanted is None or name in ours}
    options = metrics.MetricOptions(
        k=settings.metrics_k,
        string_similarity=settings.metrics_string_similarity,
        undecided_limit=settings.metrics_undecided_limit,
    )
    return MetricChoice(
        names=metrics.check_names(name for name in ours if name not in chosen),
        options=options,
        own=chosen | passed,
        own_timeout_seconds=settings.judge_deadline_seconds,
    )


async def judge_call(call: RagCall, judge: Judge, choice: MetricChoice) -> JudgedCall:
    """Ask the judge where one of the metrics needs it, and compute the metrics; a judge's failure is a value."""
    if not choice.needs_judge(call):
        return JudgedCall(results=await choice.compute_all(call, None), verdicts=None)
    started = time.monotonic()
    try:
        verdicts = await judge.judge(call)
    except JudgeError as exc:
        reason = next(reason for kind, reason in _REASONS if isinstance(exc, kind))
        found = Unscored(name=RAG_OUTCOME, reason=reason, detail=str(exc))
        return JudgedCall(
            results=await choice.compute_all(call, found),
            verdicts=None,
            problem=str(exc),
            seconds=time.monotonic() - started,
        )
    seconds = None if verdicts.judge.cached else time.monotonic() - started
    return JudgedCall(results=await choice.compute_all(call, verdicts), verdicts=verdicts, seconds=seconds)


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
