"""Annotation queues and their items."""

from dataclasses import replace

from ragtrace.local.checks import MISSING, Fields, too_small, wrong_type
from ragtrace.local.endpoint import Action, Backend, Call, Endpoint
from ragtrace.local.paging import paged, read_page
from ragtrace.local.score_configs import KIND as CONFIG
from ragtrace.local.store_records import Matching, Record
from ragtrace.local.wire import Json, Reply, bad_request, iso, not_found

_QUEUE, _ITEM = "queue", "queue-item"
_OBJECT_TYPES = ("TRACE", "OBSERVATION", "SESSION")
_STATUSES = ("PENDING", "COMPLETED")
_PATH = "/api/public/annotation-queues"


def _create(call: Call) -> Reply:
    fields = Fields.of_body(call.json())
    name = fields.text("name", shortest=1)
    description = fields.optional_text("description")
    config_ids = _config_ids(fields)
    fields.done()
    if call.store.records.find(_QUEUE, name) is not None:
        raise bad_request("A queue with this name already exists.")
    if any(call.store.records.get(CONFIG, config_id) is None for config_id in config_ids):
        raise bad_request("At least one of the score config IDs cannot be found for the given project.")
    body: dict[str, Json] = {"description": description, "scoreConfigIds": list(config_ids)}
    return Reply(body=_show_queue(call.store.records.create(Record(kind=_QUEUE, id="", name=name, body=body))))


def _config_ids(fields: Fields) -> list[str]:
    ids = fields.raw("scoreConfigIds")
    if not isinstance(ids, list):
        fields.add(wrong_type("array", ids, fields.path("scoreConfigIds")))
        return []
    if not ids:
        fields.add(too_small("array", 1, fields.path("scoreConfigIds")))
    return [str(config_id) for config_id in ids]


def _list(call: Call) -> Reply:
    page = read_page(call)
    records, total = call.store.records.page(_QUEUE, Matching(), limit=page.limit, page=page.number)
    return paged(page, [_show_queue(record) for record in records], total=total)


def _get(call: Call) -> Reply:
    return Reply(body=_show_queue(_queue(call)))


def _queue(call: Call) -> Record:
    record = call.store.records.get(_QUEUE, call.path["queue"])
    if record is None:
        raise not_found("Annotation queue not found")
    return record


def _show_queue(record: Record) -> dict[str, Json]:
    return {
        "id": record.id,
        "name": record.name,
        **record.body,
        "createdAt": iso(record.created_ms),
        "updatedAt": iso(record.updated_ms),
    }


def _create_item(call: Call) -> Reply:
    """Add an item. Langfuse checks neither that the object exists nor that it is not in the queue already."""
    fields = Fields.of_body(call.json())
    object_id = fields.text("objectId")
    object_type = fields.option("objectType", _OBJECT_TYPES)
    status = fields.option("status", _STATUSES, default="PENDING")
    fields.done()
    completed = iso(call.store.now_ms()) if status == "COMPLETED" else None
    body: dict[str, Json] = {"objectId": object_id, "objectType": object_type, "completedAt": completed}
    item = Record(kind=_ITEM, id="", parent=_queue(call).id, status=status, body=body)
    return Reply(body=_show_item(call.store.records.create(item)))


def _list_items(call: Call) -> Reply:
    page = read_page(call)
    fields = Fields(dict(call.query))
    status = fields.option("status", _STATUSES) if fields.is_set("status") else None
    fields.done()
    matching = Matching(parent=_queue(call).id, status=status)
    records, total = call.store.records.page(_ITEM, matching, limit=page.limit, page=page.number)
    return paged(page, [_show_item(record) for record in records], total=total)


def _get_item(call: Call) -> Reply:
    return Reply(body=_show_item(_item(call)))


def _change_item(call: Call) -> Reply:
    """Set the status; the time of completion stays when an item is set back."""
    fields = Fields.of_body(call.json())
    status = fields.option("status", _STATUSES) if fields.raw("status") is not MISSING else None
    fields.done()
    item = _item(call)
    body = item.body | ({"completedAt": iso(call.store.now_ms())} if status == "COMPLETED" else {})
    changed = replace(item, status=status or item.status, body=body)
    return Reply(body=_show_item(call.store.records.update(changed)))


def _delete_item(call: Call) -> Reply:
    call.store.records.delete(_ITEM, _item(call).id)
    return Reply(body={"success": True, "message": "Annotation queue item deleted successfully"})


def _item(call: Call) -> Record:
    record = call.store.records.get(_ITEM, call.path["item"])
    if record is None or record.parent != call.path["queue"]:
        raise not_found("Annotation queue item not found")
    return record


def _show_item(record: Record) -> dict[str, Json]:
    return {
        "id": record.id,
        "queueId": record.parent,
        "status": record.status,
        **record.body,
        "createdAt": iso(record.created_ms),
        "updatedAt": iso(record.updated_ms),
    }


def queue_endpoints(backend: Backend) -> dict[str, Endpoint]:
    items = {"GET": Action(handle=_list_items), "POST": Action(handle=_create_item)}
    item = {
        "GET": Action(handle=_get_item),
        "PATCH": Action(handle=_change_item),
        "DELETE": Action(handle=_delete_item),
    }
    return {
        _PATH: Endpoint(backend, {"GET": Action(handle=_list), "POST": Action(handle=_create)}),
        f"{_PATH}/{{queue}}": Endpoint(backend, {"GET": Action(handle=_get)}),
        f"{_PATH}/{{queue}}/items": Endpoint(backend, items),
        f"{_PATH}/{{queue}}/items/{{item}}": Endpoint(backend, item),
    }
