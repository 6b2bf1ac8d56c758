"""Read the spans of an OTLP export in JSON, or refuse all of them for one that is unusable."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from ragtrace.local.spans import Attributes, Span
from ragtrace.local.wire import Json, RefusedError, from_text

_NANOS_END = 2**64
_NANOS_DIGITS = 20
_IDS_HINT = "traceId and spanId are required on every span, and each must be a string or a byte array."
_ARRAYS_HINT = (
    "scopeSpans, spans, attributes and events must all be arrays — OTLP attributes are a list of {key, value} "
    "entries, not a JSON object."
)
_ADVICE = (
    "This endpoint accepts OpenTelemetry traces only — if you are exporting OpenTelemetry logs, point your log "
    "exporter elsewhere."
)


def spans_of_json(body: bytes) -> list[Span]:
    """Decode a request body.

    Raises:
        RefusedError: it is no trace export, or a span in it lacks ids or has attributes that are no list.
    """
    try:
        export = from_text(body.decode("utf-8"))
    except (ValueError, RecursionError):
        export = None
    if not isinstance(export, dict):
        raise RefusedError(400, {"error": "Failed to parse OTel JSON Trace"})
    problems = _Problems()
    found = list(_walk(export, problems))
    problems.refuse_any()
    return [_span(*parts) for parts in found]


@dataclass(slots=True, kw_only=True)
class _Problems:
    """What makes an export unusable, over all its spans."""

    spans: int = 0
    unusable: int = 0
    reasons: list[str] = field(default_factory=list)
    scopes: list[str] = field(default_factory=list)

    def of_span(self, reasons: list[str], scope: str) -> None:
        self.spans += 1
        if reasons:
            self.unusable += 1
            self.reasons += [reason for reason in reasons if reason not in self.reasons]
            self.scopes += [scope] if scope not in self.scopes else []

    def refuse_any(self) -> None:
        if not self.unusable:
            return
        has_arrays = any(reason.endswith("not_an_array") for reason in self.reasons)
        has_ids = any(not reason.endswith("not_an_array") for reason in self.reasons)
        hints = [_IDS_HINT] * has_ids + [_ARRAYS_HINT] * has_arrays
        message = (
            f"Invalid OTLP trace export: {self.unusable} of {self.spans} span(s) cannot be processed "
            f"({', '.join(self.reasons)}). {' '.join(hints)} The entire export was rejected and no spans were "
            f"ingested. Instrumentation scopes: {', '.join(self.scopes)}. {_ADVICE}"
        )
        raise RefusedError(400, {"error": message})


_Parts = tuple[dict[str, Json], dict[str, Json], dict[str, Json]]


def _walk(export: dict[str, Json], problems: _Problems) -> Iterator[_Parts]:
    """Yield (span, scope, resource), noting what is wrong on the way."""
    for part in _objects(export.get("resourceSpans")):
        if "scopeSpans" in part and not isinstance(part["scopeSpans"], list):
            problems.of_span(["scopeSpans:not_an_array"], "")
        for group in _objects(part.get("scopeSpans")):
            scope = _object(group.get("scope"))
            if "spans" in group and not isinstance(group["spans"], list):
                problems.of_span(["spans:not_an_array"], _text(scope.get("name")))
            for span in _objects(group.get("spans")):
                problems.of_span(_reasons(span), _text(scope.get("name")))
                yield span, scope, _object(part.get("resource"))


def _reasons(span: dict[str, Json]) -> list[str]:
    ids = [f"{key}:absent" for key in ("traceId", "spanId") if not isinstance(span.get(key), str | list)]
    lists = [f"{key}:not_an_array" for key in ("attributes", "events") if not isinstance(span.get(key, []), list)]
    return ids + lists


def _span(span: dict[str, Json], scope: dict[str, Json], resource: dict[str, Json]) -> Span:
    status = _object(span.get("status"))
    code = status.get("code")
    return Span(
        trace_id=_id(span.get("traceId")),
        span_id=_id(span.get("spanId")),
        parent_id=_id(span.get("parentSpanId")),
        name=_text(span.get("name")),
        start_nanos=_nanos(span.get("startTimeUnixNano")),
        end_nanos=_nanos(span.get("endTimeUnixNano")),
        attributes=_attributes(span.get("attributes")),
        status_code=2 if code in (2, "STATUS_CODE_ERROR") else 0,
        status_message=_text(status.get("message")),
        scope_name=_text(scope.get("name")),
        scope_version=_text(scope.get("version")),
        scope_attributes=_attributes(scope.get("attributes")),
        resource=_attributes(resource.get("attributes")),
    )


def _id(value: Json) -> str:
    """Return an id as text; Langfuse takes a list of bytes too."""
    if isinstance(value, list):
        return "".join(f"{byte & 255:02x}" for byte in value if isinstance(byte, int))
    return _text(value)


def _nanos(value: Json) -> int | None:
    if isinstance(value, str) and value.isdecimal() and len(value) <= _NANOS_DIGITS:
        value = int(value)
    return int(value) if isinstance(value, int | float) and 0 <= value < _NANOS_END else None


def _attributes(attributes: Json) -> Attributes:
    return {_text(item.get("key")): _value(item.get("value")) for item in _objects(attributes)}


def _value(value: Json) -> Json:
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("arrayValue"), dict):
        return [_value(item) for item in _list(_object(value["arrayValue"]).get("values"))]
    if "kvlistValue" in value or "bytesValue" in value:
        return value
    if "intValue" in value:
        return _int(value["intValue"])
    return next(
        (value[key] for key in ("stringValue", "boolValue", "doubleValue") if key in value),
        None,
    )


def _int(value: Json) -> Json:
    """Return a 64-bit integer, which JSON may carry as text, with a double's precision as in JavaScript."""
    try:
        return int(float(value)) if isinstance(value, str | int | float) else None
    except (ValueError, OverflowError):
        return None


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _object(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _objects(value: Json) -> list[dict[str, Json]]:
    return [_object(item) for item in _list(value)]
