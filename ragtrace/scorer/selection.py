"""Decide which listed calls are judged: not a judge's own, and in the sample."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from ragtrace.extract import ObservationRow, json_text
from ragtrace.judge.prompt import is_judge_text
from ragtrace.model import RagCall
from ragtrace.sampling import position
from ragtrace.sampling.budget import slot_of
from ragtrace.sampling.strata import CallFacts, Stratum, choose_stratum
from ragtrace.semconv import (
    JUDGE_MARK,
    META_ANSWER_LENGTH,
    META_CAPTURE_PROBABILITY,
    META_MARKS,
    META_PASSAGES_RECEIVED,
    META_PASSAGES_RETRIEVED,
    SCORER_ENVIRONMENT,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """How a call is drawn."""

    probability: float
    """That it is captured and judged: capture rate times stratum's rate times the budget's threshold."""
    stratum: str | None
    """The kind of call whose rate it has; None: the general rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Which share of the captured calls is judged."""

    rate: float = 1.0
    """Of calls that are of no stratum."""
    salt: str = ""
    """As in the application, so that both draw from the same hash."""
    strata: tuple[Stratum, ...] = ()
    thresholds: Mapping[datetime, float] = field(default_factory=dict)
    """What a token budget leaves of the sample, by the start of the slot; a slot that is not here is whole."""

    def draw(self, row: ObservationRow) -> Draw:
        """Return the probability that a call is captured and judged."""
        stratum = choose_stratum(self.strata, facts_of(row)) if self.strata else None
        rate = self.share(stratum) * self.thresholds.get(slot_of(row.start_time), 1.0)
        return Draw(probability=capture_probability(row) * rate, stratum=stratum.name if stratum else None)

    def share(self, stratum: Stratum | None) -> float:
        """Return the rate of a kind of calls."""
        return stratum.rate if stratum else self.rate

    def holds(self, row: ObservationRow) -> bool:
        """Tell whether a call is in the sample, the same answer in every process.

        Capture kept the ids below its own rate, so the sample is the ids below the product of all rates.
        """
        return position(row.trace_id, self.salt) < self.draw(row).probability


def capture_probability(row: ObservationRow) -> float:
    """Return the probability that the application captured this call at all."""
    stated = _number(row, META_CAPTURE_PROBABILITY)
    return stated if stated is not None and 0 < stated <= 1 else 1.0


def facts_of(row: ObservationRow) -> CallFacts:
    """Return what a listing tells of a call."""
    retrieved, received = _number(row, META_PASSAGES_RETRIEVED), _number(row, META_PASSAGES_RECEIVED)
    answer_length = _number(row, META_ANSWER_LENGTH)
    return CallFacts(
        trace_name=row.trace_name,
        tags=row.tags,
        environment=row.environment,
        is_error=row.level == "ERROR",
        latency_seconds=(row.end_time - row.start_time).total_seconds() if row.end_time else None,
        delivery=received / retrieved if retrieved and received is not None else None,
        answer_characters=None if answer_length is None else int(answer_length),
        marks=json_text.as_strings(json_text.metadata_value(row.metadata, META_MARKS)),
    )


def is_own_row(row: ObservationRow) -> bool:
    """Tell by its labels whether an observation is a judge's own work."""
    return row.environment == SCORER_ENVIRONMENT or JUDGE_MARK in row.tags or JUDGE_MARK in row.metadata


def is_own_call(call: RagCall) -> bool:
    """Tell by its content whether a call is a judge's own work: the last check, where labels were lost."""
    if call.environment == SCORER_ENVIRONMENT or JUDGE_MARK in call.tags:
        return True
    return is_judge_text(call.question) or any(is_judge_text(piece.text) for piece in call.prompt_rest)


def _number(row: ObservationRow, key: str) -> float | None:
    return json_text.as_number(json_text.metadata_value(row.metadata, key))
