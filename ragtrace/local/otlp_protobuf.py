"""Read the spans of an OTLP export in protobuf."""

import base64
import math
from collections.abc import Iterable

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.trace.v1 import trace_pb2

from ragtrace.local.spans import Attributes, Span
from ragtrace.local.wire import Json, RefusedError


def spans_of_protobuf(body: bytes) -> list[Span]:
    """Decode a request body.

    Raises:
        RefusedError: it is no trace export.
    """
    try:
        export = ExportTraceServiceRequest.FromString(body)
    except DecodeError:
        raise RefusedError(400, {"error": "Failed to parse OTel Protobuf Trace"}) from None
    return [
        _span(span, group.scope, resource=_attributes(part.resource.attributes))
        for part in export.resource_spans
        for group in part.scope_spans
        for span in group.spans
    ]


def _span(span: trace_pb2.Span, scope: InstrumentationScope, *, resource: Attributes) -> Span:
    return Span(
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent_id=span.parent_span_id.hex(),
        name=span.name,
        start_nanos=span.start_time_unix_nano or None,
        end_nanos=span.end_time_unix_nano or None,
        attributes=_attributes(span.attributes),
        status_code=span.status.code,
        status_message=span.status.message,
        scope_name=scope.name,
        scope_version=scope.version,
        scope_attributes=_attributes(scope.attributes),
        resource=resource,
    )


def _attributes(attributes: Iterable[KeyValue]) -> Attributes:
    return {attribute.key: _value(attribute.value) for attribute in attributes}


def _value(value: AnyValue) -> Json:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(item) for item in value.array_value.values]
    if kind == "kvlist_value":
        pairs: list[Json] = [{"key": pair.key, "value": _json_form(pair.value)} for pair in value.kvlist_value.values]
        return {"kvlistValue": {"values": pairs}}
    if kind == "bytes_value":
        return {"bytesValue": base64.b64encode(value.bytes_value).decode()}
    plain: Json = getattr(value, kind) if kind else None
    # JSON has neither NaN nor Infinity; JavaScript writes null for them.
    return None if isinstance(plain, float) and not math.isfinite(plain) else plain


def _json_form(value: AnyValue) -> Json:
    """Return what OTLP's JSON encoding has for a value: Langfuse shows the inside of a kvlist so."""
    plain = _value(value)
    if isinstance(plain, list):
        return {"arrayValue": {"values": [_json_form(item) for item in value.array_value.values]}}
    names = {"string_value": "stringValue", "bool_value": "boolValue", "int_value": "intValue"}
    kind = value.WhichOneof("value")
    if isinstance(plain, dict) or kind is None:
        return plain or {}
    return {names.get(kind, "doubleValue"): plain}
