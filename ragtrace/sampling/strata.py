"""Sample some kinds of calls at rates of their own."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFacts:
    """What is known of a call without its content."""

    trace_name: str | None = None
    tags: tuple[str, ...] = ()
    environment: str | None = None
    is_error: bool = False
    latency_seconds: float | None = None
    delivery: float | None = None
    """Share of the retrieved passages that were received at least in part, 0-1."""
    answer_characters: int | None = None
    marks: tuple[str, ...] = ()
    """Suspicions of capture."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stratum:
    """A kind of calls and its rate; a call is of it when every condition that is set holds."""

    name: str
    rate: float
    trace_names: tuple[str, ...] = ()
    """Any of these."""
    tags: tuple[str, ...] = ()
    """Any of these."""
    environments: tuple[str, ...] = ()
    """Any of these."""
    marks: tuple[str, ...] = ()
    """Any of these."""
    is_error: bool | None = None
    latency_over_seconds: float | None = None
    delivery_below: float | None = None
    answer_over_characters: int | None = None
    answer_under_characters: int | None = None

    def holds(self, facts: CallFacts) -> bool:
        """Tell whether a call is of this kind; what is not known of a call is not so."""
        return all(
            (
                not self.trace_names or facts.trace_name in self.trace_names,
                not self.tags or not set(self.tags).isdisjoint(facts.tags),
                not self.environments or facts.environment in self.environments,
                not self.marks or not set(self.marks).isdisjoint(facts.marks),
                self.is_error is None or facts.is_error == self.is_error,
                _is_over(facts.latency_seconds, self.latency_over_seconds),
                _is_under(facts.delivery, self.delivery_below),
                _is_over(facts.answer_characters, self.answer_over_characters),
                _is_under(facts.answer_characters, self.answer_under_characters),
            )
        )


def choose_stratum(strata: Sequence[Stratum], facts: CallFacts) -> Stratum | None:
    """Return the kind with the highest rate that a call is of; the first of equals.

    All kinds draw from the same hash, so a call that is of several is taken exactly when the highest rate takes it.
    """
    return max((stratum for stratum in strata if stratum.holds(facts)), key=lambda s: s.rate, default=None)


def _is_over(value: float | None, limit: float | None) -> bool:
    return limit is None or (value is not None and value > limit)


def _is_under(value: float | None, limit: float | None) -> bool:
    return limit is None or (value is not None and value < limit)
