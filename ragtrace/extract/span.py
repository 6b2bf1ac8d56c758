"""A span or an observation as the readers of the conventions see it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from ragtrace.extract.json_text import as_strings, as_text, metadata_value
from ragtrace.extract.row import ObservationRow
from ragtrace.extract.values import is_cut, plain, unfold
from ragtrace.model import JsonValue
from ragtrace.semconv import (
    LANGFUSE_ENVIRONMENT,
    LANGFUSE_INPUT,
    LANGFUSE_OUTPUT,
    LANGFUSE_RELEASE,
    LANGFUSE_TRACE_NAME,
    LANGFUSE_TRACE_TAGS,
    LANGFUSE_TYPE,
    SESSION_ID,
    USER_ID,
)

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SESSION = (SESSION_ID, "langfuse.session.id", "traceloop.association.properties.session_id")
_USER = (USER_ID, "langfuse.user.id", "traceloop.association.properties.user_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """Whose call it was."""

    environment: str | None = None
    release: str | None = None
    session: str | None = None
    user: str | None = None
    trace_name: str | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One span with its attributes as plain JSON."""

    id: str
    trace_id: str
    name: str
    start_ns: int
    """Nanoseconds since the epoch."""
    end_ns: int | None
    """None while it has not ended."""
    parent_id: str | None = None
    attributes: Mapping[str, JsonValue] = field(default_factory=dict)
    labels: Labels = field(default_factory=Labels)
    is_error: bool = False

    def value(self, *keys: str) -> JsonValue:
        """Return the first of some attributes that is there; the text of JSON as its value."""
        return next((unfold(v) for key in keys if (v := self.attributes.get(key)) is not None), None)

    def text(self, *keys: str) -> str | None:
        """Return the first of some attributes that is there and not empty, as text."""
        return next((text for key in keys if (text := as_text(self.attributes.get(key)))), None)

    def is_cut(self, *keys: str) -> bool:
        """Tell whether one of these attributes is JSON that lost its end."""
        return any(is_cut(self.attributes.get(key)) for key in keys)

    @property
    def started_at(self) -> datetime:
        """The start as a moment."""
        return _EPOCH + timedelta(microseconds=self.start_ns // 1000)


def from_otel(span: "ReadableSpan") -> Span:
    """Read a span of OpenTelemetry's SDK."""
    context = span.get_span_context()
    attributes = {key: plain(value) for key, value in (span.attributes or {}).items()}
    return Span(
        id=f"{context.span_id:016x}" if context else "",
        trace_id=f"{context.trace_id:032x}" if context else "",
        parent_id=f"{span.parent.span_id:016x}" if span.parent else None,
        name=span.name,
        start_ns=span.start_time or 0,
        end_ns=span.end_time,
        attributes=attributes,
        labels=labels_of(attributes),
        is_error=not span.status.is_ok,
    )


def from_row(row: ObservationRow) -> Span:
    """Read an observation of Langfuse, whichever instrumentation sent it.

    What Langfuse did not make input and output of is in the metadata, where texts are cut: good for telling what the
    span is, and no good for content.
    """
    kept = metadata_value(row.metadata, "attributes")
    attributes: dict[str, JsonValue] = {
        **{k: v for k, v in (kept.items() if isinstance(kept, dict) else ()) if k in _TELLING},
        **{
            k.removeprefix("attributes."): v
            for k, v in row.metadata.items()
            if k.removeprefix("attributes.") in _TELLING
        },
        LANGFUSE_TYPE: row.type.lower(),
        LANGFUSE_INPUT: row.input,
        LANGFUSE_OUTPUT: row.output,
        "langfuse.observation.model.name": row.model,
    }
    return Span(
        id=row.id,
        trace_id=row.trace_id,
        parent_id=row.parent_id,
        name=row.name,
        start_ns=_nanoseconds(row.start_time),
        end_ns=_nanoseconds(row.end_time) if row.end_time else None,
        attributes={key: value for key, value in attributes.items() if value is not None},
        labels=Labels(
            environment=row.environment,
            release=row.release,
            session=row.session_id,
            user=row.user_id,
            trace_name=row.trace_name,
            tags=row.tags,
        ),
        is_error=row.level == "ERROR",
    )


_TELLING = frozenset({"gen_ai.operation.name", "gen_ai.retrieval.documents", "gen_ai.response.id"})


def labels_of(attributes: Mapping[str, JsonValue]) -> Labels:
    """Return what a span's attributes say of whose call it was."""

    def first(*keys: str) -> str | None:
        return next((text for key in keys if (text := as_text(attributes.get(key)))), None)

    return Labels(
        environment=first(LANGFUSE_ENVIRONMENT),
        release=first(LANGFUSE_RELEASE),
        session=first(*_SESSION),
        user=first(*_USER),
        trace_name=first(LANGFUSE_TRACE_NAME),
        tags=as_strings(unfold(attributes.get(LANGFUSE_TRACE_TAGS))),
    )


def _nanoseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1) * 1000
