"""What a long-running scorer did since it was started: for OpenTelemetry's metrics and for Prometheus."""

import time
from collections import Counter
from collections.abc import Iterator

from opentelemetry import metrics as otel_metrics

from ragtrace.scorer.tally import Tally

_PREFIX = "ragtrace_scorer"


class Totals:
    """Adds up looks."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()
        self._gauges: dict[str, float] = {}
        self.last_look = time.monotonic()
        self.is_ready = False
        """The last look read Langfuse to the end."""
        meter = otel_metrics.get_meter("ragtrace")
        self._calls = meter.create_counter("ragtrace.scorer.calls", unit="{call}", description="Calls by outcome.")
        self._tokens = meter.create_counter("ragtrace.judge.tokens", unit="{token}", description="Judge tokens.")
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
        self._gauges = {
            "lag_seconds": lag_seconds,
            "langfuse_requests": requests,
            "langfuse_rate_limited": rate_limited,
            "pending_calls": tally.pending.total() + tally.put_off,
        }
        self._lag.set(lag_seconds)
        self.is_ready = is_complete
        self.last_look = time.monotonic()

    def as_prometheus(self) -> str:
        """Return the counts in Prometheus' text format."""
        lines = [
            f"{_PREFIX}_{name}{{{labels}}} {count}" if labels else f"{_PREFIX}_{name} {count}"
            for (name, labels), count in sorted(self._counts.items())
        ]
        lines += [f"{_PREFIX}_{name} {value}" for name, value in sorted(self._gauges.items())]
        return "\n".join(lines) + "\n"


def _outcomes(tally: Tally) -> Iterator[tuple[str, int]]:
    yield "scored", tally.scored
    yield from tally.unscored.items()
    yield "refused", tally.refused
    yield "failed", tally.failed
