"""Keep calls as items of a Langfuse dataset."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from ragtrace.langfuse import wire
from ragtrace.langfuse.connection import Connection, JsonObject
from ragtrace.model import JsonValue

_DATASETS = "api/public/v2/datasets"
_ITEMS = "api/public/dataset-items"


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetItem:
    """An item that comes from a call."""

    id: str
    """The same for the same call and dataset: Langfuse changes an item of a known id and adds none."""
    input: Mapping[str, JsonValue]
    expected_output: str | None
    metadata: Mapping[str, JsonValue]
    trace_id: str
    observation_id: str

    def body(self, dataset: str) -> bytes:
        """Return the request that adds the item to a dataset."""
        content: dict[str, JsonValue] = {
            "datasetName": dataset,
            "id": self.id,
            "input": dict(self.input),
            "expectedOutput": self.expected_output,
            "metadata": dict(self.metadata),
            "sourceTraceId": self.trace_id,
            "sourceObservationId": self.observation_id,
        }
        return json.dumps(content, ensure_ascii=False, allow_nan=False).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredItem:
    """An item as a dataset has it."""

    id: str
    input: JsonValue
    expected_output: JsonValue
    trace_id: str | None
    """The trace that it was made from."""


async def read_items(connection: Connection, dataset: str) -> list[StoredItem]:
    """Return the items of a dataset that are not archived.

    Raises:
        BackendRejected: there is no such dataset.
    """
    pages = wire.numbered_pages(connection, "read a dataset", _ITEMS, _stored, query={"datasetName": dataset})
    return [item async for page in pages for item in page]


async def ensure_dataset(connection: Connection, name: str) -> None:
    """Create a dataset; one that is there keeps what it has."""
    await connection.post("create a dataset", _DATASETS, json.dumps({"name": name}).encode())


async def dataset_ids(connection: Connection) -> dict[str, str]:
    """Return the id of each dataset by its name."""
    pages = wire.numbered_pages(connection, "read datasets", _DATASETS, _name_and_id)
    return dict([pair async for page in pages for pair in page])


async def item_ids(connection: Connection, dataset: str) -> frozenset[str]:
    """Return the ids of the items of a dataset that are not archived."""
    pages = wire.numbered_pages(connection, "read a dataset", _ITEMS, _id, query={"datasetName": dataset})
    return frozenset([item_id async for page in pages for item_id in page])


async def add_item(connection: Connection, dataset: str, item: DatasetItem) -> None:
    """Add an item to a dataset that is there."""
    await connection.post("add to a dataset", _ITEMS, item.body(dataset))


def _stored(item: JsonObject) -> StoredItem:
    return StoredItem(
        id=wire.text(item["id"]),
        input=item.get("input"),
        expected_output=item.get("expectedOutput"),
        trace_id=wire.known(item.get("sourceTraceId")),
    )


def _id(item: JsonObject) -> str:
    return wire.text(item["id"])


def _name_and_id(dataset: JsonObject) -> tuple[str, str]:
    return wire.text(dataset["name"]), wire.text(dataset["id"])
