"""Number pages as Langfuse's older lists do."""

from collections.abc import Sequence
from dataclasses import dataclass

from ragtrace.local.checks import Fields
from ragtrace.local.endpoint import Call
from ragtrace.local.wire import Json, Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Which page was asked for."""

    number: int
    """From 1."""
    limit: int


def read_page(call: Call) -> Page:
    """Read `page` and `limit` from the query.

    Raises:
        RefusedError: either is no number in its range.
    """
    fields = Fields(dict(call.query))
    number = fields.query_int("page", default=1, least=1, most=2**31)
    limit = fields.query_int("limit", default=50, least=1, most=100)
    fields.done()
    return Page(number=number, limit=limit)


def paged(page: Page, rows: Sequence[Json], *, total: int) -> Reply:
    meta: dict[str, Json] = {
        "page": page.number,
        "limit": page.limit,
        "totalItems": total,
        "totalPages": -(-total // page.limit),
    }
    return Reply(body={"data": list(rows), "meta": meta})
