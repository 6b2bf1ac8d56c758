"""What a long-running scorer did since it was started: for OpenTelemetry's metrics and for Prometheus."""

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate

from opentelemetry import metrics as otel_metrics

from ragtrace.scorer.tally import Tally

_PREFIX = "ragtrace_scorer"
_SECONDS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0, 120.0)
"""Bounds of the buckets of judge latency."""


class Totals:
    """Adds up looks."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()
        self._gauges: dict[str, float] = {}
        self.last_look = time.monotonic()
        self.is_ready = False
        """The last look read Langfuse to the end."""
        self._judged = [0] * (len(_SECONDS) + 1)
        self._judged_seconds = 0.0
        meter = otel_metrics.get_meter("ragtrace")
        self._calls = meter.create_counter("ragtrace.scorer.calls", unit="{call}", description="Calls by outcome.")
        self._tokens = meter.create_counter("ragtrace.judge.tokens", unit="{token}", description="Judge tokens.")
        self._latency = meter.create_histogram(
            "ragtrace.judge.duration",
            unit="s",
            description="Time that the judge took for a call.",
            explicit_bucket_boundaries_advisory=_SECONDS,
        )
        self._limited = meter.create_counter(
            "ragtrace.scorer.rate_limited", unit="{answer}", description="Answers 429 of Langfuse."
        )
        self._pending = meter.create_gauge(
            "ragtrace.scorer.pending", unit="{call}", description="Calls that wait to be tried again."
        )
        self._lost = meter.create_counter(
            "ragtrace.scorer.lost_scores", unit="{score}", description="Accepted by Langfuse and not there afterwards."
        )
        self._lag = meter.create_gauge("ragtrace.scorer.lag", unit="s", description="Age of the last complete look.")

    def add(self, tally: Tally, *, is_complete: bool, lag_seconds: float, requests: int, rate_limited: int) -> None:
        """Add a look."""
        for outcome, count in _outcomes(tally):
            self._counts["calls_total", f'outcome="{outcome}"'] += count
            self._calls.add(count, {"outcome": outcome})
        for kind, count in (("prompt", tally.prompt_tokens), ("completion", tally.completion_tokens)):
            self._counts["judge_tokens_total", f'kind="{kind}"'] += count
            self._tokens.add(count, {"kind": kind})
        self._counts["judge_calls_total", ""] += tally.judge_calls
        self._counts["scores_written_total", ""] += tally.scores_written
        self._counts["scores_read_back_total", ""] += tally.read_back
        self._counts["scores_lost_total", ""] += tally.lost
        self._lost.add(tally.lost)
        self._limited.add(max(0, rate_limited - int(self._gauges.get("langfuse_rate_limited", 0))))
        self._gauges = {
            "lag_seconds": lag_seconds,
            "langfuse_requests": requests,
            "langfuse_rate_limited": rate_limited,
            "pending_calls": tally.pending.total() + tally.put_off,
        }
        self._lag.set(lag_seconds)
        self._pending.set(self._gauges["pending_calls"])
        self.is_ready = is_complete
        self.last_look = time.monotonic()

    def add_judged(self, seconds: float) -> None:
        """Add the time that the judge took for a call."""
        self._judged[bisect_left(_SECONDS, seconds)] += 1
        self._judged_seconds += seconds
        self._latency.record(seconds)

    def as_prometheus(self) -> str:
        """Return the counts in Prometheus' text format."""
        lines = [
            f"{_PREFIX}_{name}{{{labels}}} {count}" if labels else f"{_PREFIX}_{name} {count}"
            for (name, labels), count in sorted(self._counts.items())
        ]
        lines += [f"{_PREFIX}_{name} {value}" for name, value in sorted(self._gauges.items())]
        return "\n".join([*lines, *self._latency_lines()]) + "\n"

    def _latency_lines(self) -> Iterator[str]:
        name = f"{_PREFIX}_judge_seconds"
        for limit, count in zip((*map(str, _SECONDS), "+Inf"), accumulate(self._judged), strict=True):
            yield f'{name}_bucket{{le="{limit}"}} {count}'
        yield f"{name}_sum {self._judged_seconds}"
        yield f"{name}_count {sum(self._judged)}"


def _outcomes(tally: Tally) -> Iterator[tuple[str, int]]:
    yield "scored", tally.scored
    yield from tally.unscored.items()
    yield "refused", tally.refused
    yield "failed", tally.failed
