"""Decide which listed calls are judged: not a judge's own, in the sample, not done yet."""

from dataclasses import dataclass

from ragtrace import sampling
from ragtrace.extract import ObservationRow, json_text
from ragtrace.judge.prompt import is_judge_text
from ragtrace.model import RagCall
from ragtrace.semconv import JUDGE_MARK, META_CAPTURE_PROBABILITY, SCORER_ENVIRONMENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Which share of the captured calls is judged."""

    rate: float = 1.0
    salt: str = ""
    """As in the application, so that both draw from the same hash."""

    def probability(self, capture_probability: float) -> float:
        """Return the probability that a call is captured and judged."""
        return capture_probability * self.rate

    def holds(self, row: ObservationRow) -> bool:
        """Tell whether a call is in the sample, the same answer in every process.

        Capture kept the ids below its own rate, so the sample is the ids below the product of both.
        """
        threshold = self.probability(capture_probability(row))
        return sampling.is_sampled(row.trace_id, threshold, salt=self.salt)


def capture_probability(row: ObservationRow) -> float:
    """Return the probability that the application captured this call at all."""
    stated = json_text.as_number(json_text.metadata_value(row.metadata, META_CAPTURE_PROBABILITY))
    return stated if stated is not None and 0 < stated <= 1 else 1.0


def is_own_row(row: ObservationRow) -> bool:
    """Tell by its labels whether an observation is a judge's own work."""
    return row.environment == SCORER_ENVIRONMENT or JUDGE_MARK in row.tags or JUDGE_MARK in row.metadata


def is_own_call(call: RagCall) -> bool:
    """Tell by its content whether a call is a judge's own work: the last check, where labels were lost."""
    if call.environment == SCORER_ENVIRONMENT or JUDGE_MARK in call.tags:
        return True
    return is_judge_text(call.question) or any(is_judge_text(piece.text) for piece in call.prompt_rest)
