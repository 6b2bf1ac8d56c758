"""Metrics of the user's own: one function each, passed in or found by entry point, unable to spoil the others."""

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from importlib.metadata import entry_points
from math import isfinite

from ragtrace.errors import ConfigError
from ragtrace.metrics import METRICS
from ragtrace.model import RagCall, Score, Unscored, Verdicts
from ragtrace.semconv import RAG_OUTCOME

ENTRY_POINT_GROUP = "ragtrace.metrics"
OwnMetric = Callable[[RagCall, Verdicts | None], Score | Unscored | Awaitable[Score | Unscored]]
"""`verdicts` is None where the judge gave none. A plain function runs on a thread, several calls at a time."""

_log = logging.getLogger(__name__)


def load_own_metrics() -> dict[str, OwnMetric]:
    """Return the metrics that installed packages register under `ragtrace.metrics`, by score name.

    Raises:
        ConfigError: one cannot be imported, or takes the name of a metric of ours.
    """
    found: dict[str, OwnMetric] = {}
    for point in entry_points(group=ENTRY_POINT_GROUP):
        check_own_name(point.name)
        try:
            found[point.name] = point.load()
        except (ImportError, AttributeError) as exc:
            raise ConfigError(f"metric {point.name!r} ({point.value}) cannot be loaded: {exc}") from exc
    return found


def check_own_name(name: str) -> None:
    """Refuse a name that one of our scores has.

    Raises:
        ConfigError: it is taken.
    """
    if name in METRICS or name == RAG_OUTCOME:
        raise ConfigError(f"metric {name!r}: this name is ragtrace's own; choose another")


async def compute_own(
    call: RagCall, verdicts: Verdicts | None, metrics: Mapping[str, OwnMetric], *, timeout_seconds: float = 120.0
) -> tuple[Score | Unscored, ...]:
    """Return one result a metric.

    One that raises, takes longer than `timeout_seconds`, or returns no finite number is `metric_failed` and logged.
    """
    found: list[Score | Unscored] = []
    for name, metric in metrics.items():
        try:
            async with asyncio.timeout(timeout_seconds):
                result = await _result(metric, call, verdicts)
        except Exception as exc:  # noqa: BLE001 - the user's code: its fault must not cost the other scores
            _log.warning("Metric %s failed on call %s: %s: %s", name, call.id, type(exc).__name__, exc)
            found.append(Unscored(name=name, reason="metric_failed", detail=f"{type(exc).__name__}: {exc}"[:200]))
        else:
            found.append(_checked(name, result))
    return tuple(found)


async def _result(metric: OwnMetric, call: RagCall, verdicts: Verdicts | None) -> object:
    if inspect.iscoroutinefunction(metric):
        return await metric(call, verdicts)
    result = await asyncio.to_thread(metric, call, verdicts)
    return await result if inspect.isawaitable(result) else result


def _checked(name: str, result: object) -> Score | Unscored:
    if not isinstance(result, Score | Unscored):
        return Unscored(name=name, reason="metric_failed", detail=f"returned {type(result).__name__}, not a Score")
    if result.name != name:
        return Unscored(name=name, reason="metric_failed", detail=f"returned a score named {result.name!r}")
    if isinstance(result, Score) and not isinstance(result.value, str) and not isfinite(result.value):
        return Unscored(name=name, reason="metric_failed", detail=f"returned {result.value}")
    return result
