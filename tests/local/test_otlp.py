"""Taking OTLP exports in every encoding, and refusing what is none."""

import gzip

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status

from ragtrace.local.otlp import LONGEST_BODY
from tests.local.talk import BASE_NANOS, SPAN, TRACE, export, observations, refused, send, span

TRACES = "/api/public/otel/v1/traces"


def protobuf(*attributes: KeyValue, **fields: object) -> bytes:
    """One span as the OTLP exporters send it."""
    sent = Span(
        trace_id=bytes.fromhex(TRACE),
        span_id=bytes.fromhex(SPAN),
        name="step",
        start_time_unix_nano=BASE_NANOS,
        end_time_unix_nano=BASE_NANOS + 10**9,
        attributes=attributes,
        status=Status(code=Status.STATUS_CODE_ERROR, message="boom"),
        **fields,  # type: ignore[arg-type] # whatever a test is about
    )
    group = ScopeSpans(scope=InstrumentationScope(name="ragtrace", version="2"), spans=[sent])
    return ExportTraceServiceRequest(resource_spans=[ResourceSpans(scope_spans=[group])]).SerializeToString()


async def test_protobuf_values_of_every_kind(client: httpx.AsyncClient) -> None:
    """A protobuf span arrives with its status, and its attributes are in the metadata."""
    nested = KeyValueList(
        values=[
            KeyValue(key="s", value=AnyValue(string_value="v")),
            KeyValue(key="b", value=AnyValue(bool_value=True)),
            KeyValue(key="i", value=AnyValue(int_value=1)),
            KeyValue(key="d", value=AnyValue(double_value=0.5)),
            KeyValue(key="a", value=AnyValue(array_value=ArrayValue(values=[AnyValue(int_value=2)]))),
            KeyValue(key="y", value=AnyValue(bytes_value=b"hi")),
            KeyValue(key="n", value=AnyValue()),
        ]
    )
    body = protobuf(
        KeyValue(key="kv", value=AnyValue(kvlist_value=nested)),
        KeyValue(key="bytes", value=AnyValue(bytes_value=b"hi")),
        KeyValue(key="list", value=AnyValue(array_value=ArrayValue(values=[AnyValue(string_value="x")]))),
        KeyValue(key="none", value=AnyValue()),
        KeyValue(key="nan", value=AnyValue(double_value=float("nan"))),
    )

    response = await client.post(TRACES, content=body, headers={"content-type": "application/x-protobuf"})

    assert (response.status_code, response.json()) == (200, {})
    [row] = await observations(client, fields="basic,metadata", expandMetadata="kv")
    assert (row["level"], row["statusMessage"]) == ("ERROR", "boom")
    assert row["metadata"] == {
        "scope.name": "ragtrace",
        "scope.version": 2,
        "attributes.kv": {
            "kvlistValue": {
                "values": [
                    {"key": "s", "value": {"stringValue": "v"}},
                    {"key": "b", "value": {"boolValue": True}},
                    {"key": "i", "value": {"intValue": 1}},
                    {"key": "d", "value": {"doubleValue": 0.5}},
                    {"key": "a", "value": {"arrayValue": {"values": [{"intValue": 2}]}}},
                    {"key": "y", "value": {"bytesValue": "aGk="}},
                    {"key": "n", "value": {}},
                ]
            }
        },
        "attributes.bytes": {"bytesValue": "aGk="},
        "attributes.list": ["x"],
        "attributes.none": None,
        "attributes.nan": None,
    }


@pytest.mark.parametrize("content_type", ["application/x-protobuf", "application/x-protobuf; charset=utf-8"])
async def test_gzip(client: httpx.AsyncClient, content_type: str) -> None:
    """A compressed body is read."""
    headers = {"content-type": content_type, "content-encoding": "gzip"}

    response = await client.post(TRACES, content=gzip.compress(protobuf()), headers=headers)

    assert response.status_code == 200
    assert [row["id"] for row in await observations(client)] == [SPAN]


@pytest.mark.parametrize(
    ("content", "headers", "error"),
    [
        (b"{}", {"content-type": "text/plain"}, "Invalid content type"),
        (b"{}", {}, "Invalid content type"),
        (b"xx", {"content-type": "application/json"}, "Failed to parse OTel JSON Trace"),
        (b"null", {"content-type": "application/json"}, "Failed to parse OTel JSON Trace"),
        (b"[" * 100_000, {"content-type": "application/json"}, "Failed to parse OTel JSON Trace"),
        (b"\xff\xff\xff", {"content-type": "application/x-protobuf"}, "Failed to parse OTel Protobuf Trace"),
        (
            b"xx",
            {"content-type": "application/json", "content-encoding": "gzip"},
            "Failed to decompress request body",
        ),
        (
            b"{}",
            {"content-type": "application/json", "x-langfuse-ingestion-version": "5"},
            'Unsupported x-langfuse-ingestion-version: "5". Maximum supported: "4".',
        ),
    ],
)
async def test_unreadable(client: httpx.AsyncClient, content: bytes, headers: dict[str, str], error: str) -> None:
    """What cannot be read is refused with the reason."""
    assert await refused(client, "POST", TRACES, content=content, headers=headers) == (400, {"error": error})


async def test_a_gzip_bomb_is_refused(client: httpx.AsyncClient) -> None:
    """A small body that would unpack to more than the limit is refused, not unpacked."""
    bomb = gzip.compress(b" " * (LONGEST_BODY + 1))

    status, body = await refused(
        client, "POST", TRACES, content=bomb, headers={"content-type": "application/json", "content-encoding": "gzip"}
    )

    assert (status, body) == (413, f"The request body exceeds {LONGEST_BODY} bytes")


async def test_one_bad_span_refuses_the_whole_export(client: httpx.AsyncClient) -> None:
    """Nothing of a request is stored if one span lacks ids or has attributes that are no list."""
    bad = [
        span(traceId=None) | {"attributes": "x"},
        span(spanId=7, events={}),
        span(spanId=7, events={}),
    ]

    status, body = await refused(client, "POST", TRACES, json=export(span(), *bad, scope="mine"))

    assert (status, body["error"][:148]) == (
        400,
        "Invalid OTLP trace export: 3 of 4 span(s) cannot be processed (traceId:absent, attributes:not_an_array, "
        "spanId:absent, events:not_an_array). traceId",
    )
    assert await observations(client) == []


@pytest.mark.parametrize(
    ("part", "reason"),
    [({"scopeSpans": {}}, "scopeSpans:not_an_array"), ({"scopeSpans": [{"spans": {}}]}, "spans:not_an_array")],
)
async def test_lists_that_are_none(client: httpx.AsyncClient, part: dict[str, object], reason: str) -> None:
    """An object where OTLP has a list is refused."""
    status, body = await refused(client, "POST", TRACES, json={"resourceSpans": [part]})

    assert (status, reason in body["error"]) == (400, True)


async def test_ids_are_kept_as_sent(client: httpx.AsyncClient) -> None:
    """Ids in JSON may be any text, or a list of bytes; spans with empty ids are acknowledged and not stored."""
    await send(client, span(traceId="ABC", spanId=[1, 255]), span(traceId="", spanId=""))

    assert [(row["traceId"], row["id"]) for row in await observations(client)] == [("ABC", "01ff")]


async def test_numbers_and_times_of_any_form(client: httpx.AsyncClient) -> None:
    """Times may be numbers, or missing; an integer keeps a double's precision; a value without content is null."""
    attributes = {
        "big": {"intValue": "9007199254740993"},
        "odd": {"intValue": "x"},
        "no": {},
        "raw": {"bytesValue": "aGk="},
    }
    odd_attribute = {"key": "not a value", "value": 7}
    sent = span(attributes, startTimeUnixNano=BASE_NANOS, endTimeUnixNano=None)
    sent["attributes"].append(odd_attribute)

    await send(client, sent)

    [row] = await observations(client, fields="core,metadata")
    assert (row["startTime"], row["endTime"], row["latency"]) == (
        "2026-11-30T00:53:20.000Z",
        "2026-11-30T00:53:20.000Z",
        None,
    )
    assert {key: value for key, value in row["metadata"].items() if key.startswith("attributes")} == {
        "attributes.big": 9007199254740992,
        "attributes.odd": None,
        "attributes.no": None,
        "attributes.raw": {"bytesValue": "aGk="},
        "attributes.not a value": None,
    }


@pytest.mark.parametrize("moment", [1e308, -1, 2**64, "9" * 21, "soon", None])
async def test_times_out_of_range_count_as_missing(client: httpx.AsyncClient, moment: object) -> None:
    """A start that is no 64-bit time is replaced by the end."""
    await send(client, span(startTimeUnixNano=moment))

    assert [row["startTime"] for row in await observations(client)] == ["2026-11-30T00:53:21.000Z"]


async def test_a_lone_surrogate_loses_the_request(client: httpx.AsyncClient) -> None:
    """Text that UTF-8 cannot hold is acknowledged, and nothing that came with it is stored."""
    poisoned = span({"langfuse.observation.input": "a\ud83db"}, spanId="1")

    await send(client, poisoned, span(spanId="2"))

    assert await observations(client) == []


async def test_a_body_without_spans(client: httpx.AsyncClient) -> None:
    """Metrics and empty exports are acknowledged."""
    responses = [
        await client.post(TRACES, json={}),
        await client.post("/api/public/otel/v1/metrics", json={"x": 1}),
    ]

    assert [response.json() for response in responses] == [{}, {"message": "OK"}]
