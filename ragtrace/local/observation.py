"""Hold an observation as it is stored."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ragtrace.local.wire import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What is left of a span. Times are milliseconds since 1970 in UTC; a text that was not set is empty."""

    trace_id: str
    id: str
    parent_id: str | None
    type: str
    name: str
    start_ms: int
    end_ms: int | None
    """None: the span had no end; it is shown with its start, and without latency."""
    level: str
    status_message: str
    version: str
    environment: str
    user_id: str
    session_id: str
    is_root: bool
    """No parent, or marked by the sender as the application's root."""
    is_public: bool
    trace_name: str | None
    release: str
    tags: tuple[str, ...]
    completion_start_ms: int | None
    model: str
    model_parameters: Mapping[str, Json] = field(default_factory=dict)
    usage: Mapping[str, float] = field(default_factory=dict)
    cost: Mapping[str, float] = field(default_factory=dict)
    prompt_name: str
    prompt_version: int | None
    metadata: Mapping[str, str]
    """Raw texts by flat key: filters match these, answers show them parsed."""
    input: str | None
    output: str | None
    updated_ms: int = 0
    """When it was stored; set by the store."""
