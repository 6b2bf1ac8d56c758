"""Read Langfuse's JSON: pages, moments, and texts that are empty where they mean nothing."""

from collections.abc import AsyncIterator, Callable, Mapping
from datetime import UTC, datetime
from typing import TypeVar

from ragtrace.langfuse import border
from ragtrace.langfuse.connection import Connection, JsonObject
from ragtrace.model import JsonValue

T = TypeVar("T")
_PAGE = 100


def page(
    connection: Connection, purpose: str, reply: JsonObject, read: Callable[[JsonObject], T]
) -> tuple[tuple[T, ...], str | None]:
    """Return the rows of a listing and the cursor of the next page, None on the last.

    Raises:
        BackendRejected: this is no listing of Langfuse's.
    """
    try:
        rows, meta = reply["data"], reply["meta"]
        if not isinstance(rows, list) or not isinstance(meta, dict):
            raise TypeError("data is a list, meta an object")
        return tuple(read(_object(row)) for row in rows), known(meta.get("cursor"))
    except (LookupError, TypeError, ValueError) as exc:
        malformed = border.MalformedError(str(exc))
        raise border.describe(malformed, base_url=connection.base_url, purpose=purpose) from exc


async def numbered_pages(
    connection: Connection,
    purpose: str,
    path: str,
    read: Callable[[JsonObject], T],
    *,
    query: Mapping[str, str] | None = None,
) -> AsyncIterator[tuple[T, ...]]:
    """Yield the pages of a listing whose pages have numbers."""
    number = 1
    while True:
        reply = await connection.get(purpose, path, {**(query or {}), "page": number, "limit": _PAGE})
        rows, _ = page(connection, purpose, reply, read)
        yield rows
        if len(rows) < _PAGE:
            return
        number += 1


def text(value: JsonValue) -> str:
    """Return a text; anything else is not what Langfuse answers."""
    if not isinstance(value, str):
        raise TypeError("expected text")
    return value


def known(value: JsonValue) -> str | None:
    """Return a text; servers write "" for what is not set."""
    return value if isinstance(value, str) and value else None


def moment(value: JsonValue) -> datetime:
    """Return a moment in UTC."""
    found = datetime.fromisoformat(text(value))
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def stamp(at: datetime) -> str:
    """Return a moment as Langfuse writes it."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _object(value: JsonValue) -> JsonObject:
    if not isinstance(value, dict):
        raise TypeError("expected an object")
    return value
