"""Comments on traces, observations and sessions."""

from ragtrace.local.checks import Fields, custom
from ragtrace.local.endpoint import Action, Backend, Call, Endpoint
from ragtrace.local.paging import paged, read_page
from ragtrace.local.store_records import Matching, Record
from ragtrace.local.wire import PROJECT_ID, Json, Reply, iso, not_found

_KIND = "comment"
_OBJECT_TYPES = ("TRACE", "OBSERVATION", "SESSION", "PROMPT")
_COLUMNS = {"TRACE": "traceId", "OBSERVATION": "id", "SESSION": "sessionId"}
_LONGEST = 5000


def _create(call: Call) -> Reply:
    """Comment on an object that exists; the project id sent along does not matter."""
    fields = Fields.of_body(_trimmed(call.json()))
    fields.text("projectId")
    object_type = fields.option("objectType", _OBJECT_TYPES)
    object_id = fields.text("objectId")
    content = fields.text("content", shortest=1, longest=_LONGEST)
    author = fields.optional_text("authorUserId")
    fields.done()
    _check_object(call, object_type, object_id)
    body: dict[str, Json] = {"objectType": object_type, "objectId": object_id, "content": content}
    body["authorUserId"] = author
    record = Record(kind=_KIND, id="", parent=f"{object_type} {object_id}", name=object_type, body=body)
    return Reply(body={"id": call.store.records.create(record).id})


def _check_object(call: Call, object_type: str, object_id: str) -> None:
    column = _COLUMNS.get(object_type)
    if column is None or not call.store.observations.is_known(column, object_id):
        raise not_found(f"Reference object, {object_type}: {object_id} not found. Skipping comment creation.")


def _trimmed(body: Json) -> Json:
    if not isinstance(body, dict) or not isinstance(content := body.get("content"), str):
        return body
    return {**body, "content": content.strip()}


def _list(call: Call) -> Reply:
    page = read_page(call)
    fields = Fields(dict(call.query))
    has_type = fields.is_set("objectType")
    object_type = fields.option("objectType", _OBJECT_TYPES) if has_type else None
    if fields.is_set("objectId") and not has_type:
        fields.add(custom("objectType is required when objectId is provided", ["objectType"]))
    fields.done()
    parent = f"{object_type} {call.query['objectId']}" if "objectId" in call.query else None
    matching = Matching(parent=parent, name=object_type, author_id=call.query.get("authorUserId"))
    records, total = call.store.records.page(_KIND, matching, limit=page.limit, page=page.number)
    return paged(page, [_show(record) for record in records], total=total)


def _get(call: Call) -> Reply:
    record = call.store.records.get(_KIND, call.path["id"])
    if record is None:
        raise not_found("Comment not found within authorized project")
    return Reply(body=_show(record))


def _show(record: Record) -> dict[str, Json]:
    return {
        "id": record.id,
        "projectId": PROJECT_ID,
        "createdAt": iso(record.created_ms),
        "updatedAt": iso(record.updated_ms),
        **record.body,
    }


def comment_endpoints(backend: Backend) -> dict[str, Endpoint]:
    return {
        "/api/public/comments": Endpoint(backend, {"GET": Action(handle=_list), "POST": Action(handle=_create)}),
        "/api/public/comments/{id}": Endpoint(backend, {"GET": Action(handle=_get)}),
    }
