"""Answer GET v3/scores."""

import base64
import json
from collections.abc import Iterator, Sequence

from ragtrace.local.checks import Fields, Issue, custom, not_a_date, not_a_number, not_an_option
from ragtrace.local.conditions import Condition
from ragtrace.local.endpoint import Action, Backend, Call, Endpoint
from ragtrace.local.score import Score
from ragtrace.local.store_scores import ScorePosition
from ragtrace.local.wire import PROJECT_ID, Json, Reply, bad_request, iso, parse_loose_time

_GROUPS = ("core", "details", "subject", "annotation")
_LISTS = ("id", "name", "environment", "configId", "queueId", "authorUserId")
_SUBJECTS = ("traceId", "sessionId", "experimentId")
_SOURCES = ("API", "EVAL", "ANNOTATION")
_DATA_TYPES = ("NUMERIC", "BOOLEAN", "CATEGORICAL", "TEXT", "CORRECTION")
_KNOWN = {
    *_LISTS,
    *_SUBJECTS,
    *("limit", "cursor", "fields", "source", "dataType", "value", "valueMin", "valueMax", "observationId"),
    *("fromTimestamp", "toTimestamp"),
}
_NEEDS_JOIN = ("userId", "traceTags")


def _list(call: Call) -> Reply:
    fields = Fields(dict(call.query))
    limit = fields.query_int("limit", default=50, least=1, most=100)
    groups = _groups(fields, call.query.get("fields", "core"))
    conditions = list(_conditions(fields))
    _check_keys(fields, list(call.query))
    fields.done()
    after = _read_cursor(call.query["cursor"]) if "cursor" in call.query else None
    readable = call.backend.readable()
    found = call.store.scores.list(conditions + readable, limit=limit + 1, after=after)
    rows: list[Json] = [_show(score, groups) for score in found[:limit]]
    meta: dict[str, Json] = {"limit": limit}
    if len(found) > limit:
        meta["cursor"] = _cursor(found[limit - 1])
    return Reply(body={"data": call.backend.faults.disturb(rows), "meta": meta})


def _check_keys(fields: Fields, keys: Sequence[str]) -> None:
    for key in keys:
        if key in _NEEDS_JOIN:
            message = f"{key} filter requires a trace JOIN and is not supported in v3 — use v2 or omit this filter"
            fields.add(custom(message))
    if unknown := [key for key in keys if key not in _KNOWN and key not in _NEEDS_JOIN]:
        fields.add(_unrecognized(unknown))


def _unrecognized(keys: Sequence[str]) -> Issue:
    listed = ", ".join(f'"{key}"' for key in keys)
    noun = "key" if len(keys) == 1 else "keys"
    return {
        "code": "unrecognized_keys",
        "keys": list(keys),
        "path": [],
        "message": f"Unrecognized {noun}: {listed}",
    }


def _groups(fields: Fields, text: str) -> frozenset[str]:
    groups = text.split(",")
    for index, group in enumerate(groups):
        if group not in _GROUPS:
            fields.add(not_an_option(_GROUPS, ["fields", index]))
    return frozenset(groups)


def _conditions(fields: Fields) -> Iterator[Condition]:
    for key in (*_LISTS, *_SUBJECTS, "observationId"):
        if fields.is_set(key):
            yield _among(key, _split(fields, key))
    for key, options in (("source", _SOURCES), ("dataType", _DATA_TYPES)):
        if fields.is_set(key):
            yield _among(key, _options(fields, key, options))
    _check_subjects(fields)
    for key, operator in (("fromTimestamp", ">="), ("toTimestamp", "<")):
        moment = fields.query_time(key, parse=parse_loose_time, issue=not_a_date)
        if moment is not None:
            yield Condition(column="timestamp", operator=operator, value=moment)
    yield from _value_conditions(fields)


def _check_subjects(fields: Fields) -> None:
    if sum(fields.is_set(key) for key in _SUBJECTS) > 1:
        fields.add(custom("At most one of traceId, sessionId, experimentId may be specified"))
    if fields.is_set("observationId") and not fields.is_set("traceId"):
        fields.add(custom("observationId filter requires traceId — observation IDs are scoped to a trace"))


def _value_conditions(fields: Fields) -> Iterator[Condition]:
    types = _split(fields, "dataType") if fields.is_set("dataType") else ()
    data_type = types[0].upper() if len(types) == 1 else ""
    if fields.is_set("value"):
        if data_type not in ("NUMERIC", "BOOLEAN", "CATEGORICAL"):
            message = "value filter requires a single dataType from: NUMERIC, BOOLEAN, CATEGORICAL"
            fields.add(custom(message))
        elif data_type == "CATEGORICAL":
            yield _among("text", _split(fields, "value"))
        else:
            yield _among("number", _numbers(fields))
    for key, operator in (("valueMin", ">="), ("valueMax", "<=")):
        if not fields.is_set(key):
            continue
        if data_type != "NUMERIC":
            fields.add(custom("valueMin and valueMax filters require dataType NUMERIC"))
        bound = _number(str(fields.raw(key)))
        if bound is None:
            fields.add(not_a_number([key]))
        yield Condition(column="number", operator=operator, value=bound)


def _numbers(fields: Fields) -> tuple[float, ...]:
    texts = {"true": "1", "false": "0"}
    numbers = [_number(texts.get(text, text)) for text in _split(fields, "value")]
    if None in numbers:
        fields.add(not_a_number(["value"]))
    return tuple(number for number in numbers if number is not None)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _among(column: str, values: tuple[str, ...] | tuple[float, ...]) -> Condition:
    return Condition(column=column, operator="any of", value=values)


def _split(fields: Fields, key: str) -> tuple[str, ...]:
    return tuple(text.strip() for text in str(fields.raw(key)).split(","))


def _options(fields: Fields, key: str, options: Sequence[str]) -> tuple[str, ...]:
    """Read a list of words, lower case allowed."""
    given = _split(fields, key)
    for word in given:
        if word.upper() not in options:
            fields.add(custom(f'Invalid {key} value: "{word}". Allowed: {", ".join(options)}', [key]))
    return tuple(word.upper() for word in given)


def _cursor(last: Score) -> str:
    position = {"v": 1, "lastTimestamp": iso(last.timestamp_ms), "lastId": last.id}
    return base64.urlsafe_b64encode(json.dumps(position).encode()).decode().rstrip("=")


def _read_cursor(text: str) -> ScorePosition:
    try:
        position = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        timestamp = parse_loose_time(str(position["lastTimestamp"]))
        last_id = position["lastId"]
    except (ValueError, KeyError, TypeError):
        raise bad_request("Invalid cursor format") from None
    if timestamp is None or not isinstance(last_id, str):
        raise bad_request("Invalid cursor format")
    return ScorePosition(timestamp_ms=timestamp, id=last_id)


def _show(score: Score, groups: frozenset[str]) -> dict[str, Json]:
    shown: dict[str, Json] = {
        "id": score.id,
        "projectId": PROJECT_ID,
        "name": score.name,
        "source": score.source,
        "timestamp": iso(score.timestamp_ms),
        "environment": score.environment,
        "createdAt": iso(score.created_ms),
        "updatedAt": iso(score.updated_ms),
        "dataType": score.data_type,
        "value": bool(score.value) if score.data_type == "BOOLEAN" else score.value,
    }
    if "details" in groups:
        shown |= {"comment": score.comment, "configId": score.config_id, "metadata": dict(score.metadata)}
    if "annotation" in groups:
        shown |= {"authorUserId": score.author_user_id, "queueId": score.queue_id}
    if "subject" in groups:
        shown["subject"] = _subject(score)
    return shown


def _subject(score: Score) -> dict[str, Json]:
    if score.observation_id is not None:
        return {"kind": "observation", "id": score.observation_id, "traceId": score.trace_id}
    if score.trace_id is not None:
        return {"kind": "trace", "id": score.trace_id}
    if score.session_id is not None:
        return {"kind": "session", "id": score.session_id}
    return {"kind": "experiment", "id": score.dataset_run_id}


def score_list_endpoints(backend: Backend) -> dict[str, Endpoint]:
    return {"/api/public/v3/scores": Endpoint(backend, {"GET": Action(handle=_list)})}
