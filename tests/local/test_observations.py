"""Listing observations: filters, pages, field groups."""

import base64
import json
from typing import Any

import httpx
import pytest

from ragtrace.local.faults import Faults
from tests.local.talk import Clock, filtered, observations, refused, send, span

LIST = "/api/public/v2/observations"
INVALID = "Invalid request data"


@pytest.fixture
async def three(client: httpx.AsyncClient) -> httpx.AsyncClient:
    """A chain with a retriever and a generation below it."""
    await send(
        client,
        span(
            {
                "langfuse.observation.type": "chain",
                "langfuse.observation.input": "Why is it so?",
                "langfuse.trace.tags": ["a", "b"],
                "langfuse.observation.metadata.lang": '"en"',
                "langfuse.observation.metadata.n": 3,
            },
            spanId="01",
            name="root",
            endTimeUnixNano="1796000005000000000",
        ),
        span(
            {"langfuse.observation.type": "retriever", "langfuse.trace.tags": ["b"], "langfuse.environment": "prod"},
            spanId="02",
            name="search",
            parentSpanId="01",
            at=1,
        ),
        span(
            {
                "langfuse.observation.type": "generation",
                "langfuse.observation.model.name": "m",
                "langfuse.observation.usage_details": '{"input": 7}',
                "langfuse.observation.cost_details": '{"input": 0.5}',
                "langfuse.observation.completion_start_time": '"2026-11-30T00:53:22.500Z"',
                "langfuse.observation.output": "Because.",
            },
            spanId="03",
            name="answer",
            parentSpanId="01",
            at=2,
        ),
    )
    return client


def condition(kind: str, column: str, operator: str, value: Any = "", **key: str) -> dict[str, Any]:
    return {"type": kind, "column": column, "operator": operator, "value": value, **key}


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        (condition("string", "name", "=", "search"), ["search"]),
        (condition("string", "name", "contains", "sear"), ["search"]),
        (condition("string", "name", "does not contain", "sear"), ["answer", "root"]),
        (condition("string", "name", "starts with", "an"), ["answer"]),
        (condition("string", "name", "ends with", "ot"), ["root"]),
        (condition("string", "input", "matches", "why IS"), ["root"]),
        (condition("string", "traceName", "=", "root"), ["root"]),
        (condition("stringOptions", "type", "any of", ["CHAIN", "TOOL"]), ["root"]),
        (condition("stringOptions", "traceName", "none of", ["root"]), ["answer", "search"]),
        (condition("categoryOptions", "level", "any of", []), []),
        (condition("arrayOptions", "tags", "any of", ["a", "z"]), ["root"]),
        (condition("arrayOptions", "traceTags", "none of", ["a"]), ["answer", "search"]),
        (condition("arrayOptions", "tags", "all of", ["a", "b"]), ["root"]),
        (condition("arrayOptions", "tags", "all of", []), ["answer", "search", "root"]),
        (condition("datetime", "endTime", ">", "2026-11-30T00:53:23Z"), ["root"]),
        (condition("datetime", "startTime", "<=", "2026-11-30T00:53:21Z"), ["search", "root"]),
        (condition("number", "latency", ">=", 2), ["root"]),
        (condition("number", "timeToFirstToken", "=", 0.5), ["answer"]),
        (condition("number", "totalTokens", ">", 0), ["answer"]),
        (condition("number", "totalTokens", "<", 10**30), ["answer", "search", "root"]),
        (condition("number", "totalCost", "<", 0.5), ["search", "root"]),
        (condition("boolean", "isRootObservation", "<>", True), ["answer", "search"]),
        (condition("boolean", "hasOutput", "=", True), ["answer"]),
        (condition("null", "parentObservationId", "is null"), ["root"]),
        (condition("null", "model", "is not null"), ["answer"]),
        (condition("string", "providedModelName", "=", "m"), ["answer"]),
        (condition("stringObject", "metadata", "=", '"en"', key="lang"), ["root"]),
        (condition("stringObject", "metadata", "contains", "e", key="lang"), ["root"]),
        (condition("stringObject", "metadata", "does not contain", "e", key="lang"), ["answer", "search"]),
        (condition("numberObject", "metadata", ">", 2, key="n"), ["root"]),
        (condition("numberObject", "metadata", ">", 3, key="n"), []),
        (condition("numberObject", "metadata", "<", 3, key="lang"), []),
    ],
)
async def test_each_operator(three: httpx.AsyncClient, asked: dict[str, Any], names: list[str]) -> None:
    """A condition lets through what it says, newest start first."""
    assert await filtered(three, asked) == names


@pytest.mark.parametrize(
    ("filter_", "body"),
    [
        ("[", {"message": "Invalid JSON in filter parameter", "error": "InvalidRequestError"}),
        (
            json.dumps([condition("string", "scores_avg", "=", "x")]),
            {
                "message": "Column scores_avg does not match a UI / CH table mapping.",
                "error": "InvalidRequestError",
            },
        ),
        (
            json.dumps([condition("number", "name", "=", 1)]),
            {
                "message": "Invalid filter type 'number' for column 'name'. Expected filter type 'stringOptions'.",
                "error": "InvalidRequestError",
            },
        ),
        (
            json.dumps([condition("string", "output", "contains", "x")]),
            {
                "message": "Input/output filters require at least one `matches` or `=` operator.",
                "error": "InvalidRequestError",
            },
        ),
    ],
)
async def test_filters_that_mean_nothing(client: httpx.AsyncClient, filter_: str, body: dict[str, str]) -> None:
    """A filter that Langfuse would refuse is refused with its words."""
    assert await refused(client, "GET", LIST, params={"filter": filter_}) == (400, body)


@pytest.mark.parametrize(
    ("filter_", "message"),
    [
        ({}, "Invalid input: expected array, received object"),
        ([7], "Invalid input: expected object, received number"),
        ([{"type": "bogus"}], "Invalid input"),
        ([{"type": "null", "operator": "is null"}], "Invalid input: expected string, received undefined"),
        ([condition("boolean", "hasInput", ">", True)], 'Invalid option: expected one of "="|"<>"'),
        ([condition("string", "name", "like", "x")], "Invalid input"),
        ([condition("stringObject", "metadata", "=", "x")], "Invalid input: expected string, received undefined"),
        ([condition("stringOptions", "name", "any of", [1])], "Invalid input: expected string, received number"),
        ([condition("datetime", "startTime", ">", "soon")], "Invalid input: expected date, received Date"),
        ([condition("number", "latency", ">", None)], "Invalid input: expected number, received null"),
    ],
)
async def test_malformed_filters(client: httpx.AsyncClient, filter_: Any, message: str) -> None:
    """What is wrong with a filter is listed."""
    status, body = await refused(client, "GET", LIST, params={"filter": json.dumps(filter_)})

    assert (status, body["message"], [issue["message"] for issue in body["error"]]) == (400, INVALID, [message])


async def test_a_filter_replaces_the_parameter_of_its_column(three: httpx.AsyncClient) -> None:
    """Parameters of other columns still count."""
    by_name = json.dumps([condition("string", "name", "=", "search")])

    rows = [
        await observations(three, name="root", filter=by_name),
        await observations(three, type="CHAIN", filter=by_name),
    ]

    assert [[row["name"] for row in found] for found in rows] == [["search"], []]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({"type": "GENERATION"}, ["answer"]),
        ({"level": "ERROR"}, []),
        ({"isRootObservation": "false"}, ["answer", "search"]),
        ({"environment": ["prod", "none"]}, ["search"]),
        ({"parentObservationId": ""}, ["root"]),
        ({"fromStartTime": "2026-11-30T00:53:21Z", "toStartTime": "2026-11-30T01:53:22+01:00"}, ["search"]),
        ({"filter": ""}, ["answer", "search", "root"]),
        ({"foo": "ignored", "limit": 1}, ["answer"]),
    ],
)
async def test_parameters(three: httpx.AsyncClient, query: dict[str, Any], names: list[str]) -> None:
    """Each parameter narrows the list; unknown ones are ignored."""
    assert [row["name"] for row in await observations(three, **query)] == names


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"limit": "1001"}, "Too big: expected number to be <=1000"),
        ({"limit": "-1"}, "Too small: expected number to be >=0"),
        ({"limit": "1e999"}, "Invalid input: expected number, received NaN"),
        ({"type": "chain"}, None),
        ({"isRootObservation": "1"}, 'Invalid option: expected one of "true"|"false"'),
        ({"toStartTime": "2026-11-30"}, "Invalid ISO datetime"),
        ({"parseIoAsJson": "true"}, None),
    ],
)
async def test_parameters_that_are_refused(client: httpx.AsyncClient, query: dict[str, str], message: str) -> None:
    """A parameter out of its range is refused."""
    status, body = await refused(client, "GET", LIST, params=query)

    assert (status, body["message"], len(body["error"])) == (400, INVALID, 1)
    assert message in (None, body["error"][0]["message"])


async def test_pages_end_without_a_cursor(client: httpx.AsyncClient) -> None:
    """Walking by cursor yields each row once, also among equal start times in several traces."""
    await send(client, *(span(traceId=f"t{i % 3}", spanId=f"{i:02}") for i in range(10)))
    seen: list[tuple[str, str]] = []
    query: dict[str, Any] = {"limit": 4}
    sizes = []
    while True:
        answer = (await client.get(LIST, params=query)).json()
        sizes.append(len(answer["data"]))
        seen += [(row["traceId"], row["id"]) for row in answer["data"]]
        if not (cursor := answer["meta"].get("cursor")):
            break
        query["cursor"] = cursor

    assert sizes == [4, 4, 2]
    assert sorted(seen) == sorted((f"t{i % 3}", f"{i:02}") for i in range(10))


@pytest.mark.parametrize("cursor", ["garbage", base64.b64encode(b"[]").decode(), base64.b64encode(b"\xff").decode()])
async def test_a_cursor_of_another_make(client: httpx.AsyncClient, cursor: str) -> None:
    """A cursor that is none is refused."""
    body = {"message": "Invalid cursor format", "error": "InvalidRequestError"}

    assert await refused(client, "GET", LIST, params={"cursor": cursor}) == (400, body)


async def test_a_cursor_without_its_keys(client: httpx.AsyncClient) -> None:
    """What a cursor lacks is listed."""
    cursor = base64.b64encode(b'{"a": 1}').decode()

    status, body = await refused(client, "GET", LIST, params={"cursor": cursor})

    assert (status, [issue["path"] for issue in body["error"]]) == (
        400,
        [["cursor", "lastStartTimeTo"], ["cursor", "lastTraceId"], ["cursor", "lastId"]],
    )


async def test_content_comes_only_when_asked_for(three: httpx.AsyncClient) -> None:
    """Input and output are raw texts, and long metadata is cut unless they or the key are asked for."""
    await send(three, span({"langfuse.observation.metadata.long": "x" * 300}, name="long", at=9))

    short = await observations(three, fields="metadata", name="long")
    expanded = await observations(three, fields="metadata", name="long", expandMetadata="long")
    with_io = await observations(three, fields="io,metadata", name="long")

    assert [len(rows[0]["metadata"]["long"]) for rows in (short, expanded, with_io)] == [200, 300, 300]
    assert ["input" in rows[0] for rows in (short, expanded, with_io)] == [False, False, True]


async def test_a_span_sent_again_replaces_the_first(client: httpx.AsyncClient) -> None:
    """Same trace, id and start: the last version counts; another start is another row."""
    await send(client, span(name="one"))
    await send(client, span(name="two"), span(name="three", at=1))

    assert [row["name"] for row in await observations(client)] == ["three", "two"]


async def test_reading_can_lag_behind_writing(client: httpx.AsyncClient, faults: Faults, clock: Clock) -> None:
    """With `lag_seconds` a row shows only after that long."""
    faults.lag_seconds = 2
    await send(client, span())
    before = await observations(client)
    clock.ms += 2000
    after = await observations(client)

    assert (len(before), len(after)) == (0, 1)


async def test_rows_can_come_twice_and_in_another_order(three: httpx.AsyncClient, faults: Faults) -> None:
    """`duplicates` and `reordered` disturb each page."""
    faults.apply({"duplicates": True, "reordered": True})

    assert [row["name"] for row in await observations(three)] == [
        "root",
        "root",
        "search",
        "search",
        "answer",
        "answer",
    ]
