"""Take scores: POST scores, score-create events on ingestion; delete them."""

import json
from collections.abc import Sequence
from contextlib import suppress

from ragtrace.local.auth import Permission
from ragtrace.local.checks import MISSING, Fields, Issue, too_big, wrong_type
from ragtrace.local.endpoint import Action, Backend, Call, Endpoint
from ragtrace.local.project import refuse_gone
from ragtrace.local.score import Score
from ragtrace.local.score_body import LONGEST_ID, check_score, check_timestamp, make_score
from ragtrace.local.score_configs import fit_config
from ragtrace.local.wire import Json, RefusedError, Reply, parse_strict_time

_INGESTION_BYTES = 4_500_000
_NOT_ACCEPTED = (
    'Event type "{}" is not accepted by /api/public/ingestion when LANGFUSE_MIGRATION_V4_WRITE_MODE is events_only. '
    "This endpoint only accepts score and log events. Upgrade the client or integration to a v4-compatible SDK or "
    "OTLP ingestion path. As a temporary migration bridge, set LANGFUSE_MIGRATION_V4_WRITE_MODE=dual on both the web "
    "and worker services and redeploy. Docs: https://langfuse.com/self-hosting/upgrade/upgrade-guides/"
    "upgrade-v3-to-v4"
)


def _create(call: Call) -> Reply:
    body = call.json()
    if isinstance(body, list) and not call.backend.is_recorded:
        return _create_many(call, body)
    fields = Fields.of_body(body, times=2)
    _check(call, fields)
    fields.done()
    if issue := _id_issue(fields):
        raise RefusedError(400, {"message": json.dumps([issue], indent=2)})
    score = _score(call, fields)
    _store(call, [(score, fields)])
    return Reply(body={"id": score.id})


def _create_many(call: Call, bodies: list[Json]) -> Reply:
    """Take an array, as from 4.59 on: known from the SDK and the documentation only."""
    checked = [_checked(call, body) for body in bodies]
    accepted = [fields for fields in checked if not fields.issues]
    _store(call, [(_score(call, fields), fields) for fields in accepted])
    errors: list[Json] = [
        {"message": "; ".join(str(issue["message"]) for issue in fields.issues)} for fields in checked if fields.issues
    ]
    if not errors:
        return Reply(body={"message": "Accepted"}, status=202)
    return Reply(body={"accepted": len(accepted), "rejected": len(errors), "errors": errors}, status=207)


def _checked(call: Call, body: Json) -> Fields:
    fields = Fields(body if isinstance(body, dict) else {})
    if not isinstance(body, dict):
        fields.add(wrong_type("object", body, ()))
        return fields
    _check(call, fields)
    if issue := _id_issue(fields):
        fields.add(issue)
    return fields


def _check(call: Call, fields: Fields) -> None:
    check_score(fields)
    if not call.backend.is_recorded:
        check_timestamp(fields)


def _id_issue(fields: Fields) -> Issue | None:
    """The id is checked later than the rest, where the event is made."""
    value = fields.raw("id")
    if value in (MISSING, None):
        return None
    if not isinstance(value, str):
        return wrong_type("string", value, ("body", "id"))
    return too_big("string", LONGEST_ID, ("body", "id")) if len(value) > LONGEST_ID else None


def _score(call: Call, fields: Fields) -> Score:
    """Make the score; 4.16 takes the time of arrival whatever the body says."""
    sent = None if call.backend.is_recorded else fields.raw("timestamp")
    timestamp = parse_strict_time(sent) if isinstance(sent, str) else None
    return make_score(fields, timestamp_ms=call.store.now_ms() if timestamp is None else timestamp)


def _store(call: Call, scores: Sequence[tuple[Score, Fields]]) -> None:
    """Keep what its config lets pass; Langfuse drops the rest after it has acknowledged it."""
    fitted = [fit_config(score, store=call.store, has_type=fields.is_set("dataType")) for score, fields in scores]
    kept = [score for score in fitted if score is not None]
    put = call.store.scores.merge if call.backend.is_recorded else call.store.scores.put
    # As with spans, text that UTF-8 cannot hold is acknowledged and lost, and takes what came with it along.
    with suppress(UnicodeEncodeError):
        put(kept)


def _delete(call: Call) -> Reply:
    call.store.scores.delete(call.path["id"])
    return Reply(body={"message": "Score deletion queued successfully"}, status=202)


def _ingest(call: Call) -> Reply:
    """Take the older event envelope, of which only scores are left."""
    body = call.json()
    batch = body.get("batch", MISSING) if isinstance(body, dict) else MISSING
    if not isinstance(batch, list):
        message = str(wrong_type("array", batch, ())["message"])
        raise RefusedError(400, {"message": "Invalid request data", "errors": [message]})
    outcomes = [_ingest_event(call, event if isinstance(event, dict) else {}) for event in batch]
    successes: list[Json] = [{"id": event_id, "status": 201} for event_id, error in outcomes if error is None]
    errors: list[Json] = [{"id": event_id, **error} for event_id, error in outcomes if error is not None]
    return Reply(body={"successes": successes, "errors": errors}, status=207)


def _ingest_event(call: Call, event: dict[str, Json]) -> tuple[Json, dict[str, Json] | None]:
    """Return the event's id and what is wrong with it. A score without an id is acknowledged and never stored."""
    kind, body = event.get("type"), event.get("body")
    if kind != "score-create":
        return event.get("id"), _event_error("Event type not accepted", _NOT_ACCEPTED.format(kind))
    fields = Fields(body if isinstance(body, dict) else {}, ["body"])
    check_score(fields)
    if issue := _id_issue(fields):
        fields.add(issue)
    if fields.issues:
        return event.get("id"), _event_error("Invalid request data", json.dumps(fields.issues, indent=2))
    if fields.is_set("id"):
        moment = parse_strict_time(str(event.get("timestamp")))
        score = make_score(fields, timestamp_ms=call.store.now_ms() if moment is None else moment)
        _store(call, [(score, fields)])
    return event.get("id"), None


def _event_error(message: str, error: str) -> dict[str, Json]:
    return {"status": 400, "message": message, "error": error}


def score_endpoints(backend: Backend) -> dict[str, Endpoint]:
    gone = Action(handle=refuse_gone)
    create = Action(handle=_create, permission=Permission.SCORES)
    ingest = Action(handle=_ingest, longest_body=_INGESTION_BYTES, too_big="Body exceeded 4.5mb limit")
    return {
        "/api/public/scores": Endpoint(backend, {"GET": gone, "POST": create}),
        "/api/public/scores/{id}": Endpoint(backend, {"GET": gone, "DELETE": Action(handle=_delete)}),
        "/api/public/ingestion": Endpoint(backend, {"POST": ingest}),
    }
