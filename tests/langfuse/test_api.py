"""Reading and writing against a real server on loopback."""

import json
from datetime import timedelta

import httpx
import pytest
from langfuse.api.client import AsyncLangfuseAPI

from ragtrace.errors import BackendRejected, BackendUnavailable, ConfigError
from ragtrace.extract import ObservationRow
from ragtrace.langfuse import (
    CallQuery,
    Connection,
    LangfuseApi,
    OutgoingScore,
    Project,
    RetryPolicy,
    ScoreQuery,
    ScoreRecord,
    Server,
    open_langfuse,
    write,
)
from ragtrace.langfuse import observations as observations_
from ragtrace.local.in_thread import LocalLangfuse
from ragtrace.local.in_thread import local_langfuse as serve_locally
from ragtrace.settings import load_settings
from tests.seed import STARTED_AT, SeedCall, many, seed, span_id, stored_scores, trace_id

AT_ONCE = RetryPolicy(timeout_seconds=10, first_pause_seconds=0.001)


def connect(server: LocalLangfuse, *, transport: httpx.AsyncBaseTransport | None = None) -> LangfuseApi:
    connection = Connection(
        server.base_url,
        public_key=server.public_key,
        secret_key=server.secret_key,
        policy=AT_ONCE,
        transport=transport,
    )
    return LangfuseApi(connection)


async def listed(api: LangfuseApi, query: CallQuery) -> list[tuple[str, str]]:
    return [(row.trace_id, row.id) async for page in api.list_calls(query) for row in page]


def score(number: int, name: str = "faithfulness", **fields: object) -> OutgoingScore:
    record = ScoreRecord(
        **{
            "id": f"s-{name}-{number}",
            "trace_id": trace_id(number),
            "observation_id": span_id(number),
            "name": name,
            "value": 0.5,
            "data_type": "NUMERIC",
            "timestamp": STARTED_AT,
            **fields,
        }
    )
    return OutgoingScore(id=record.id, body=record.body())


@pytest.mark.parametrize(("emulate", "arrays"), [("4.59", True), ("4.16", False)])
async def test_the_server_says_what_it_is(tmp_path, emulate, arrays):
    """Version and project are known; whether it takes arrays of scores follows from the version."""
    with serve_locally(tmp_path / "l.sqlite", emulate=emulate) as server:
        async with connect(server) as api:
            health, again = await api.health(), await api.health()
            project = await api.project()

    assert health == Server(version=f"{emulate}.0", takes_score_arrays=arrays)
    assert again is health
    assert project == Project(id="local-project", name="local")


@pytest.mark.parametrize(
    ("version", "arrays"),
    [("4.59.0", True), ("v5.0.1", True), ("4.58.9", False), ("3.200.0", False), ("4.59.0-rc.1", True), ("edge", True)],
)
def test_arrays_are_known_by_version(version, arrays):
    """From 4.59 on scores go in arrays; a version that says nothing is taken for a new one."""
    assert write.takes_arrays(version) is arrays


async def test_a_project_may_have_no_name():
    """A server that lists no project is no error."""
    transport = httpx.MockTransport(lambda request: httpx.Response(200, json={"data": []}))
    api = LangfuseApi(Connection("http://x.test", public_key="pk", secret_key="sk", transport=transport))

    async with api:
        assert await api.project() is None


async def test_calls_are_listed_without_content(local_langfuse):
    """A listing has the labels and the metadata, newest first, and neither input nor output."""
    seed(
        local_langfuse,
        [
            SeedCall(number=0, environment="prod", tags=("a", "b"), metadata={"ragtrace_prompt_length": 321}),
            SeedCall(number=1, started_at=STARTED_AT + timedelta(seconds=5), seconds=2.5),
            SeedCall(number=2, name="something else"),
        ],
    )

    async with connect(local_langfuse) as api:
        pages = [page async for page in api.list_calls(CallQuery())]

    assert len(pages) == 1
    newest, oldest = pages[0]
    assert (newest.trace_id, newest.id, newest.end_time) == (
        trace_id(1),
        span_id(1),
        STARTED_AT + timedelta(seconds=7.5),
    )
    assert (oldest.environment, oldest.tags, oldest.type, oldest.name) == ("prod", ("a", "b"), "CHAIN", "rag-call")
    assert oldest.metadata["ragtrace_prompt_length"] == 321
    assert (oldest.input, oldest.output) == (None, None)


async def test_windows_select_calls(local_langfuse):
    """Start times from and to, end times from, one trace, and roots only are understood by the server."""
    seed(local_langfuse, [*many(4), SeedCall(number=9, started_at=STARTED_AT - timedelta(hours=1), seconds=3600)])
    queries = [
        CallQuery(since=STARTED_AT + timedelta(seconds=1), until=STARTED_AT + timedelta(seconds=3)),
        CallQuery(ended_since=STARTED_AT + timedelta(seconds=3)),
        CallQuery(ended_since=STARTED_AT, until=STARTED_AT),
        CallQuery(trace_id=trace_id(2)),
        CallQuery(name=None, roots_only=True, since=STARTED_AT + timedelta(seconds=3)),
    ]

    async with connect(local_langfuse) as api:
        found = [[trace for trace, _ in await listed(api, query)] for query in queries]

    assert found == [
        [trace_id(2), trace_id(1)],
        [trace_id(3), trace_id(2)],
        [trace_id(9)],
        [trace_id(2)],
        [trace_id(3)],
    ]


async def test_listing_pages_to_the_end(local_langfuse):
    """Calls with the same start time are all found over the borders of pages."""
    seed(local_langfuse, many(25, apart=timedelta(0)))

    async with connect(local_langfuse) as api:
        pages = [page async for page in observations_.list_calls(api.connection, CallQuery(), page=7)]

    assert [len(page) for page in pages] == [7, 7, 7, 4]
    assert {row.trace_id for page in pages for row in page} == {trace_id(n) for n in range(25)}


async def test_content_comes_in_batches(local_langfuse):
    """Content is fetched for what is wanted; what has gone is named, each call comes once."""
    seed(local_langfuse, many(3))
    local_langfuse.faults.duplicates = True

    async with connect(local_langfuse) as api:
        rows = {row.trace_id: row async for page in api.list_calls(CallQuery()) for row in page}
        gone = ObservationRow(
            id=span_id(77), trace_id=trace_id(77), name="rag-call", type="CHAIN", start_time=STARTED_AT
        )
        wanted = [rows[trace_id(1)], gone, rows[trace_id(0)]]
        batches = [batch async for batch in api.fetch(wanted)]

    assert len(batches) == 1
    assert [row.trace_id for row in batches[0].rows] == [trace_id(1), trace_id(0)]
    assert json.loads(batches[0].rows[0].input or "")["question"] == "How high is the tower?"
    assert batches[0].rows[0].output == "The tower is 57 metres high."
    assert batches[0].missing == (gone,)
    assert batches[0].too_large == ()


def test_batches_are_bounded_in_bytes_and_rows():
    """Long prompts make small batches; many short ones are cut where the URL would be too long."""

    def rows(count: int, length: object) -> list[ObservationRow]:
        base = ObservationRow(id="i", trace_id="t", name="n", type="CHAIN", start_time=STARTED_AT)
        return [
            ObservationRow(
                id=base.id,
                trace_id="t",
                name="n",
                type="CHAIN",
                start_time=STARTED_AT,
                metadata={"ragtrace_prompt_length": length},
            )
        ] * count

    sizes = [
        [len(batch) for batch in observations_.batches(rows(*case))]
        for case in [(250, 100), (5, 1_000_000), (3, "900000"), (2, None), (0, 1)]
    ]

    assert sizes == [[120, 120, 10], [1, 1, 1, 1, 1], [2, 1], [2], []]


class Limited(httpx.AsyncBaseTransport):
    """Passes requests on, but answers 413 where the reply would be too large, as Langfuse Cloud does."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._inner = httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        reply = await self._inner.handle_async_request(request)
        content = await reply.aread()
        await reply.aclose()
        if len(content) > self._limit:
            return httpx.Response(413, text="Response too large", request=request)
        return httpx.Response(reply.status_code, headers=reply.headers, content=content, request=request)

    async def aclose(self) -> None:
        await self._inner.aclose()


async def test_answers_that_are_too_large_are_asked_for_in_halves(local_langfuse):
    """Listing and fetching get by with less at a time; a call that is too large alone is named."""
    seed(local_langfuse, [*many(6), SeedCall(number=6, answer="x" * 20_000)])

    async with connect(local_langfuse, transport=Limited(5_000)) as api:
        rows = [row async for page in observations_.list_calls(api.connection, CallQuery(), page=20) for row in page]
        batches = [batch async for batch in api.fetch(rows)]

    assert {row.trace_id for row in rows} == {trace_id(n) for n in range(7)}
    assert {row.trace_id for batch in batches for row in batch.rows} == {trace_id(n) for n in range(6)}
    assert [row.trace_id for batch in batches for row in batch.too_large] == [trace_id(6)]


async def test_a_listing_that_is_too_large_even_alone_is_an_error(local_langfuse):
    """One row that cannot be listed is said, not looped over."""
    seed(local_langfuse, many(1))

    async with connect(local_langfuse, transport=Limited(10)) as api:
        with pytest.raises(BackendRejected, match="too much at once to list calls"):
            await listed(api, CallQuery())


async def test_whole_traces_are_fetched(local_langfuse):
    """All observations of some traces come with content, each once."""
    seed(local_langfuse, [SeedCall(number=n, name="R") for n in range(3)])
    local_langfuse.faults.duplicates = True

    async with connect(local_langfuse) as api:
        rows = await api.fetch_traces([trace_id(0), trace_id(2)])

    assert sorted((row.trace_id, row.name, row.output) for row in rows) == [
        (trace_id(0), "R", "The tower is 57 metres high."),
        (trace_id(2), "R", "The tower is 57 metres high."),
    ]


async def test_rows_are_what_the_sdk_reads(local_langfuse):
    """Our reading of a row agrees with that of Langfuse's own SDK."""
    seed(local_langfuse, [SeedCall(environment="prod", tags=("t",), metadata={"k": "v"})])
    sdk = AsyncLangfuseAPI(
        base_url=local_langfuse.base_url, username=local_langfuse.public_key, password=local_langfuse.secret_key
    )
    fields = "core,basic,io,metadata,model,trace_context"

    theirs = (await sdk.observations.get_many(fields=fields)).data[0]
    async with connect(local_langfuse) as api:
        ours = (await api.fetch_traces([trace_id(0)]))[0]
    await sdk._client_wrapper.httpx_client.httpx_client.aclose()

    assert (ours.id, ours.trace_id, ours.type, ours.start_time, ours.end_time) == (
        theirs.id,
        theirs.trace_id,
        theirs.type,
        theirs.start_time,
        theirs.end_time,
    )
    assert (ours.input, ours.output, ours.metadata, ours.environment, ours.tags) == (
        theirs.input,
        theirs.output,
        theirs.metadata,
        theirs.environment,
        tuple(theirs.tags or ()),
    )


@pytest.mark.parametrize("emulate", ["4.59", "4.16"])
async def test_scores_are_written_and_read_back(tmp_path, emulate):
    """Values, types, comment, metadata and target arrive as they were sent; a 0 stays a 0 and a third is not rounded."""
    sent = [
        score(0, value=0.0, comment="worst first", metadata={"n": [1, {"a": None}]}, environment="prod"),
        score(0, "hallucination_rate", value=0),
        score(0, "context_recall", value=1 / 3),
        score(0, "has_contexts", value=0, data_type="BOOLEAN"),
        score(0, "rag_outcome", value="scored", data_type="CATEGORICAL"),
    ]

    with serve_locally(tmp_path / "l.sqlite", emulate=emulate) as server:
        async with connect(server) as api:
            receipts = [receipt async for receipt in api.write_scores(sent)]
            stored = {s.name: s async for page in api.read_scores(ScoreQuery(trace_ids=(trace_id(0),))) for s in page}
            marks = await api.marks([trace_id(0), trace_id(1), trace_id(0)])

    assert [(receipt.accepted, receipt.rejected) for receipt in receipts] == [(tuple(s.id for s in sent), ())]
    assert {name: (s.value, s.data_type) for name, s in stored.items()} == {
        "faithfulness": (0.0, "NUMERIC"),
        "hallucination_rate": (0, "NUMERIC"),
        "context_recall": (1 / 3, "NUMERIC"),
        "has_contexts": (False, "BOOLEAN"),
        "rag_outcome": ("scored", "CATEGORICAL"),
    }
    first = stored["faithfulness"]
    assert (first.trace_id, first.observation_id, first.comment, first.environment, first.source) == (
        trace_id(0),
        span_id(0),
        "worst first",
        "prod",
        "API",
    )
    assert first.metadata == {"n": [1, {"a": None}]}
    assert (first.timestamp == STARTED_AT) is (emulate == "4.59")
    assert marks == {(trace_id(0), span_id(0))}


async def test_scores_are_selected(local_langfuse):
    """Names, ids, environment and time narrow what is read; a score on a trace has no observation."""
    other = {"id": "t", "traceId": trace_id(5), "name": "thumbs", "value": 1, "timestamp": "2026-03-01T13:00:00.000Z"}
    auth = (local_langfuse.public_key, local_langfuse.secret_key)
    httpx.post(f"{local_langfuse.base_url}/api/public/scores", json=[other], auth=auth)
    queries = [
        ScoreQuery(names=("thumbs",)),
        ScoreQuery(ids=("s-faithfulness-1", "t")),
        ScoreQuery(environment="prod"),
        ScoreQuery(since=STARTED_AT + timedelta(minutes=1)),
        ScoreQuery(until=STARTED_AT + timedelta(minutes=1)),
    ]

    async with connect(local_langfuse) as api:
        sent = [score(1, environment="prod"), score(2, environment="dev")]
        assert [len(receipt.accepted) async for receipt in api.write_scores(sent)] == [2]
        found = [[s.id async for page in api.read_scores(query) for s in page] for query in queries]
        thumbs = [s async for page in api.read_scores(queries[0]) for s in page]

    assert [sorted(ids) for ids in found] == [
        ["t"],
        ["s-faithfulness-1", "t"],
        ["s-faithfulness-1"],
        ["t"],
        ["s-faithfulness-1", "s-faithfulness-2"],
    ]
    assert (thumbs[0].trace_id, thumbs[0].observation_id) == (trace_id(5), None)


async def test_reading_scores_pages_to_the_end(local_langfuse):
    """More scores than fit on a page are all read."""
    async with connect(local_langfuse) as api:
        assert [len(receipt.accepted) async for receipt in api.write_scores([score(n) for n in range(230)])] == [230]
        pages = [len(page) async for page in api.read_scores(ScoreQuery())]
        marks = await api.marks([trace_id(n) for n in range(230)])

    assert pages == [100, 100, 30]
    assert marks == set()


@pytest.mark.parametrize("emulate", ["4.59", "4.16"])
async def test_a_refused_score_does_not_take_others_along(tmp_path, emulate):
    """The score that Langfuse will not have is found and named; all others are stored once."""
    bad = OutgoingScore(id="bad", body=b'{"id":"bad","traceId":"t","name":"","value":1}')
    sent = [*(score(n) for n in range(3)), bad, *(score(n) for n in range(3, 9))]

    with serve_locally(tmp_path / "l.sqlite", emulate=emulate) as server:
        async with connect(server) as api:
            receipts = [receipt async for receipt in api.write_scores(sent)]
        stored = stored_scores(server)

    accepted = [score_id for receipt in receipts for score_id in receipt.accepted]
    assert sorted(accepted) == sorted(s.id for s in sent if s is not bad)
    assert [score_id for receipt in receipts for score_id, _ in receipt.rejected] == ["bad"]
    assert [s["id"] for s in stored] == sorted(accepted)


async def test_large_batches_are_cut(local_langfuse):
    """No request is larger than Langfuse takes."""
    large = [score(n, comment="c" * 300_000) for n in range(5)]

    async with connect(local_langfuse) as api:
        receipts = [receipt async for receipt in api.write_scores(large)]

    assert [len(receipt.accepted) for receipt in receipts] == [2, 2, 1]
    assert [write.batches([]).__next__ for _ in ()] == []


class GoesAway(httpx.AsyncBaseTransport):
    """Passes some posts on and answers 503 from then on."""

    def __init__(self, after: int) -> None:
        self._left = after
        self._inner = httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self._left -= request.method == "POST"
        if self._left < 0:
            return httpx.Response(503, json={"message": "gone"}, request=request)
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()


@pytest.mark.parametrize(("emulate", "after"), [("4.59", 1), ("4.16", 20)])
async def test_what_was_taken_before_a_failure_is_known(tmp_path, emulate, after):
    """A server that goes away in the middle: scores that it took are acknowledged, then the error comes."""
    sent = [score(n, comment="c" * 30_000) for n in range(50)]
    accepted: list[str] = []

    with serve_locally(tmp_path / "l.sqlite", emulate=emulate) as server:
        async with connect(server, transport=GoesAway(after)) as api:

            async def write_all() -> None:
                async for receipt in api.write_scores(sent):
                    accepted.extend(receipt.accepted)

            with pytest.raises(BackendUnavailable, match="could not write scores"):
                await write_all()
        stored = stored_scores(server)

    assert sorted(accepted) == [s["id"] for s in stored]
    assert 0 < len(stored) < len(sent)


@pytest.mark.parametrize("emulate", ["4.59", "4.16"])
async def test_wrong_keys_are_an_error_for_all(tmp_path, emulate):
    """Refused keys are no property of a score: nothing is tried in halves."""
    with serve_locally(tmp_path / "l.sqlite", emulate=emulate) as server:
        connection = Connection(server.base_url, public_key=server.public_key, secret_key="sk-wrong", policy=AT_ONCE)
        async with LangfuseApi(connection) as api:
            with pytest.raises(BackendRejected, match=r"keys refused \(401\)"):
                assert [receipt async for receipt in api.write_scores([score(0), score(1)])]

    assert connection.requests <= 3


def test_a_score_that_is_no_number_cannot_be_written():
    """NaN raises instead of leaving the process."""
    with pytest.raises(ValueError, match="not JSON compliant"):
        score(0, value=float("nan"))


async def test_settings_open_a_project(local_langfuse):
    """The three settings name the project; without them nothing is sent anywhere."""
    settings = load_settings(
        {
            "LANGFUSE_BASE_URL": local_langfuse.base_url + "/",
            "LANGFUSE_PUBLIC_KEY": local_langfuse.public_key,
            "LANGFUSE_SECRET_KEY": local_langfuse.secret_key,
        }
    )

    async with open_langfuse(settings) as api:
        assert (await api.health()).version == "4.59.0"
    with pytest.raises(ConfigError, match="LANGFUSE_BASE_URL"):
        open_langfuse(load_settings({}))


@pytest.mark.parametrize(
    "answer",
    [
        {"data": "none", "meta": {}},
        {"meta": {}},
        {"data": ["x"], "meta": {}},
        {"data": [{"id": 3}], "meta": {}},
        {"data": [{"id": "a", "type": "SPAN", "startTime": "yesterday"}], "meta": {}},
    ],
)
async def test_a_listing_that_is_none_is_said(answer):
    """JSON of another shape is not taken for an empty window."""
    transport = httpx.MockTransport(lambda request: httpx.Response(200, json=answer))
    connection = Connection("http://x.test", public_key="pk", secret_key="sk", transport=transport)

    async with LangfuseApi(connection) as api:
        with pytest.raises(
            BackendRejected, match="answered something else than Langfuse's API when asked to list calls"
        ):
            await listed(api, CallQuery())


async def test_odd_values_of_servers_are_understood():
    """Content that is JSON instead of text, a moment without a zone, and fields left out are read."""
    observation = {
        "id": "a",
        "traceId": "t",
        "type": "span",
        "startTime": "2026-03-01T12:00:00",
        "input": {"question": "q"},
        "output": None,
        "providedModelName": "m",
        "tags": None,
        "metadata": None,
        "environment": "",
    }
    transport = httpx.MockTransport(
        lambda request: httpx.Response(200, json={"data": [observation], "meta": {"cursor": ""}})
    )
    connection = Connection("http://x.test", public_key="pk", secret_key="sk", transport=transport)

    async with LangfuseApi(connection) as api:
        rows = [row async for page in api.list_calls(CallQuery()) for row in page]

    assert rows == [
        ObservationRow(
            id="a", trace_id="t", name="", type="SPAN", start_time=STARTED_AT, input='{"question": "q"}', model="m"
        )
    ]


async def test_a_score_without_a_value_is_no_score():
    """A stored score that has no value is not made one."""
    stored = {
        "id": "s",
        "name": "n",
        "value": None,
        "dataType": "NUMERIC",
        "timestamp": "2026-03-01T12:00:00Z",
        "source": "API",
    }
    transport = httpx.MockTransport(lambda request: httpx.Response(200, json={"data": [stored], "meta": {}}))
    connection = Connection("http://x.test", public_key="pk", secret_key="sk", transport=transport)

    async with LangfuseApi(connection) as api:
        with pytest.raises(BackendRejected, match="read scores"):
            assert [page async for page in api.read_scores(ScoreQuery())]
