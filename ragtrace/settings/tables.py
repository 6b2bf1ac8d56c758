"""The tables of `ragtrace.toml` that are not single values."""

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Price(BaseModel):
    """What a model costs, in one currency, per million tokens."""

    model_config = ConfigDict(extra="forbid")

    prompt: float = Field(ge=0)
    completion: float = Field(ge=0)


class StratumSettings(BaseModel):
    """A kind of calls that is sampled at a rate of its own: `[strata.NAME]`; all conditions that are set must hold."""

    model_config = ConfigDict(extra="forbid")

    rate: float = Field(ge=0, le=1)
    trace_names: tuple[str, ...] = ()
    """Any of these."""
    tags: tuple[str, ...] = ()
    """Any of these."""
    environments: tuple[str, ...] = ()
    """Any of these."""
    marks: tuple[str, ...] = ()
    """Any of these suspicions of capture."""
    is_error: bool | None = None
    latency_over_seconds: float | None = Field(default=None, ge=0)
    delivery_below: float | None = Field(default=None, ge=0, le=1)
    """Share of retrieved passages of which something was received."""
    answer_over_characters: int | None = Field(default=None, ge=0)
    answer_under_characters: int | None = Field(default=None, ge=0)


class FeedbackSettings(BaseModel):
    """Feedback of users that makes calls worth judging: `[feedback.NAME]`; all conditions that are set must hold."""

    model_config = ConfigDict(extra="forbid")

    rate: float = Field(ge=0, le=1)
    score: str
    """Name of the score that users give."""
    values: tuple[str, ...] = ()
    """Any of these categories."""
    below: float | None = None
    above: float | None = None


class AlarmSettings(BaseModel):
    """When to raise an alarm: `[alarms.NAME]`, with one of `above`, `below` and `change`."""

    model_config = ConfigDict(extra="forbid")

    metric: str
    above: float | None = None
    """Raise it when the rate is above this for certain enough: its whole interval is."""
    below: float | None = None
    """The same, below."""
    change: Literal["rise", "fall"] | None = None
    """Raise it when the rate has left what it was in the time before the window; metrics in 0-1 only."""
    window: str = "24h"
    """The calls that are looked at: so long ago until now."""
    baseline: str = "7d"
    """For `change`: how long the time before the window is that says what is usual."""
    calls_per_false_alarm: float = Field(default=10_000, ge=100)
    """For `change`: judged calls to a false alarm, on average at least."""
    environment: str | None = None
    release: str | None = None
    model: str | None = None
    name: str | None = None
    """Name of the trace."""
    tag: str | None = None

    @model_validator(mode="after")
    def _has_one_condition(self) -> Self:
        if sum(given is not None for given in (self.above, self.below, self.change)) != 1:
            raise ValueError("one of above, below and change")
        return self
