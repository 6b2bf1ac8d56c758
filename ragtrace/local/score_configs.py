"""Score configs: create, read, change; and hold scores against them as Langfuse's worker does."""

import re
from dataclasses import replace

from ragtrace.local.checks import MISSING, Fields, Issue, custom, no_discriminator, no_union, wrong_type
from ragtrace.local.endpoint import Action, Backend, Call, Endpoint
from ragtrace.local.paging import paged, read_page
from ragtrace.local.score import Score
from ragtrace.local.store import Store
from ragtrace.local.store_records import Matching, Record
from ragtrace.local.wire import PROJECT_ID, Json, Reply, bad_request, iso, not_found

KIND = "score-config"
_LONGEST_NAME = 35
_TYPES = ("NUMERIC", "CATEGORICAL", "BOOLEAN", "TEXT")
_BOOLEAN_CATEGORIES: Json = [{"label": "True", "value": 1}, {"label": "False", "value": 0}]
_CHANGEABLE = ("name", "description", "minValue", "maxValue", "categories", "isArchived")
_WRONG_ORDER = "Maximum value must be greater than Minimum value"
_UNKNOWN = "Score config not found within authorized project"
_NOTHING = "Request body cannot be empty. At least one field must be provided for update."


def _create(call: Call) -> Reply:
    fields = Fields.of_body(call.json())
    data_type = fields.raw("dataType")
    if data_type not in _TYPES:
        fields.add(no_discriminator("dataType", fields.path("dataType")))
        fields.done()
    _check(fields, str(data_type))
    if data_type == "CATEGORICAL" and not fields.is_set("categories"):
        fields.add(_no_categories(fields.path("categories")))
    fields.done()
    body = _body(fields, str(data_type))
    if _is_out_of_order(body):
        fields.add(custom(_WRONG_ORDER))
    fields.done()
    record = Record(kind=KIND, id="", name=str(fields.raw("name")), body=body)
    return Reply(body=_show(call.store.records.create(record)))


def _check(fields: Fields, data_type: str) -> None:
    name = fields.text("name", shortest=1, longest=_LONGEST_NAME)
    if isinstance(fields.raw("name"), str) and not re.fullmatch(r"[\w .()-]+", name):
        fields.add(_wrong_name(fields.path("name")))
    _check_optional(fields, data_type)


def _check_optional(fields: Fields, data_type: str) -> None:
    fields.optional_text("description")
    for key in ("minValue", "maxValue"):
        fields.optional_number(key)
    categories = fields.raw("categories")
    if categories in (MISSING, None):
        return
    if data_type != "CATEGORICAL":
        fields.add(wrong_type("undefined", categories, fields.path("categories")))
    elif not isinstance(categories, list):
        fields.add(wrong_type("array", categories, fields.path("categories")))
    elif (label := _repeated(categories)) is not None:
        message = f"Duplicate category label: {label}, category labels must be unique"
        fields.add(custom(message, fields.path("categories")))


def _repeated(categories: list[Json]) -> str | None:
    labels = [str(category.get("label")) for category in categories if isinstance(category, dict)]
    return next((label for index, label in enumerate(labels) if label in labels[:index]), None)


def _wrong_name(path: list[str | int]) -> Issue:
    return {
        "origin": "string",
        "code": "invalid_format",
        "format": "regex",
        "pattern": r"/^[\p{L}\p{N}_ .()-]+$/u",
        "path": list(path),
        "message": "Name contains invalid characters",
    }


def _no_categories(path: list[str | int]) -> Issue:
    plain = no_union([[wrong_type(kind, MISSING, ())] for kind in ("string", "number", "boolean")], ())
    containers = [[wrong_type(kind, MISSING, ())] for kind in ("array", "record")]
    return no_union([*containers, [plain]], path)


def _body(fields: Fields, data_type: str) -> dict[str, Json]:
    return {
        "description": fields.optional_text("description"),
        "minValue": fields.optional_number("minValue"),
        "maxValue": fields.optional_number("maxValue"),
        "isArchived": False,
        "dataType": data_type,
        "categories": _BOOLEAN_CATEGORIES if data_type == "BOOLEAN" else fields.json("categories"),
    }


def _is_out_of_order(body: dict[str, Json]) -> bool:
    least, most = body["minValue"], body["maxValue"]
    return isinstance(least, int | float) and isinstance(most, int | float) and least >= most


def _list(call: Call) -> Reply:
    page = read_page(call)
    records, total = call.store.records.page(KIND, Matching(), limit=page.limit, page=page.number)
    return paged(page, [_show(record) for record in records], total=total)


def _get(call: Call) -> Reply:
    return Reply(body=_show(_find(call)))


def _change(call: Call) -> Reply:
    fields = Fields.of_body(call.json())
    if not any(fields.raw(key) is not MISSING for key in _CHANGEABLE):
        fields.add(custom(_NOTHING))
    fields.done()
    record = _find(call)
    _check_change(fields, str(record.body["dataType"]))
    changed = {key: fields.json(key) for key in _CHANGEABLE[1:] if fields.raw(key) is not MISSING}
    body = record.body | changed
    if _is_out_of_order(body):
        raise bad_request(_WRONG_ORDER)
    name = fields.text("name") if fields.is_set("name") else record.name
    return Reply(body=_show(call.store.records.update(replace(record, name=name, body=body))))


def _check_change(fields: Fields, data_type: str) -> None:
    if fields.is_set("name"):
        _check(fields, data_type)
    else:
        _check_optional(fields, data_type)
    fields.optional_flag("isArchived")
    fields.done()


def _find(call: Call) -> Record:
    record = call.store.records.get(KIND, call.path["id"])
    if record is None:
        raise not_found(_UNKNOWN)
    return record


def _show(record: Record) -> dict[str, Json]:
    return {
        "id": record.id,
        "name": record.name,
        "projectId": PROJECT_ID,
        "createdAt": iso(record.created_ms),
        "updatedAt": iso(record.updated_ms),
        **record.body,
    }


def fit_config(score: Score, *, store: Store, has_type: bool) -> Score | None:
    """Return the score as its config has it, under the config's name; None if Langfuse would drop it silently.

    Args:
        has_type: The sender named a data type; else the config's counts.
    """
    if score.config_id is None:
        return score
    config = store.records.get(KIND, score.config_id)
    if config is None or config.body["isArchived"]:
        return None
    data_type = str(config.body["dataType"])
    if has_type and score.data_type != data_type:
        return None
    fitted = replace(score, name=config.name, data_type=data_type)
    return fitted if _is_within(fitted.value, config.body) else None


def _is_within(value: float | str, config: dict[str, Json]) -> bool:
    if config["dataType"] in ("CATEGORICAL", "BOOLEAN"):
        categories = config["categories"] if isinstance(config["categories"], list) else []
        key = "label" if config["dataType"] == "CATEGORICAL" else "value"
        return value in [category.get(key) for category in categories if isinstance(category, dict)]
    if isinstance(value, str):
        return config["dataType"] == "TEXT"
    least, most = config["minValue"], config["maxValue"]
    is_high_enough = not isinstance(least, int | float) or value >= least
    is_low_enough = not isinstance(most, int | float) or value <= most
    return config["dataType"] == "NUMERIC" and is_high_enough and is_low_enough


def score_config_endpoints(backend: Backend) -> dict[str, Endpoint]:
    return {
        "/api/public/score-configs": Endpoint(backend, {"GET": Action(handle=_list), "POST": Action(handle=_create)}),
        "/api/public/score-configs/{id}": Endpoint(
            backend, {"GET": Action(handle=_get), "PATCH": Action(handle=_change)}
        ),
    }
