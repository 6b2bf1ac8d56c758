"""The tables of `ragtrace.toml` that are not single values."""

from pydantic import BaseModel, ConfigDict, Field


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
