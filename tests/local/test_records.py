"""Score configs, annotation queues, datasets and comments."""

from typing import Any

import httpx
import pytest

from tests.local.talk import SPAN, TRACE, Clock, refused, send, span

CONFIGS = "/api/public/score-configs"
QUEUES = "/api/public/annotation-queues"
ITEMS = "/api/public/dataset-items"
COMMENTS = "/api/public/comments"
NOW = "2026-11-30T00:53:20.000Z"
LATER = "2026-11-30T00:53:21.000Z"


async def post(client: httpx.AsyncClient, path: str, **body: Any) -> dict[str, Any]:
    response = await client.post(path, json=body)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


async def get(client: httpx.AsyncClient, path: str, **query: Any) -> dict[str, Any]:
    response = await client.get(path, params=query)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def messages(refusal: tuple[int, Any]) -> list[str]:
    status, body = refusal
    assert (status, body["message"]) == (400, "Invalid request data")
    return [issue["message"] for issue in body["error"]]


async def test_configs_are_made_changed_and_archived(client: httpx.AsyncClient, clock: Clock) -> None:
    """A config can be renamed, bounded and archived; a second one may have the same name."""
    made = await post(client, CONFIGS, name="faithfulness", dataType="NUMERIC", minValue=0, maxValue=1)
    twin = await post(client, CONFIGS, name="faithfulness", dataType="NUMERIC")
    clock.ms += 1000

    response = await client.patch(
        f"{CONFIGS}/{made['id']}", json={"name": "new", "description": "d", "maxValue": 2, "isArchived": True}
    )

    assert response.json() == {
        "id": made["id"],
        "name": "new",
        "projectId": "local-project",
        "createdAt": NOW,
        "updatedAt": LATER,
        "description": "d",
        "minValue": 0,
        "maxValue": 2,
        "isArchived": True,
        "dataType": "NUMERIC",
        "categories": None,
    }
    assert await get(client, f"{CONFIGS}/{made['id']}") == response.json()
    assert await get(client, CONFIGS) == {
        "data": [twin, response.json()],
        "meta": {"page": 1, "limit": 50, "totalItems": 2, "totalPages": 1},
    }


async def test_boolean_configs_have_their_categories(client: httpx.AsyncClient) -> None:
    """They come by themselves."""
    made = await post(client, CONFIGS, name="flag", dataType="BOOLEAN")

    assert made["categories"] == [{"label": "True", "value": 1}, {"label": "False", "value": 0}]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"name": "a/b"}, ["Name contains invalid characters"]),
        ({"name": "n" * 36}, ["Too big: expected string to have <=35 characters"]),
        ({"name": 7}, ["Invalid input: expected string, received number"]),
        ({"dataType": "RATIO"}, ["Invalid input"]),
        ({"minValue": 1, "maxValue": 1}, ["Maximum value must be greater than Minimum value"]),
        ({"minValue": True}, ["Invalid input: expected number, received boolean"]),
        ({"categories": []}, ["Invalid input: expected undefined, received array"]),
        ({"dataType": "CATEGORICAL"}, ["Invalid input"]),
        ({"dataType": "CATEGORICAL", "categories": "x"}, ["Invalid input: expected array, received string"]),
        (
            {"dataType": "CATEGORICAL", "categories": [{"label": "a"}, "x", {"label": "a"}]},
            ["Duplicate category label: a, category labels must be unique"],
        ),
    ],
)
async def test_configs_that_are_refused(client: httpx.AsyncClient, body: dict[str, Any], expected: list[str]) -> None:
    """A config that Langfuse would refuse is refused with its words."""
    whole = {"name": "c", "dataType": "NUMERIC", **body}

    assert messages(await refused(client, "POST", CONFIGS, json=whole)) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, ["Request body cannot be empty. At least one field must be provided for update."]),
        ({"isArchived": "yes"}, ["Invalid input: expected boolean, received string"]),
        ({"name": ""}, ["Too small: expected string to have >=1 characters", "Name contains invalid characters"]),
    ],
)
async def test_changes_that_are_refused(client: httpx.AsyncClient, body: dict[str, Any], expected: list[str]) -> None:
    """A change is checked like a new config."""
    made = await post(client, CONFIGS, name="c", dataType="NUMERIC")

    assert messages(await refused(client, "PATCH", f"{CONFIGS}/{made['id']}", json=body)) == expected


async def test_bounds_that_contradict_stored_ones(client: httpx.AsyncClient) -> None:
    """The refusal of a change that contradicts what is stored has another form."""
    made = await post(client, CONFIGS, name="c", dataType="NUMERIC", maxValue=1)

    assert await refused(client, "PATCH", f"{CONFIGS}/{made['id']}", json={"minValue": 5}) == (
        400,
        {"message": "Maximum value must be greater than Minimum value", "error": "InvalidRequestError"},
    )


@pytest.mark.parametrize(
    ("method", "path", "message"),
    [
        ("GET", f"{CONFIGS}/nope", "Score config not found within authorized project"),
        ("GET", f"{QUEUES}/nope", "Annotation queue not found"),
        ("GET", f"{QUEUES}/nope/items", "Annotation queue not found"),
        ("GET", f"{QUEUES}/nope/items/nope", "Annotation queue item not found"),
        ("DELETE", f"{QUEUES}/nope/items/nope", "Annotation queue item not found"),
        ("GET", "/api/public/v2/datasets/nope", "Dataset not found"),
        ("GET", f"{ITEMS}?datasetName=nope", "Dataset not found"),
        ("GET", f"{ITEMS}/nope", "Dataset item not found"),
        ("POST", "/api/public/dataset-run-items", "Dataset item not found"),
        ("GET", f"{COMMENTS}/nope", "Comment not found within authorized project"),
    ],
)
async def test_what_is_not_there(client: httpx.AsyncClient, method: str, path: str, message: str) -> None:
    """Each kind of object has its own 404."""
    body = {"message": message, "error": "LangfuseNotFoundError"}

    assert await refused(client, method, path) == (404, body)


async def make_queue(client: httpx.AsyncClient) -> str:
    config = await post(client, CONFIGS, name="c", dataType="NUMERIC")
    queue = await post(client, QUEUES, name="review", description="d", scoreConfigIds=[config["id"]])
    queue_id: str = queue["id"]
    return queue_id


async def test_queues(client: httpx.AsyncClient) -> None:
    """A queue is made once by name, over configs that exist."""
    queue = await make_queue(client)
    shown = await get(client, f"{QUEUES}/{queue}")

    again = await refused(client, "POST", QUEUES, json={"name": "review", "scoreConfigIds": shown["scoreConfigIds"]})
    unknown = await refused(client, "POST", QUEUES, json={"name": "other", "scoreConfigIds": ["nope"]})

    assert (shown["name"], shown["description"], shown["createdAt"]) == ("review", "d", NOW)
    assert (await get(client, QUEUES))["data"] == [shown]
    assert [status for status, _ in (again, unknown)] == [400, 400]
    assert [body["message"] for _, body in (again, unknown)] == [
        "A queue with this name already exists.",
        "At least one of the score config IDs cannot be found for the given project.",
    ]


@pytest.mark.parametrize(
    ("config_ids", "message"),
    [([], "Too small: expected array to have >=1 items"), ("x", "Invalid input: expected array, received string")],
)
async def test_queues_need_configs(client: httpx.AsyncClient, config_ids: Any, message: str) -> None:
    """A queue without configs is refused."""
    body = {"name": "q", "scoreConfigIds": config_ids}

    assert messages(await refused(client, "POST", QUEUES, json=body)) == [message]


async def test_queue_items_come_twice_if_sent_twice(client: httpx.AsyncClient, clock: Clock) -> None:
    """Langfuse does not check for duplicates; completing is timed, and setting back keeps that time."""
    items = f"{QUEUES}/{await make_queue(client)}/items"
    first = await post(client, items, objectId=TRACE, objectType="TRACE")
    second = await post(client, items, objectId=TRACE, objectType="TRACE", status="COMPLETED")
    clock.ms += 1000

    await client.patch(f"{items}/{first['id']}", json={"status": "COMPLETED"})
    unchanged = (await client.patch(f"{items}/{second['id']}", json={})).json()
    back = (await client.patch(f"{items}/{first['id']}", json={"status": "PENDING"})).json()

    assert (first["completedAt"], second["completedAt"]) == (None, NOW)
    assert (back["status"], back["completedAt"], unchanged["status"]) == ("PENDING", LATER, "COMPLETED")
    assert [item["id"] for item in (await get(client, items))["data"]] == [second["id"], first["id"]]
    assert (await get(client, items, status="PENDING"))["data"] == [back]
    assert await get(client, f"{items}/{first['id']}") == back


async def test_queue_items_can_be_deleted(client: httpx.AsyncClient) -> None:
    """A deleted item is gone."""
    items = f"{QUEUES}/{await make_queue(client)}/items"
    item = await post(client, items, objectId="s", objectType="SESSION")

    answer = (await client.delete(f"{items}/{item['id']}")).json()

    assert answer == {"success": True, "message": "Annotation queue item deleted successfully"}
    assert (await get(client, items))["data"] == []


async def test_datasets_are_upserted_by_name(client: httpx.AsyncClient, clock: Clock) -> None:
    """A second create changes what it names and keeps the rest; names may have slashes."""
    await post(client, "/api/public/v2/datasets", name="a/b c", description="one", metadata={"m": 1})
    clock.ms += 1000

    changed = await post(client, "/api/public/v2/datasets", name="a/b c", description="two")

    assert changed == {
        "id": changed["id"],
        "name": "a/b c",
        "projectId": "local-project",
        "description": "two",
        "metadata": {"m": 1},
        "inputSchema": None,
        "expectedOutputSchema": None,
        "createdAt": NOW,
        "updatedAt": LATER,
    }
    assert await get(client, "/api/public/v2/datasets/a%2Fb%20c") == changed
    assert (await get(client, "/api/public/v2/datasets"))["data"] == [changed]


async def test_dataset_items_are_upserted_by_id(client: httpx.AsyncClient) -> None:
    """A second create changes what it names; an archived item leaves the list but can be read."""
    await post(client, "/api/public/v2/datasets", name="ds")
    await post(client, ITEMS, datasetName="ds", id="i1", input={"q": 1}, sourceTraceId=TRACE, sourceObservationId=SPAN)
    other = await post(client, ITEMS, datasetName="ds", input="text")

    changed = await post(client, ITEMS, datasetName="ds", id="i1", expectedOutput="a")
    by_source = await get(client, ITEMS, sourceTraceId=TRACE, sourceObservationId=SPAN)
    archived = await post(client, ITEMS, datasetName="ds", id="i1", status="ARCHIVED")

    assert (changed["input"], changed["expectedOutput"], changed["status"]) == ({"q": 1}, "a", "ACTIVE")
    assert by_source["data"] == [changed]
    assert (await get(client, ITEMS, datasetName="ds"))["data"] == [other]
    assert await get(client, f"{ITEMS}/i1") == archived


async def test_dataset_items_can_be_deleted(client: httpx.AsyncClient) -> None:
    """A deleted item is gone."""
    await post(client, "/api/public/v2/datasets", name="ds")
    await post(client, ITEMS, datasetName="ds", id="i1")

    answer = (await client.delete(f"{ITEMS}/i1")).json()

    assert answer == {"message": "Dataset item successfully deleted"}
    assert (await get(client, ITEMS))["data"] == []


async def test_items_need_a_dataset(client: httpx.AsyncClient) -> None:
    """An item for a dataset that is not there is refused, as is an unknown status."""
    unknown = await refused(client, "POST", ITEMS, json={"datasetName": "nope"})
    odd = await refused(client, "POST", ITEMS, json={"datasetName": "nope", "status": "GONE"})

    assert unknown == (
        404,
        {"message": "Dataset nope not found for project local-project", "error": "LangfuseNotFoundError"},
    )
    assert messages(odd) == ['Invalid option: expected one of "ACTIVE"|"ARCHIVED"']


async def test_comments_are_on_things_that_exist(client: httpx.AsyncClient) -> None:
    """Traces, observations and sessions can be commented on, once they are there."""
    await send(client, span({"session.id": "s"}))
    ids = [
        (await post(client, COMMENTS, projectId="any", objectType=kind, objectId=object_id, content=" hi "))["id"]
        for kind, object_id in (("TRACE", TRACE), ("OBSERVATION", SPAN), ("SESSION", "s"))
    ]

    listed = await get(client, COMMENTS, objectType="TRACE", objectId=TRACE)
    all_of_type = await get(client, COMMENTS, objectType="SESSION")

    shown = {
        "id": ids[0],
        "projectId": "local-project",
        "createdAt": NOW,
        "updatedAt": NOW,
        "objectType": "TRACE",
        "objectId": TRACE,
        "content": "hi",
        "authorUserId": None,
    }
    assert listed["data"] == [shown]
    assert [comment["id"] for comment in all_of_type["data"]] == [ids[2]]
    assert await get(client, f"{COMMENTS}/{ids[0]}") == shown
    assert [comment["id"] for comment in (await get(client, COMMENTS))["data"]] == ids[::-1]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"content": " "}, "Too small: expected string to have >=1 characters"),
        ({"content": "k" * 5001}, "Too big: expected string to have <=5000 characters"),
        ({"content": None}, "Invalid input: expected string, received null"),
    ],
)
async def test_comments_that_are_refused(client: httpx.AsyncClient, body: dict[str, Any], message: str) -> None:
    """Content is required and bounded."""
    whole = {"projectId": "p", "objectType": "TRACE", "objectId": TRACE, **body}

    assert messages(await refused(client, "POST", COMMENTS, json=whole)) == [message]


@pytest.mark.parametrize("kind", ["TRACE", "PROMPT"])
async def test_comments_on_what_is_not_there(client: httpx.AsyncClient, kind: str) -> None:
    """A comment on an unknown object is refused, as is one on a prompt, of which there are none here."""
    body = {"projectId": "p", "objectType": kind, "objectId": "x", "content": "c"}

    assert await refused(client, "POST", COMMENTS, json=body) == (
        404,
        {
            "message": f"Reference object, {kind}: x not found. Skipping comment creation.",
            "error": "LangfuseNotFoundError",
        },
    )


async def test_listing_comments_of_an_object_needs_its_type(client: httpx.AsyncClient) -> None:
    """An object id alone is refused."""
    refusal = await refused(client, "GET", COMMENTS, params={"objectId": "x"})

    assert messages(refusal) == ["objectType is required when objectId is provided"]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"limit": "101"}, "Too big: expected number to be <=100"),
        ({"page": "0"}, "Too small: expected number to be >=1"),
    ],
)
async def test_page_bounds(client: httpx.AsyncClient, query: dict[str, str], message: str) -> None:
    """Pages count from 1 and hold at most 100."""
    assert messages(await refused(client, "GET", CONFIGS, params=query)) == [message]


@pytest.mark.parametrize(
    ("path", "kind"), [(CONFIGS, "array"), (QUEUES, "array"), ("/api/public/v2/datasets", "array"), (COMMENTS, "array")]
)
async def test_bodies_must_be_objects(client: httpx.AsyncClient, path: str, kind: str) -> None:
    """Anything else is refused."""
    assert messages(await refused(client, "POST", path, json=[])) == [
        f"Invalid input: expected object, received {kind}"
    ]
