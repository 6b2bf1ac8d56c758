"""Read the `filter` parameter of v2/observations: a JSON array of conditions."""

from collections.abc import Iterator, Sequence

from ragtrace.local.checks import (
    MISSING,
    Issue,
    kind_of,
    no_discriminator,
    no_union,
    not_a_date,
    not_an_option,
    wrong_type,
)
from ragtrace.local.conditions import Condition, Operand
from ragtrace.local.wire import Json, bad_request, from_text, invalid, parse_loose_time

_TEXT, _TIME, _NUMBER, _FLAG, _LIST, _OBJECT = (
    "stringOptions",
    "datetime",
    "number",
    "boolean",
    "arrayOptions",
    "stringObject",
)
_KINDS = {
    **dict.fromkeys(
        ("id", "type", "name", "traceId", "environment", "level", "statusMessage", "version", "release", "userId"),
        _TEXT,
    ),
    **dict.fromkeys(("sessionId", "parentObservationId", "traceName", "model", "promptName"), _TEXT),
    **dict.fromkeys(("input", "output"), "string"),
    **dict.fromkeys(("startTime", "endTime"), _TIME),
    **dict.fromkeys(("latency", "timeToFirstToken", "inputTokens", "outputTokens", "totalTokens"), _NUMBER),
    **dict.fromkeys(("inputCost", "outputCost", "totalCost", "promptVersion"), _NUMBER),
    **dict.fromkeys(("isRootObservation", "hasParentObservation", "hasInput", "hasOutput"), _FLAG),
    "tags": _LIST,
    "metadata": _OBJECT,
}
_ALIASES = {"traceTags": "tags", "providedModelName": "model", "parentId": "parentObservationId"}

_COMPARE = (">", "<", ">=", "<=")
_WORDS = ("=", "contains", "does not contain", "starts with", "ends with")
_OPERATORS: dict[str, tuple[str, ...]] = {
    "datetime": _COMPARE,
    "string": (*_WORDS, "matches"),
    "stringOptions": ("any of", "none of"),
    "categoryOptions": ("any of", "none of"),
    "arrayOptions": ("any of", "none of", "all of"),
    "number": ("=", *_COMPARE),
    "stringObject": _WORDS,
    "numberObject": ("=", *_COMPARE),
    "boolean": ("=", "<>"),
    "null": ("is null", "is not null"),
}
_VALUES = {
    "datetime": "string",
    "string": "string",
    "stringOptions": "array",
    "categoryOptions": "array",
    "arrayOptions": "array",
    "number": "number",
    "stringObject": "string",
    "numberObject": "number",
    "boolean": "boolean",
}
_SAME = {"string": _TEXT, "categoryOptions": _TEXT, "numberObject": _OBJECT}
"""Filter types that may stand for another."""


def read_filter(text: str) -> list[Condition]:
    """Return the conditions.

    Raises:
        RefusedError: not JSON, not an array of conditions, a column that does not exist or a type that does not fit it.
    """
    try:
        items = from_text(text)
    except (ValueError, RecursionError):
        raise bad_request("Invalid JSON in filter parameter") from None
    if not isinstance(items, list):
        raise invalid([wrong_type("array", items, ["filter"])])
    if issues := [issue for index, item in enumerate(items) for issue in _issues(item, index)]:
        raise invalid(issues)
    conditions = [_condition(item) for item in items if isinstance(item, dict)]
    _check_content(conditions)
    return conditions


def _issues(item: Json, index: int) -> Iterator[Issue]:
    path: list[str | int] = ["filter", index]
    if not isinstance(item, dict):
        yield wrong_type("object", item, path)
        return
    kind = item.get("type")
    if not isinstance(kind, str) or kind not in _OPERATORS:
        yield no_discriminator("type", [*path, "type"])
        return
    if not isinstance(item.get("column"), str):
        yield wrong_type("string", item.get("column", MISSING), [*path, "column"])
    if item.get("operator") not in _OPERATORS[kind]:
        yield _no_operator(kind, [*path, "operator"])
    if kind.endswith("Object") and not isinstance(item.get("key"), str):
        yield wrong_type("string", item.get("key", MISSING), [*path, "key"])
    yield from _value_issues(kind, item.get("value", MISSING), [*path, "value"])


def _value_issues(kind: str, value: object, path: Sequence[str | int]) -> Iterator[Issue]:
    expected = _VALUES.get(kind)
    if expected is None:
        return
    if kind_of(value) != expected:
        yield wrong_type(expected, value, path)
    elif kind == "datetime" and parse_loose_time(str(value)) is None:
        yield not_a_date(path)
    elif isinstance(value, list) and not all(isinstance(item, str) for item in value):
        yield wrong_type("string", next(item for item in value if not isinstance(item, str)), path)


def _no_operator(kind: str, path: Sequence[str | int]) -> Issue:
    if kind != "string":
        return not_an_option(_OPERATORS[kind], path)
    alternatives = (_WORDS, ("matches",))
    return no_union([[not_an_option(options, ())] for options in alternatives], path)


def _condition(item: dict[str, Json]) -> Condition:
    name, kind = str(item["column"]), str(item["type"])
    column = _ALIASES.get(name, name)
    expected = _KINDS.get(column)
    if expected is None:
        raise bad_request(f"Column {name} does not match a UI / CH table mapping.")
    if kind != "null" and kind != expected and _SAME.get(kind) != expected:
        raise bad_request(f"Invalid filter type '{kind}' for column '{name}'. Expected filter type '{expected}'.")
    operator = str(item["operator"])
    return Condition(
        column=column,
        operator=f"has {operator}" if kind == _LIST else operator,
        value=_operand(kind, item.get("value")),
        key=str(item["key"]) if kind.endswith("Object") else None,
    )


def _operand(kind: str, value: Json) -> Operand:
    if kind == "datetime":
        return parse_loose_time(str(value))
    if isinstance(value, list):
        return tuple(str(item) for item in value)
    if _VALUES.get(kind) == "number" and isinstance(value, int):
        return float(value)
    return None if isinstance(value, dict) or kind == "null" else value


def _check_content(conditions: Sequence[Condition]) -> None:
    operators = {condition.operator for condition in conditions if condition.column in ("input", "output")}
    if operators and not operators & {"=", "matches"}:
        raise bad_request("Input/output filters require at least one `matches` or `=` operator.")
