"""Requests to the local server, and what they carry."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
from starlette.routing import BaseRoute

from ragtrace.local.app import Generation, make_app
from ragtrace.local.faults import Faults
from ragtrace.local.store import Store

Answer = dict[str, Any]
TRACE = "0af7651916cd43dd8448eb211c80319c"
SPAN = "b7ad6b7169203331"
BASE_NANOS = 1_796_000_000_000_000_000
"""2026-11-30T00:53:20Z."""


@dataclass(slots=True)
class Clock:
    """A clock that a test sets."""

    ms: int = BASE_NANOS // 1_000_000

    def __call__(self) -> int:
        return self.ms


@asynccontextmanager
async def talk(
    store: Store,
    *,
    emulate: Generation = "4.59",
    faults: Faults | None = None,
    pages: Sequence[BaseRoute] = (),
    has_faults_route: bool = False,
) -> AsyncIterator[httpx.AsyncClient]:
    """Yield a client with the right keys."""
    app = make_app(
        store,
        public_key="pk",
        secret_key="sk",
        emulate=emulate,
        faults=faults,
        pages=pages,
        has_faults_route=has_faults_route,
    )
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost", auth=("pk", "sk")) as client:
        yield client


def span(attributes: dict[str, Any] | None = None, *, at: float = 0.0, **fields: Any) -> dict[str, Any]:
    """A span of one second in OTLP/JSON; attributes are plain values or OTLP ones."""
    start = BASE_NANOS + int(at * 1e9)
    return {
        "traceId": TRACE,
        "spanId": SPAN,
        "name": "step",
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + 1_000_000_000),
        "attributes": [{"key": key, "value": any_value(value)} for key, value in (attributes or {}).items()],
        **fields,
    }


def any_value(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [any_value(item) for item in value]}}
    return {"stringValue": value}


def export(*spans: dict[str, Any], scope: str = "ragtrace", resource: dict[str, Any] | None = None) -> dict[str, Any]:
    """A whole OTLP/JSON request."""
    attributes = [{"key": key, "value": any_value(value)} for key, value in (resource or {}).items()]
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": attributes},
                "scopeSpans": [{"scope": {"name": scope}, "spans": list(spans)}],
            }
        ]
    }


async def send(client: httpx.AsyncClient, *spans: dict[str, Any], **options: Any) -> None:
    """Export spans, and have them accepted."""
    # Escaped as the standard library does: httpx cannot send a lone surrogate.
    body = json.dumps(export(*spans, **options))
    response = await client.post(
        "/api/public/otel/v1/traces", content=body, headers={"content-type": "application/json"}
    )
    assert (response.status_code, response.json()) == (200, {})


async def observations(client: httpx.AsyncClient, fields: str = "core,basic", **query: Any) -> list[Answer]:
    response = await client.get("/api/public/v2/observations", params={"fields": fields, **query})
    assert response.status_code == 200, response.text
    rows: list[Answer] = response.json()["data"]
    return rows


async def filtered(client: httpx.AsyncClient, *conditions: dict[str, Any]) -> list[str]:
    """Names of the observations that a filter lets through."""
    rows = await observations(client, filter=json.dumps(conditions))
    return [row["name"] for row in rows]


async def scores(client: httpx.AsyncClient, **query: Any) -> list[Answer]:
    response = await client.get("/api/public/v3/scores", params={"fields": "core,details,subject,annotation", **query})
    assert response.status_code == 200, response.text
    rows: list[Answer] = response.json()["data"]
    return rows


def score(**fields: Any) -> dict[str, Any]:
    return {"id": "s1", "traceId": TRACE, "name": "faithfulness", "value": 0.5, **fields}


async def refused(client: httpx.AsyncClient, method: str, path: str, **options: Any) -> tuple[int, Any]:
    """Status and body of a request that is answered with an error."""
    response = await client.request(method, path, **options)
    is_json = response.headers.get("content-type", "").startswith("application/json")
    return response.status_code, response.json() if is_json else response.text
