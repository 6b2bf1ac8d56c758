"""Keep one score config a metric in Langfuse, and hold scores against it before they are sent."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from ragtrace.langfuse import wire
from ragtrace.langfuse.connection import Connection, JsonObject
from ragtrace.model import DataType, JsonValue

LONGEST_NAME = 35
"""Langfuse refuses configs with longer names."""
_PATH = "api/public/score-configs"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreShape:
    """What the scores of one name look like."""

    name: str
    description: str
    data_type: DataType = "NUMERIC"
    least: float | None = None
    most: float | None = None
    categories: tuple[str, ...] = ()

    def body(self) -> bytes:
        """Return the request that creates a config of this shape."""
        content: dict[str, JsonValue] = {
            "name": self.name,
            "dataType": self.data_type,
            "description": self.description,
        }
        if self.data_type == "NUMERIC":
            content |= {"minValue": self.least, "maxValue": self.most}
        if self.data_type == "CATEGORICAL":
            content["categories"] = [{"label": label, "value": value} for value, label in enumerate(self.categories)]
        return json.dumps(content, ensure_ascii=False).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreConfig:
    """A config as Langfuse keeps it."""

    id: str
    name: str
    data_type: str
    created_at: datetime
    is_archived: bool
    least: float | None
    most: float | None
    categories: tuple[str, ...]

    def objection(self, value: float | str, data_type: DataType) -> str | None:
        """Say why a score does not fit; None where it does.

        Langfuse answers 200 to a score that does not fit its config, and never stores it.
        """
        if self.is_archived:
            return "it is archived"
        if data_type != self.data_type:
            return f"it is of type {self.data_type}"
        if isinstance(value, str):
            return None if value in self.categories else f"it has no category {value!r}"
        if (self.least is not None and value < self.least) or (self.most is not None and value > self.most):
            return f"{value:g} is outside its range"
        return None


async def ensure_configs(connection: Connection, shapes: Sequence[ScoreShape]) -> Mapping[str, ScoreConfig]:
    """Return the config of each name, creating those that are not there.

    Langfuse takes two configs of one name. Scorers that start together may both create one; all of them then use the
    oldest, so that the scores of one name have one config. One that a person archived stays archived.
    """
    names = {shape.name for shape in shapes}
    found = await _read(connection, names)
    missing = [shape for shape in shapes if shape.name not in found and len(shape.name) <= LONGEST_NAME]
    for shape in missing:
        await connection.post("create score configs", _PATH, shape.body())
    return await _read(connection, names) if missing else found


async def _read(connection: Connection, names: set[str]) -> dict[str, ScoreConfig]:
    """Return the oldest config of each name, one in use before an archived one."""
    listed = [config async for config in _list(connection) if config.name in names]
    by_rank = sorted(listed, key=lambda c: (c.is_archived, c.created_at, c.id), reverse=True)
    return {config.name: config for config in by_rank}


async def _list(connection: Connection) -> AsyncIterator[ScoreConfig]:
    async for page in wire.numbered_pages(connection, "read score configs", _PATH, _config):
        for config in page:
            yield config


def _config(config: JsonObject) -> ScoreConfig:
    categories = config.get("categories")
    listed = categories if isinstance(categories, list) else []
    return ScoreConfig(
        id=wire.text(config["id"]),
        name=wire.text(config["name"]),
        data_type=wire.text(config["dataType"]),
        created_at=wire.moment(config["createdAt"]),
        is_archived=config.get("isArchived") is True,
        least=_number(config.get("minValue")),
        most=_number(config.get("maxValue")),
        categories=tuple(str(category.get("label")) for category in listed if isinstance(category, dict)),
    )


def _number(value: JsonValue) -> float | None:
    return float(value) if isinstance(value, int | float) else None
