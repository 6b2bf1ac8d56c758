"""Make plain JSON of attribute values: native ones, the text of JSON, and JSON that was cut off."""

import json
from collections.abc import Iterator, Mapping

from ragtrace.extract.json_text import parse, without_surrogates
from ragtrace.model import JsonValue

_DEEPEST = 12
_JSON_BEGINS = ("{", "[", '"')


def plain(value: object, depth: int = _DEEPEST) -> JsonValue:
    """Return a value as JSON; what is no JSON becomes its text, what lies too deep is left out."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        # `str` also of its subclasses: Langfuse hands attributes on as one that is callable.
        return without_surrogates(str(value))
    if not depth:
        return None
    if isinstance(value, Mapping):
        return {str(key): plain(inner, depth - 1) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner, depth - 1) for inner in value]
    return without_surrogates(str(value))


def unfold(value: JsonValue) -> JsonValue:
    """Return what a text says as JSON; a text that is none, or a bare number or word, stays a text."""
    if isinstance(value, str) and value.lstrip()[:1] in _JSON_BEGINS:
        return parse(value)
    return value


def is_cut(value: JsonValue) -> bool:
    """Tell whether this is the text of JSON whose end is missing: a limit on attribute lengths does that."""
    if not isinstance(value, str) or not _begins_structure(value):
        return False
    try:
        json.loads(value)
    except RecursionError:
        return False
    except ValueError:
        return True
    return False


def indexed(attributes: Mapping[str, JsonValue], prefix: str) -> dict[int, dict[str, JsonValue]]:
    """Collect `prefix.0.key`, `prefix.1.key`, … by number; the first may be missing, since the oldest are evicted."""
    found: dict[int, dict[str, JsonValue]] = {}
    start = prefix + "."
    for key, value in attributes.items():
        number, dot, rest = key.removeprefix(start).partition(".")
        if key.startswith(start) and dot and number.isdecimal():
            found.setdefault(int(number), {})[rest] = value
    return dict(sorted(found.items()))


def walk(value: JsonValue, *, depth: int, most: int) -> Iterator[JsonValue]:
    """Yield a value and what lies inside it, in order, within bounds."""
    stack: list[tuple[JsonValue, int]] = [(value, depth)]
    while stack and most:
        most -= 1
        item, left = stack.pop()
        yield item
        if left and isinstance(item, dict | list):
            inner = list(item.values()) if isinstance(item, dict) else item
            stack.extend((one, left - 1) for one in reversed(inner))


def _begins_structure(text: str) -> bool:
    """Prompts may begin with a bracket, too: `[INST]`, `{context}`."""
    packed = "".join(text[:40].split())
    return packed.startswith(('{"', "[{", "[[", '["'))
