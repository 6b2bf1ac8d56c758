"""Hold a span as it was sent, whatever encoding it came in."""

from dataclasses import dataclass

from ragtrace.local.wire import Json

Attributes = dict[str, Json]
"""Plain values by key; what has no plain form stays in OTLP's JSON form (`{"kvlistValue": …}`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One span. Ids are stored as sent: any text."""

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    start_nanos: int | None
    end_nanos: int | None
    attributes: Attributes
    status_code: int
    status_message: str
    scope_name: str
    scope_version: str
    scope_attributes: Attributes
    resource: Attributes
