"""Put rag-calls into a Langfuse-compatible server, as capture writes them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Protocol

import httpx

from ragtrace import semconv
from ragtrace.model import JsonValue

STARTED_AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
TOWER = "The tower is 57 metres high."
RIVER = "The river Arno flows past the tower."


class ServerLike(Protocol):
    """What a test needs to know of a running server."""

    @property
    def base_url(self) -> str: ...
    @property
    def public_key(self) -> str: ...
    @property
    def secret_key(self) -> str: ...


def trace_id(number: int) -> str:
    return f"{number + 1:032x}"


def span_id(number: int) -> str:
    return f"{number + 1:016x}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedCall:
    """A rag-call to be stored; by default one whose answer its passages support."""

    number: int = 0
    question: str = "How high is the tower?"
    passages: Sequence[str] | None = (TOWER, RIVER)
    answer: str | None = TOWER
    reference: str | None = None
    started_at: datetime = STARTED_AT
    seconds: float = 1.0
    environment: str | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, str | float] = field(default_factory=dict)
    raw_input: str | None = None
    """Instead of the record that the other fields make."""
    name: str = semconv.SPAN_NAME

    @property
    def key(self) -> tuple[str, str]:
        return trace_id(self.number), span_id(self.number)

    def record(self) -> dict[str, JsonValue]:
        record: dict[str, JsonValue] = {"question": self.question, "passages": None}
        if self.passages is not None:
            record["passages"] = [
                {"id": f"d{rank}", "rank": rank, "text": text, "received": "full", "coverage": 1.0, "at": 100 * rank}
                for rank, text in enumerate(self.passages)
            ]
        if self.reference is not None:
            record["reference"] = self.reference
        return record

    def span(self) -> dict[str, object]:
        """Return the span in OTLP's JSON."""
        start = int(self.started_at.timestamp() * 1e9)
        attributes: dict[str, object] = {
            semconv.GEN_AI_OPERATION_NAME: semconv.OPERATION_RETRIEVAL,
            semconv.LANGFUSE_TYPE: "chain",
            semconv.LANGFUSE_INPUT: json.dumps(self.record()) if self.raw_input is None else self.raw_input,
            semconv.LANGFUSE_OUTPUT: self.answer,
            semconv.LANGFUSE_ENVIRONMENT: self.environment,
            semconv.LANGFUSE_TRACE_TAGS: list(self.tags) or None,
            semconv.LANGFUSE_METADATA_PREFIX + semconv.META_SCHEMA: str(semconv.SCHEMA_VERSION),
        }
        attributes |= {semconv.LANGFUSE_METADATA_PREFIX + key: value for key, value in self.metadata.items()}
        return {
            "traceId": trace_id(self.number),
            "spanId": span_id(self.number),
            "name": self.name,
            "kind": 1,
            "startTimeUnixNano": str(start),
            "endTimeUnixNano": str(start + int(self.seconds * 1e9)),
            "attributes": [{"key": k, "value": _otlp(v)} for k, v in attributes.items() if v is not None],
            "status": {"code": 0},
        }


def seed(server: ServerLike, calls: Sequence[SeedCall]) -> None:
    """Store calls."""
    body = {
        "resourceSpans": [
            {
                "resource": {"attributes": []},
                "scopeSpans": [{"scope": {"name": semconv.SCOPE_NAME}, "spans": [call.span() for call in calls]}],
            }
        ]
    }
    reply = httpx.post(
        f"{server.base_url}/api/public/otel/v1/traces", json=body, auth=(server.public_key, server.secret_key)
    )
    assert reply.status_code == 200, reply.text


def many(count: int, *, apart: timedelta = timedelta(seconds=1)) -> list[SeedCall]:
    """Return distinct calls, one every `apart`."""
    return [SeedCall(number=n, started_at=STARTED_AT + n * apart) for n in range(count)]


def stored_scores(server: ServerLike, **query: str) -> list[dict[str, JsonValue]]:
    """Return all scores that the server holds, in the order of their ids."""
    found: list[dict[str, JsonValue]] = []
    parameters = {"limit": "100", "fields": "details,subject", **query}
    while True:
        reply = httpx.get(
            f"{server.base_url}/api/public/v3/scores",
            params=parameters,
            auth=(server.public_key, server.secret_key),
        ).json()
        found += reply["data"]
        if not reply["meta"].get("cursor"):
            return sorted(found, key=lambda score: str(score["id"]))
        parameters["cursor"] = reply["meta"]["cursor"]


def _otlp(value: object) -> dict[str, object]:
    if isinstance(value, list):
        return {"arrayValue": {"values": [_otlp(item) for item in value]}}
    if isinstance(value, float | int):
        return {"doubleValue": value}
    return {"stringValue": value}
