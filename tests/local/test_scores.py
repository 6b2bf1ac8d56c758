"""Taking scores: both generations, configs, the older envelope."""

import json
from typing import Any

import httpx
import pytest

from ragtrace.local.faults import Faults
from tests.local.talk import SPAN, TRACE, Clock, refused, score, scores

SCORES = "/api/public/scores"
NOW = "2026-11-30T00:53:20.000Z"


async def post(client: httpx.AsyncClient, body: Any) -> tuple[int, Any]:
    """Send a score as JSON, lone surrogates escaped."""
    response = await client.post(SCORES, content=json.dumps(body), headers={"content-type": "application/json"})
    return response.status_code, response.json()


async def make_config(client: httpx.AsyncClient, **fields: Any) -> str:
    response = await client.post("/api/public/score-configs", json={"name": "c", "dataType": "NUMERIC", **fields})
    assert response.status_code == 200, response.text
    config_id: str = response.json()["id"]
    return config_id


async def test_an_array_is_accepted_whole(client: httpx.AsyncClient) -> None:
    """4.59 takes an array, honours its timestamps and answers 202."""
    sent = score(
        observationId=SPAN,
        comment="fine",
        metadata={"judge": "m"},
        environment="Prod",
        queueId="q",
        timestamp="2026-01-02T03:04:05+01:00",
    )

    assert await post(client, [sent]) == (202, {"message": "Accepted"})
    assert await scores(client) == [
        {
            "id": "s1",
            "projectId": "local-project",
            "name": "faithfulness",
            "source": "API",
            "timestamp": "2026-01-02T02:04:05.000Z",
            "environment": "prod",
            "createdAt": NOW,
            "updatedAt": NOW,
            "dataType": "NUMERIC",
            "value": 0.5,
            "comment": "fine",
            "configId": None,
            "metadata": {"judge": "m"},
            "authorUserId": None,
            "queueId": "q",
            "subject": {"kind": "observation", "id": SPAN, "traceId": TRACE},
        }
    ]


async def test_an_array_is_accepted_in_part(client: httpx.AsyncClient) -> None:
    """With a bad score among them the answer is 207, which names neither index nor id."""
    bad = [score(id="s2", value=None), "x", score(id=7), score(id="i" * 801), score(timestamp="today")]

    status, body = await post(client, [score(), *bad])

    assert (status, body) == (
        207,
        {
            "accepted": 1,
            "rejected": 5,
            "errors": [
                {"message": "Invalid input"},
                {"message": "Invalid input: expected object, received string"},
                {"message": "Invalid input: expected string, received number"},
                {"message": "Too big: expected string to have <=800 characters"},
                {"message": "Invalid ISO datetime"},
            ],
        },
    )
    assert [row["id"] for row in await scores(client)] == ["s1"]


async def test_one_object_is_taken_too(client: httpx.AsyncClient) -> None:
    """A single score is answered with its id; without a timestamp it gets the time of arrival."""
    status, answer = await post(client, score(id=None))

    assert status == 200
    assert [(row["id"], row["timestamp"]) for row in await scores(client)] == [(answer["id"], NOW)]


@pytest.mark.parametrize(
    ("second", "values"),
    [
        (score(value=0.9, timestamp="2026-01-02T23:59:59.999Z", traceId="other"), [0.9]),
        (score(value=0.9, timestamp="2026-01-03T00:00:00Z"), [0.9, 0.5]),
        (score(value=0.9, timestamp="2026-01-02T10:00:00Z", name="other"), [0.9, 0.5]),
        (score(value=0.9, timestamp="2026-01-02T10:00:00Z", id="other"), [0.9, 0.5]),
    ],
)
async def test_identity_is_id_name_and_day(client: httpx.AsyncClient, second: Any, values: list[float]) -> None:
    """A score replaces another only if id, name and the UTC day of the timestamp agree."""
    first = score(timestamp="2026-01-02T01:00:00Z", comment="gone", metadata={"a": 1})

    for body in (first, second):
        await post(client, [body])

    rows = await scores(client)
    assert [row["value"] for row in rows] == values
    assert (rows[0]["comment"], rows[0]["metadata"]) == (None, {})


async def test_the_recorded_server_merges_by_id(recorded: httpx.AsyncClient, clock: Clock) -> None:
    """4.16 ignores the timestamp, keeps subject, time and environment, and merges metadata."""
    first = score(
        comment="first", metadata={"a": {"x": 1}, "b": 1}, environment="prod", timestamp="2020-01-01T00:00:00Z"
    )
    await post(recorded, first)
    clock.ms += 1000

    await post(recorded, score(name="new", value=1, traceId="other", metadata={"a": {"y": 2}, "b": 2}))

    [row] = await scores(recorded)
    assert (row["name"], row["value"], row["comment"], row["metadata"], row["environment"], row["timestamp"]) == (
        "new",
        1,
        "first",
        {"a": {"x": 1, "y": 2}, "b": 2},
        "prod",
        NOW,
    )
    assert row["subject"] == {"kind": "trace", "id": TRACE}


async def test_the_recorded_server_refuses_arrays(recorded: httpx.AsyncClient) -> None:
    """What SDK 5 sends is refused, as on a real 4.16."""
    status, body = await post(recorded, [score()])

    assert (status, body["error"][0]["message"]) == (400, "Invalid input: expected object, received array")


async def test_the_recorded_server_refuses_long_ids(recorded: httpx.AsyncClient) -> None:
    """The refusal of an id comes as JSON within the message."""
    status, body = await post(recorded, score(id="i" * 801))

    assert (status, json.loads(body["message"])[0]["path"]) == (400, ["body", "id"])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": ""}, "Too small: expected string to have >=1 characters"),
        ({"dataType": "RATIO"}, "Invalid input"),
        ({"value": "NaN", "dataType": "NUMERIC"}, "Invalid input: expected number, received string"),
        (
            {"value": 0.5, "dataType": "BOOLEAN"},
            "Value must be a number equal to either 0 or 1 for data type BOOLEAN",
        ),
        ({"value": True, "dataType": "BOOLEAN"}, "Invalid input: expected number, received boolean"),
        ({"value": 1, "dataType": "CATEGORICAL"}, "Invalid input: expected string, received number"),
        ({"value": "", "dataType": "TEXT"}, "Too small: expected string to have >=1 characters"),
        ({"value": "t" * 501, "dataType": "TEXT"}, "Too big: expected string to have <=500 characters"),
        ({"comment": 7}, "Invalid input: expected string, received number"),
        ({"source": "EVAL"}, 'Invalid option: expected one of "API"|"ANNOTATION"'),
        (
            {"source": "ANNOTATION"},
            "configId is required when source is ANNOTATION (except for CORRECTION scores).",
        ),
        (
            {"sessionId": "s"},
            "Provide exactly one of the following: traceId (with optional observationId), sessionId or datasetRunId. "
            "ObservationId requires traceId.",
        ),
    ],
)
async def test_what_is_no_score(client: httpx.AsyncClient, fields: dict[str, Any], message: str) -> None:
    """A score that Langfuse would refuse is refused with its words."""
    status, body = await post(client, score(**fields))

    assert (status, [issue["message"] for issue in body["error"]]) == (400, [message])


@pytest.mark.parametrize(
    ("content", "headers", "body"),
    [
        (b"xx", {"content-type": "application/json"}, "Invalid JSON"),
        (b'{"value": NaN}', {"content-type": "application/json"}, "Invalid JSON"),
        (b"\xff", {"content-type": "application/json"}, "Invalid JSON"),
        (b'"' + b"z" * (1024 * 1024) + b'"', {"content-type": "application/json"}, "Body exceeded 1mb limit"),
    ],
)
async def test_bodies_that_are_refused(
    client: httpx.AsyncClient, content: bytes, headers: dict[str, str], body: str
) -> None:
    """Bad JSON and bodies over 1 MB are answered in plain text without a content type."""
    response = await client.post(SCORES, content=content, headers=headers)

    assert (response.text, response.headers.get("content-type")) == (body, None)
    assert response.status_code == (413 if "exceeded" in body else 400)


async def test_a_body_without_content_type_is_text(client: httpx.AsyncClient) -> None:
    """As in Langfuse's web framework, a body is JSON only where it says so; an empty one is an empty object."""
    text = await refused(client, "POST", SCORES, content=b"{}")
    empty = await refused(client, "POST", SCORES, headers={"content-type": "application/json"})

    assert text[1]["error"][0]["message"] == "Invalid input: expected object, received string"
    assert empty[1]["error"][0]["message"] == "Invalid input: expected string, received undefined"


@pytest.mark.parametrize(
    ("fields", "subject", "value", "name"),
    [
        ({"traceId": None, "sessionId": "s"}, {"kind": "session", "id": "s"}, 0.5, "faithfulness"),
        ({"traceId": None, "datasetRunId": "r"}, {"kind": "experiment", "id": "r"}, 0.5, "faithfulness"),
        ({"value": 1, "dataType": "BOOLEAN"}, {"kind": "trace", "id": TRACE}, True, "faithfulness"),
        ({"value": "text"}, {"kind": "trace", "id": TRACE}, "text", "faithfulness"),
        ({"value": "new", "dataType": "CORRECTION", "source": "ANNOTATION"},
         {"kind": "trace", "id": TRACE}, "new", "output"),
    ],
)  # fmt: skip
async def test_subjects_and_types(
    client: httpx.AsyncClient, fields: dict[str, Any], subject: Any, value: Any, name: str
) -> None:
    """Each subject and data type comes back as Langfuse shows it."""
    await post(client, [score(**fields)])

    [row] = await scores(client)
    assert (row["subject"], row["value"], row["name"]) == (subject, value, name)


async def test_large_numbers(client: httpx.AsyncClient) -> None:
    """A number beyond 64 bits is kept as a double; one beyond a double is no JSON."""
    large = await post(client, [score(value=10**30)])
    too_large = await client.post(
        SCORES, content=b'{"value": 1' + b"0" * 400 + b"}", headers={"content-type": "application/json"}
    )

    assert (large[0], [row["value"] for row in await scores(client)]) == (202, [1e30])
    assert (too_large.status_code, too_large.text) == (400, "Invalid JSON")


async def test_metadata_that_is_no_object_is_wrapped(client: httpx.AsyncClient) -> None:
    """A list or text comes back under the key `metadata`."""
    await post(client, [score(metadata=[1])])

    assert [row["metadata"] for row in await scores(client)] == [{"metadata": [1]}]


@pytest.mark.parametrize(
    ("config", "fields", "is_kept"),
    [
        ({"minValue": 0, "maxValue": 1}, {"value": 0.5}, True),
        ({"minValue": 0, "maxValue": 1}, {"value": 1.5}, False),
        ({"minValue": 0, "maxValue": 1}, {"value": -1}, False),
        ({}, {"value": 10**6}, True),
        ({}, {"value": 1, "dataType": "BOOLEAN"}, False),
        ({"dataType": "BOOLEAN"}, {"value": 1}, True),
        ({"dataType": "BOOLEAN"}, {"value": 2}, False),
        ({"dataType": "CATEGORICAL", "categories": [{"label": "a", "value": 1}]}, {"value": "a"}, True),
        ({"dataType": "CATEGORICAL", "categories": [{"label": "a", "value": 1}]}, {"value": "b"}, False),
        ({"dataType": "TEXT"}, {"value": "t"}, True),
        ({}, {"value": "t"}, False),
    ],
)
async def test_configs_decide_in_silence(
    client: httpx.AsyncClient, config: dict[str, Any], fields: dict[str, Any], is_kept: bool
) -> None:
    """A score that does not fit its config is acknowledged and never listed; one that fits takes its name."""
    config_id = await make_config(client, **config)

    assert await post(client, [score(configId=config_id, **fields)]) == (202, {"message": "Accepted"})
    assert [row["name"] for row in await scores(client)] == (["c"] if is_kept else [])


async def test_unknown_and_archived_configs_drop_scores(client: httpx.AsyncClient) -> None:
    """Scores that name a config which is gone or was never there are acknowledged and dropped."""
    config_id = await make_config(client)
    await client.patch(f"/api/public/score-configs/{config_id}", json={"isArchived": True})

    status, _ = await post(client, [score(configId=config_id), score(configId="nope")])

    assert (status, await scores(client)) == (202, [])


async def test_a_lone_surrogate_loses_the_batch(client: httpx.AsyncClient, recorded: httpx.AsyncClient) -> None:
    """Text that UTF-8 cannot hold is acknowledged, and nothing that came with it is stored."""
    poisoned = score(comment="a\ud83db")

    answers = [await post(client, [score(id="s2"), poisoned]), await post(recorded, poisoned)]

    assert answers == [(202, {"message": "Accepted"}), (200, {"id": "s1"})]
    assert await scores(client) == []


async def test_deleting(client: httpx.AsyncClient) -> None:
    """A deleted score is gone, and may be posted again; an unknown id is acknowledged too."""
    await post(client, [score()])

    answers = [await client.delete(f"{SCORES}/{score_id}") for score_id in ("s1", "unknown")]

    assert [(answer.status_code, answer.json()) for answer in answers] == [
        (202, {"message": "Score deletion queued successfully"})
    ] * 2
    assert await scores(client) == []


async def test_the_older_envelope(client: httpx.AsyncClient) -> None:
    """score-create events are judged one by one; the event's time is the score's; without an id nothing is stored."""
    at = "2026-02-03T04:05:06.000Z"
    batch = [
        {"id": "e1", "type": "score-create", "timestamp": at, "body": score()},
        {"id": "e2", "type": "score-create", "timestamp": at, "body": score(id=None)},
        {"id": "e3", "type": "score-create", "timestamp": at, "body": score(value=None)},
        {"id": "e4", "type": "score-create", "timestamp": "soon", "body": score(id="s4")},
        {"id": "e5", "type": "score-create", "timestamp": at, "body": score(id="i" * 801)},
        {"id": "e6", "type": "trace-create", "timestamp": at, "body": {}},
        {"id": "e7", "type": "score-create", "timestamp": at},
        "x",
    ]

    response = await client.post("/api/public/ingestion", json={"batch": batch})

    answer = response.json()
    assert response.status_code == 207
    assert answer["successes"] == [{"id": event, "status": 201} for event in ("e1", "e2", "e4")]
    assert [(error["id"], error["status"], error["message"]) for error in answer["errors"]] == [
        ("e3", 400, "Invalid request data"),
        ("e5", 400, "Invalid request data"),
        ("e6", 400, "Event type not accepted"),
        ("e7", 400, "Invalid request data"),
        (None, 400, "Event type not accepted"),
    ]
    assert [(row["id"], row["timestamp"]) for row in await scores(client)] == [("s4", NOW), ("s1", at)]


@pytest.mark.parametrize("body", [{}, [], {"batch": {}}])
async def test_an_envelope_without_a_batch(client: httpx.AsyncClient, body: Any) -> None:
    """The refusal has its own form."""
    status, answer = await refused(client, "POST", "/api/public/ingestion", json=body)

    assert (status, answer["message"], len(answer["errors"])) == (400, "Invalid request data", 1)


async def test_listed_scores_can_lag(client: httpx.AsyncClient, faults: Faults, clock: Clock) -> None:
    """A score shows only after `lag_seconds`."""
    faults.lag_seconds = 5
    await post(client, [score()])
    before = await scores(client)
    clock.ms += 5000

    assert (before, len(await scores(client))) == ([], 1)
