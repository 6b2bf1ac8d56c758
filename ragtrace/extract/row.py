"""An observation as the backend gives it back, in our words."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from ragtrace.model import JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationRow:
    """One observation; fields that were not asked for are absent (None or empty)."""

    id: str
    trace_id: str
    name: str
    type: str
    """Upper case: `CHAIN`, `RETRIEVER`, `GENERATION`, …"""
    start_time: datetime
    end_time: datetime | None = None
    parent_id: str | None = None
    input: str | None = None
    """Raw text, JSON or not."""
    output: str | None = None
    """Raw text, JSON or not."""
    metadata: Mapping[str, JsonValue] = field(default_factory=dict)
    """Values may be JSON or the text of JSON: servers differ."""
    environment: str | None = None
    user_id: str | None = None
    session_id: str | None = None
    tags: tuple[str, ...] = ()
    release: str | None = None
    trace_name: str | None = None
    model: str | None = None
    level: str | None = None
    status_message: str | None = None
