"""Answer GET v2/observations."""

import base64
import json
from collections.abc import Iterator

from ragtrace.local.checks import (
    Fields,
    custom,
    not_a_date,
    not_a_datetime,
)
from ragtrace.local.conditions import Condition
from ragtrace.local.endpoint import Action, Backend, Call, Endpoint
from ragtrace.local.filters import read_filter
from ragtrace.local.mapping import LEVELS, TYPES
from ragtrace.local.observation import Observation
from ragtrace.local.observation_fields import show
from ragtrace.local.store_observations import Position
from ragtrace.local.wire import Json, Reply, bad_request, iso, parse_loose_time, parse_strict_time

_TEXTS = ("name", "userId", "sessionId", "traceId", "version", "parentObservationId")
_NO_PARSED_CONTENT = (
    "parseIoAsJson=true is no longer supported on the v2 observations endpoint. Input/output fields are always "
    "returned as raw strings. Remove the parseIoAsJson parameter or set it to false."
)


def _list(call: Call) -> Reply:
    fields = Fields(dict(call.query))
    limit = fields.query_int("limit", default=50, least=0, most=1000)
    asked = list(_parameters(fields, call.query.getlist("environment")))
    fields.done()
    filtered = read_filter(call.query["filter"]) if call.query.get("filter") else []
    conditions = _combine(asked, filtered) + call.backend.readable()
    groups = _groups(call.query.get("fields", ""))
    after = _read_cursor(call.query["cursor"]) if call.query.get("cursor") else None
    found = call.store.observations.list(conditions, limit=limit + 1, after=after, with_content="io" in groups)
    page = found[:limit]
    is_full = "io" in groups or bool(call.query.get("expandMetadata"))
    rows: list[Json] = [show(observation, groups, is_full=is_full) for observation in page]
    meta: dict[str, Json] = {"cursor": _cursor(page[-1])} if page and len(found) > limit else {}
    return Reply(body={"data": call.backend.faults.disturb(rows), "meta": meta})


def _groups(text: str) -> frozenset[str]:
    return frozenset(text.split(",")) if text else frozenset(("core", "basic"))


def _combine(asked: list[Condition], filtered: list[Condition]) -> list[Condition]:
    """A filter on a column replaces the parameter of that column."""
    columns = {condition.column for condition in filtered}
    return [condition for condition in asked if condition.column not in columns] + filtered


def _parameters(fields: Fields, environments: list[str]) -> Iterator[Condition]:
    yield from (Condition(column=key, operator="=", value=fields.text(key)) for key in _TEXTS if fields.is_set(key))
    for key, options in (("type", TYPES), ("level", LEVELS)):
        if fields.is_set(key):
            yield Condition(column=key, operator="=", value=fields.option(key, options))
    if fields.is_set("isRootObservation"):
        is_root = fields.option("isRootObservation", ("true", "false")) == "true"
        yield Condition(column="isRootObservation", operator="=", value=is_root)
    yield from _window(fields)
    if environments:
        yield Condition(column="environment", operator="any of", value=tuple(environments))
    if fields.raw("parseIoAsJson") == "true":
        fields.add(custom(_NO_PARSED_CONTENT, ["parseIoAsJson"]))


def _window(fields: Fields) -> Iterator[Condition]:
    for key, operator in (("fromStartTime", ">="), ("toStartTime", "<")):
        moment = fields.query_time(key, parse=parse_strict_time, issue=not_a_datetime)
        if moment is not None:
            yield Condition(column="startTime", operator=operator, value=moment)


def _cursor(last: Observation) -> str:
    position = {"lastStartTimeTo": iso(last.start_ms), "lastTraceId": last.trace_id, "lastId": last.id}
    return base64.b64encode(json.dumps(position).encode()).decode()


def _read_cursor(text: str) -> Position:
    try:
        position = json.loads(base64.b64decode(text, validate=True))
    except ValueError:
        raise bad_request("Invalid cursor format") from None
    if not isinstance(position, dict):
        raise bad_request("Invalid cursor format")
    fields = Fields(position, ["cursor"])
    start = parse_loose_time(str(position.get("lastStartTimeTo")))
    if start is None:
        fields.add(not_a_date(fields.path("lastStartTimeTo")))
    trace_id, observation_id = fields.text("lastTraceId"), fields.text("lastId")
    fields.done()
    return Position(start_ms=start or 0, trace_id=trace_id, id=observation_id)


def observation_endpoints(backend: Backend) -> dict[str, Endpoint]:
    return {"/api/public/v2/observations": Endpoint(backend, {"GET": Action(handle=_list)})}
