"""Listing scores."""

import base64
from typing import Any

import httpx
import pytest

from tests.local.talk import TRACE, refused, score, scores

LIST = "/api/public/v3/scores"


@pytest.fixture
async def some(client: httpx.AsyncClient) -> httpx.AsyncClient:
    """Scores of each type, a second apart."""
    sent = [
        score(id="n1", value=0.25, timestamp="2026-01-01T00:00:01Z", environment="prod"),
        score(id="n2", value=0.75, timestamp="2026-01-01T00:00:02Z", observationId="o"),
        score(id="b1", value=1, dataType="BOOLEAN", name="flag", timestamp="2026-01-01T00:00:03Z"),
        score(id="b0", value=0, dataType="BOOLEAN", name="flag", timestamp="2026-01-01T00:00:04Z", traceId="t2"),
        score(id="c1", value="yes", name="verdict", timestamp="2026-01-01T00:00:05Z", traceId="t2"),
        score(id="x1", value=1, timestamp="2026-01-01T00:00:06Z", traceId=None, sessionId="s"),
        score(id="x2", value=1, timestamp="2026-01-01T00:00:07Z", traceId=None, datasetRunId="r", queueId="q"),
    ]
    response = await client.post("/api/public/scores", json=sent)
    assert response.status_code == 202, response.text
    return client


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ({}, ["x2", "x1", "c1", "b0", "b1", "n2", "n1"]),
        ({"id": "n1,c1"}, ["c1", "n1"]),
        ({"name": "flag, verdict"}, ["c1", "b0", "b1"]),
        ({"traceId": f"{TRACE},t2", "name": "flag"}, ["b0", "b1"]),
        ({"traceId": TRACE, "observationId": "o"}, ["n2"]),
        ({"sessionId": "s"}, ["x1"]),
        ({"experimentId": "r"}, ["x2"]),
        ({"environment": "prod"}, ["n1"]),
        ({"queueId": "q"}, ["x2"]),
        ({"source": "annotation"}, []),
        ({"dataType": "boolean,categorical"}, ["c1", "b0", "b1"]),
        ({"dataType": "NUMERIC", "value": "0.25,1"}, ["x2", "x1", "n1"]),
        ({"dataType": "numeric", "valueMin": 0.3, "valueMax": "0.75"}, ["n2"]),
        ({"dataType": "BOOLEAN", "value": "false"}, ["b0"]),
        ({"dataType": "CATEGORICAL", "value": "yes,no"}, ["c1"]),
        ({"fromTimestamp": "2026-01-01T00:00:02Z", "toTimestamp": "2026-01-01T00:00:04Z"}, ["b1", "n2"]),
        ({"toTimestamp": "2026-01-01"}, []),
        ({"limit": 2}, ["x2", "x1"]),
    ],
)
async def test_each_filter(some: httpx.AsyncClient, query: dict[str, Any], ids: list[str]) -> None:
    """A filter lets through what it says, newest first."""
    assert [row["id"] for row in await scores(some, **query)] == ids


@pytest.mark.parametrize(
    ("query", "messages"),
    [
        ({"limit": "0"}, ["Too small: expected number to be >=1"]),
        ({"limit": "101"}, ["Too big: expected number to be <=100"]),
        ({"limit": "many"}, ["Invalid input: expected number, received NaN"]),
        (
            {"fields": "core,more"},
            ['Invalid option: expected one of "core"|"details"|"subject"|"annotation"'],
        ),
        ({"page": "1"}, ['Unrecognized key: "page"']),
        ({"page": "1", "foo": "1"}, ['Unrecognized keys: "page", "foo"']),
        (
            {"traceTags": "a"},
            ["traceTags filter requires a trace JOIN and is not supported in v3 — use v2 or omit this filter"],
        ),
        ({"traceId": "a", "sessionId": "b"}, ["At most one of traceId, sessionId, experimentId may be specified"]),
        (
            {"observationId": "o"},
            ["observationId filter requires traceId — observation IDs are scoped to a trace"],
        ),
        ({"source": "ROBOT"}, ['Invalid source value: "ROBOT". Allowed: API, EVAL, ANNOTATION']),
        ({"value": "1"}, ["value filter requires a single dataType from: NUMERIC, BOOLEAN, CATEGORICAL"]),
        ({"value": "x", "dataType": "NUMERIC"}, ["Invalid input: expected number, received NaN"]),
        (
            {"valueMin": "x"},
            [
                "valueMin and valueMax filters require dataType NUMERIC",
                "Invalid input: expected number, received NaN",
            ],
        ),
        ({"fromTimestamp": "yesterday"}, ["Invalid input: expected date, received Date"]),
    ],
)
async def test_parameters_that_are_refused(
    client: httpx.AsyncClient, query: dict[str, str], messages: list[str]
) -> None:
    """A parameter that Langfuse would refuse is refused with its words."""
    status, body = await refused(client, "GET", LIST, params=query)

    assert (status, [issue["message"] for issue in body["error"]]) == (400, messages)


async def test_pages_end_without_a_cursor(some: httpx.AsyncClient) -> None:
    """Walking by cursor yields each score once, also among equal timestamps."""
    same = [score(id=f"e{i}", timestamp="2025-01-01T00:00:00Z") for i in range(3)]
    await some.post("/api/public/scores", json=same)
    seen: list[str] = []
    query: dict[str, Any] = {"limit": 4}
    while True:
        answer = (await some.get(LIST, params=query)).json()
        seen += [row["id"] for row in answer["data"]]
        assert answer["meta"]["limit"] == 4
        if not (cursor := answer["meta"].get("cursor")):
            break
        query["cursor"] = cursor

    assert seen == ["x2", "x1", "c1", "b0", "b1", "n2", "n1", "e2", "e1", "e0"]


@pytest.mark.parametrize(
    "cursor",
    [
        "garbage",
        *(base64.urlsafe_b64encode(text).decode() for text in (b"[]", b"{}", b'{"lastTimestamp": 1, "lastId": "x"}')),
    ],
)
async def test_a_cursor_of_another_make(client: httpx.AsyncClient, cursor: str) -> None:
    """A cursor that is none is refused."""
    body = {"message": "Invalid cursor format", "error": "InvalidRequestError"}

    assert await refused(client, "GET", LIST, params={"cursor": cursor}) == (400, body)


async def test_groups_add_fields(some: httpx.AsyncClient) -> None:
    """Core fields are always there, the rest only when asked for."""
    core = {"id", "projectId", "name", "source", "timestamp", "environment", "createdAt", "updatedAt"}
    core |= {"dataType", "value"}

    extra = {}
    for group in ("core", "details", "subject", "annotation"):
        answer = await some.get(LIST, params={"fields": group, "limit": 1})
        extra[group] = set(answer.json()["data"][0]) - core

    assert extra == {
        "core": set(),
        "details": {"comment", "configId", "metadata"},
        "subject": {"subject"},
        "annotation": {"authorUserId", "queueId"},
    }
