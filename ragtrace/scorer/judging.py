"""Judge one call and do the arithmetic."""

import logging
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from opentelemetry import context as otel_context
from opentelemetry.context import _SUPPRESS_INSTRUMENTATION_KEY

from ragtrace import metrics
from ragtrace.errors import JudgeError, JudgeRefused, JudgeReplyInvalid
from ragtrace.judge.base import Judge
from ragtrace.model import RagCall, Score, Unscored, Verdicts
from ragtrace.semconv import UnscoredReason

T = TypeVar("T")
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


async def judge_call(call: RagCall, judge: Judge, names: tuple[str, ...]) -> JudgedCall:
    """Ask the judge where one of the metrics needs it, and compute the metrics; a judge's failure is a value."""
    if not metrics.needs_judge(call, names=names):
        return JudgedCall(results=metrics.compute(call, None, names=names), verdicts=None)
    try:
        verdicts = await judge.judge(call)
    except JudgeError as exc:
        found = Unscored(name="judge", reason=_reason(exc), detail=str(exc))
        return JudgedCall(results=metrics.compute(call, found, names=names), verdicts=None, problem=str(exc))
    return JudgedCall(results=metrics.compute(call, verdicts, names=names), verdicts=verdicts)


async def guarded(work: Awaitable[T], *, about: str) -> T | None:
    """Do the work for one call; an error of ours, or of a user's metric, is logged and must not stop the others."""
    try:
        return await work
    except Exception:
        _logger.exception("%s could not be scored", about)
        return None


@contextmanager
def untraced() -> Iterator[None]:
    """Keep instrumentation of the judge's client quiet: a judge's requests are never captured."""
    quiet = otel_context.set_value("suppress_instrumentation", True)
    token = otel_context.attach(otel_context.set_value(_SUPPRESS_INSTRUMENTATION_KEY, True, quiet))
    try:
        yield
    finally:
        otel_context.detach(token)


def _reason(exc: JudgeError) -> UnscoredReason:
    if isinstance(exc, JudgeReplyInvalid):
        return "judge_reply_invalid"
    return "judge_refused" if isinstance(exc, JudgeRefused) else "judge_unavailable"
