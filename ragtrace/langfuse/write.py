"""Write scores in the largest requests that the server takes."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from ragtrace.errors import BackendError
from ragtrace.langfuse import wire
from ragtrace.langfuse.border import ContentRefused
from ragtrace.langfuse.connection import Connection
from ragtrace.model import DataType, JsonValue

ARRAYS_SINCE = (4, 59)
"""First server version that takes an array of scores in one request."""
BODY_BYTES = 900_000
"""Langfuse refuses bodies of more than 1 MB."""
_SINGLE_POSTS = 48
"""Requests in flight."""
_SINGLES_A_RECEIPT = 960
_PATH = "api/public/scores"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRecord:
    """A score as Langfuse keeps it, on one observation."""

    id: str
    trace_id: str
    observation_id: str
    name: str
    value: float | str
    data_type: DataType
    timestamp: datetime
    """Fixed for a call: Langfuse replaces a score only where id, name and day agree."""
    environment: str | None = None
    comment: str | None = None
    metadata: Mapping[str, JsonValue] = field(default_factory=dict)
    config_id: str | None = None
    """Only of a config that the score fits: Langfuse drops any other score, and says 200."""

    def body(self) -> bytes:
        """Return the request body; a NaN raises ValueError rather than leave the process."""
        content: dict[str, object] = {
            "id": self.id,
            "traceId": self.trace_id,
            "observationId": self.observation_id,
            "name": self.name,
            "value": self.value,
            "dataType": self.data_type,
            "timestamp": wire.stamp(self.timestamp),
            "environment": self.environment,
            "comment": self.comment,
            "metadata": dict(self.metadata),
            "configId": self.config_id,
        }
        present = {key: value for key, value in content.items() if value is not None}
        return json.dumps(present, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingScore:
    """A score on its way: its id and the body that is sent."""

    id: str
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteReceipt:
    """What became of the scores of one or a few requests."""

    accepted: tuple[str, ...] = ()
    """Ids."""
    rejected: tuple[tuple[str, str], ...] = ()
    """(id, why): sending these again would not help."""


def takes_arrays(version: str) -> bool:
    """Tell from the server's version whether it takes arrays of scores."""
    numbers = version.lstrip("v").split("-")[0].split(".")[:2]
    if len(numbers) < 2 or not all(number.isdigit() for number in numbers):
        return True
    return tuple(int(number) for number in numbers) >= ARRAYS_SINCE


async def write_arrays(connection: Connection, scores: Sequence[OutgoingScore]) -> AsyncIterator[WriteReceipt]:
    """Post arrays of up to 900 KB; yield what became of each (Langfuse 4.59 and later)."""
    for batch in batches(scores):
        async for receipt in _write_array(connection, batch):
            yield receipt


async def write_singly(connection: Connection, scores: Sequence[OutgoingScore]) -> AsyncIterator[WriteReceipt]:
    """Post one score a request, many at a time (before 4.59); yield what became of each group."""
    for start in range(0, len(scores), _SINGLES_A_RECEIPT):
        group = scores[start : start + _SINGLES_A_RECEIPT]
        outcomes = await _write_group(connection, group)
        yield WriteReceipt(
            accepted=tuple(score.id for score, error in outcomes if error is None),
            rejected=tuple((score.id, str(error)) for score, error in outcomes if isinstance(error, ContentRefused)),
        )
        for _, error in outcomes:
            if error and not isinstance(error, ContentRefused):
                raise error


async def _write_group(
    connection: Connection, group: Sequence[OutgoingScore]
) -> list[tuple[OutgoingScore, BackendError | None]]:
    """Post until all are through or Langfuse is away; a post that is being retried holds up no other."""
    waiting, outcomes = iter(group), dict[str, BackendError | None]()

    async def work() -> None:
        for score in waiting:
            error = await _write_one(connection, score)
            outcomes[score.id] = error
            if error and not isinstance(error, ContentRefused):
                return

    async with asyncio.TaskGroup() as tasks:
        for _ in range(_SINGLE_POSTS):
            tasks.create_task(work())
    return [(score, outcomes[score.id]) for score in group if score.id in outcomes]


def batches(scores: Iterable[OutgoingScore]) -> Iterator[tuple[OutgoingScore, ...]]:
    """Cut into batches whose bodies stay under the bound."""
    batch: list[OutgoingScore] = []
    size = 2
    for score in scores:
        if batch and size + len(score.body) + 1 > BODY_BYTES:
            yield tuple(batch)
            batch, size = [], 2
        batch.append(score)
        size += len(score.body) + 1
    if batch:
        yield tuple(batch)


async def _write_array(connection: Connection, batch: tuple[OutgoingScore, ...]) -> AsyncIterator[WriteReceipt]:
    """Write a batch; where something in it is refused, halve it until the refused score is found.

    Langfuse does not say which one it refused. Accepted scores are sent twice on the way, which changes nothing.
    """
    try:
        refused = await _post_array(connection, batch)
    except ContentRefused as exc:
        refused = str(exc)
    if refused is None:
        yield WriteReceipt(accepted=tuple(score.id for score in batch))
    elif len(batch) == 1:
        yield WriteReceipt(rejected=((batch[0].id, refused),))
    else:
        middle = len(batch) // 2
        for half in (batch[:middle], batch[middle:]):
            async for receipt in _write_array(connection, half):
                yield receipt


async def _post_array(connection: Connection, batch: tuple[OutgoingScore, ...]) -> str | None:
    """Return why something in the batch was refused, None if all was accepted."""
    body = b"[" + b",".join(score.body for score in batch) + b"]"
    reply = await connection.post("write scores", _PATH, body)
    content = reply.json() if reply.status_code == 207 else {}
    if not content.get("rejected"):
        return None
    return "; ".join(str(error.get("message")) for error in content.get("errors", ())) or "refused without a reason"


async def _write_one(connection: Connection, score: OutgoingScore) -> BackendError | None:
    try:
        await connection.post("write scores", _PATH, score.body)
    except BackendError as exc:
        return exc
    return None
