"""One call as the window lists it: its row, its scores, its outcome; and which of two is worse."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from ragtrace import semconv
from ragtrace.report.outcome import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRecord:
    """What is known of a call without reading its content."""

    trace_id: str
    observation_id: str
    started_at: datetime
    scores: Mapping[str, float] = field(default_factory=dict)
    """Numbers by metric."""
    units: Mapping[str, int] = field(default_factory=dict)
    """Claims, sentences or the like that each number stands on, by metric, where it is known."""
    comments: Mapping[str, str] = field(default_factory=dict)
    """What scores say of themselves, by metric."""
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Values by segment: `tag`, `model` and the like."""
    outcome: Outcome | None = None
    """None: no scorer came to it, or it was not sampled."""
    human_supported: bool | None = None
    """What a person answered: everything that the answer states is supported. None: nobody was asked."""
    review_probability: float | None = None
    """With which it was to be judged and put before people; None: `ragtrace review` did not choose it."""

    @property
    def probability(self) -> float:
        """Probability with which it came into the sample."""
        return self.outcome.inclusion_probability if self.outcome else 1.0

    @property
    def weight(self) -> float:
        """How many captured calls this one stands for."""
        return 1.0 / self.probability


def badness(record: CallRecord) -> tuple[float, float, float, float]:
    """Return a key that sorts the worst call first, and among equals the latest."""
    return (
        -record.scores.get(semconv.HALLUCINATION_RATE, 0.0),
        -record.scores.get(semconv.CONTRADICTION_RATE, 0.0),
        record.scores.get(semconv.CONTEXT_RECALL, 1.0),
        -record.started_at.timestamp(),
    )
