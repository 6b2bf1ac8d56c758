"""Datasets and their items."""

from dataclasses import replace

from ragtrace.local.checks import MISSING, Fields
from ragtrace.local.endpoint import Action, Backend, Call, Endpoint
from ragtrace.local.paging import paged, read_page
from ragtrace.local.store_records import Matching, Record
from ragtrace.local.wire import PROJECT_ID, Json, Reply, iso, not_found

_DATASET, _ITEM = "dataset", "dataset-item"
_STATUSES = ("ACTIVE", "ARCHIVED")
_DATASET_FIELDS = ("description", "metadata", "inputSchema", "expectedOutputSchema")
_ITEM_FIELDS = ("input", "expectedOutput", "metadata", "sourceTraceId", "sourceObservationId")
_LONGEST_ITEM = 4_500_000
_UNKNOWN_ITEM = "Dataset item not found"


def _create(call: Call) -> Reply:
    """Create a dataset, or change the one of that name."""
    fields = Fields.of_body(call.json())
    name = fields.text("name", shortest=1)
    fields.optional_text("description")
    fields.done()
    found = call.store.records.find(_DATASET, name)
    sent = _sent(fields, _DATASET_FIELDS)
    if found is not None:
        return Reply(body=_show(call.store.records.update(replace(found, body=found.body | sent))))
    body = dict.fromkeys(_DATASET_FIELDS, None) | sent
    return Reply(body=_show(call.store.records.create(Record(kind=_DATASET, id="", name=name, body=body))))


def _sent(fields: Fields, keys: tuple[str, ...]) -> dict[str, Json]:
    """Return the fields that were sent at all: an absent one keeps its stored value."""
    return {key: fields.json(key) for key in keys if fields.raw(key) is not MISSING}


def _list(call: Call) -> Reply:
    page = read_page(call)
    records, total = call.store.records.page(_DATASET, Matching(), limit=page.limit, page=page.number)
    return paged(page, [_show(record) for record in records], total=total)


def _get(call: Call) -> Reply:
    record = call.store.records.find(_DATASET, call.path["name"])
    if record is None:
        raise not_found("Dataset not found")
    return Reply(body=_show(record))


def _show(record: Record) -> dict[str, Json]:
    return {
        "id": record.id,
        "name": record.name,
        "projectId": PROJECT_ID,
        **record.body,
        "createdAt": iso(record.created_ms),
        "updatedAt": iso(record.updated_ms),
    }


def _create_item(call: Call) -> Reply:
    """Create an item, or change the one of that id."""
    fields = Fields.of_body(call.json())
    name = fields.text("datasetName")
    status = fields.option("status", _STATUSES, default="")
    for key in ("id", "sourceTraceId", "sourceObservationId"):
        fields.optional_text(key)
    fields.done()
    dataset = call.store.records.find(_DATASET, name)
    if dataset is None:
        raise not_found(f"Dataset {name} not found for project {PROJECT_ID}")
    return Reply(body=_show_item(_put_item(call, fields, dataset=dataset, status=status), dataset.name))


def _put_item(call: Call, fields: Fields, *, dataset: Record, status: str) -> Record:
    sent = _sent(fields, _ITEM_FIELDS)
    item_id = fields.optional_text("id") or ""
    found = call.store.records.get(_ITEM, item_id) if item_id else None
    if found is not None:
        changed = replace(found, parent=dataset.id, status=status or found.status, body=found.body | sent)
        return call.store.records.update(changed)
    body = dict.fromkeys(_ITEM_FIELDS, None) | sent
    item = Record(kind=_ITEM, id=item_id, parent=dataset.id, status=status or "ACTIVE", body=body)
    return call.store.records.create(item)


def _list_items(call: Call) -> Reply:
    """List what is not archived."""
    page = read_page(call)
    parent = None
    if name := call.query.get("datasetName"):
        dataset = call.store.records.find(_DATASET, name)
        if dataset is None:
            raise not_found("Dataset not found")
        parent = dataset.id
    matching = Matching(
        parent=parent,
        status="ACTIVE",
        trace_id=call.query.get("sourceTraceId"),
        observation_id=call.query.get("sourceObservationId"),
    )
    records, total = call.store.records.page(_ITEM, matching, limit=page.limit, page=page.number)
    return paged(page, [_show_item(record, _name_of(call, record)) for record in records], total=total)


def _get_item(call: Call) -> Reply:
    item = _item(call)
    return Reply(body=_show_item(item, _name_of(call, item)))


def _delete_item(call: Call) -> Reply:
    call.store.records.delete(_ITEM, _item(call).id)
    return Reply(body={"message": "Dataset item successfully deleted"})


def _item(call: Call) -> Record:
    record = call.store.records.get(_ITEM, call.path["id"])
    if record is None:
        raise not_found(_UNKNOWN_ITEM)
    return record


def _name_of(call: Call, item: Record) -> str:
    dataset = call.store.records.get(_DATASET, item.parent)
    return "" if dataset is None else dataset.name


def _show_item(record: Record, dataset_name: str) -> dict[str, Json]:
    return {
        "id": record.id,
        "datasetId": record.parent,
        "datasetName": dataset_name,
        "status": record.status,
        **record.body,
        "createdAt": iso(record.created_ms),
        "updatedAt": iso(record.updated_ms),
        "mediaReferences": [],
    }


def _create_run_item(_call: Call) -> Reply:
    """Dataset runs are gone from a server without traces; this is how it says so."""
    raise not_found(_UNKNOWN_ITEM)


def dataset_endpoints(backend: Backend) -> dict[str, Endpoint]:
    create_item = Action(handle=_create_item, longest_body=_LONGEST_ITEM, too_big="Body exceeded 4.5mb limit")
    item = {"GET": Action(handle=_get_item), "DELETE": Action(handle=_delete_item)}
    return {
        "/api/public/v2/datasets": Endpoint(backend, {"GET": Action(handle=_list), "POST": Action(handle=_create)}),
        "/api/public/v2/datasets/{name:path}": Endpoint(backend, {"GET": Action(handle=_get)}),
        "/api/public/dataset-items": Endpoint(backend, {"GET": Action(handle=_list_items), "POST": create_item}),
        "/api/public/dataset-items/{id:path}": Endpoint(backend, item),
        "/api/public/dataset-run-items": Endpoint(backend, {"POST": Action(handle=_create_run_item)}),
    }
