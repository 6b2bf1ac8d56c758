"""Put observations into a Langfuse annotation queue."""

import json
from dataclasses import dataclass
from urllib.parse import quote

from ragtrace.errors import BackendRejected
from ragtrace.langfuse import wire
from ragtrace.langfuse.connection import Connection, JsonObject

_PATH = "api/public/annotation-queues"


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """An annotation queue."""

    id: str
    name: str
    config_ids: tuple[str, ...]
    """Score configs that people are asked to fill in."""


async def ensure_queue(connection: Connection, name: str, *, description: str, config_id: str) -> Queue:
    """Return the queue of a name, made if it is not there; one that is there keeps its configs.

    Raises:
        BackendRejected: Langfuse makes no queue, since a plan may have only so many.
    """
    async for page in wire.numbered_pages(connection, "read annotation queues", _PATH, _queue):
        for queue in page:
            if queue.name == name:
                return queue
    body = {"name": name, "description": description, "scoreConfigIds": [config_id]}
    try:
        reply = await connection.post("create an annotation queue", _PATH, json.dumps(body).encode())
    except BackendRejected as exc:
        raise BackendRejected(
            f"{exc}; make a queue in Langfuse by hand, or name one that is there (--queue NAME)"
        ) from exc
    return _queue(reply.json())


async def queued_observations(connection: Connection, queue: Queue) -> frozenset[str]:
    """Return the ids of the observations in a queue, reviewed or not."""
    pages = wire.numbered_pages(connection, "read an annotation queue", _items(queue), _observation_id)
    return frozenset([object_id async for page in pages for object_id in page if object_id])


async def add_observation(connection: Connection, queue: Queue, observation_id: str) -> None:
    """Add an observation; Langfuse does not look whether it is in the queue already."""
    body = {"objectId": observation_id, "objectType": "OBSERVATION"}
    await connection.post("add to an annotation queue", _items(queue), json.dumps(body).encode())


def _items(queue: Queue) -> str:
    return f"{_PATH}/{quote(queue.id, safe='')}/items"


def _queue(queue: JsonObject) -> Queue:
    configs = queue.get("scoreConfigIds")
    return Queue(
        id=wire.text(queue["id"]),
        name=wire.text(queue["name"]),
        config_ids=tuple(str(config_id) for config_id in configs) if isinstance(configs, list) else (),
    )


def _observation_id(item: JsonObject) -> str | None:
    return wire.text(item["objectId"]) if item.get("objectType") == "OBSERVATION" else None
