"""Take typed values out of JSON that others wrote, tolerantly."""

import json
import re
from collections.abc import Mapping

from ragtrace.model import JsonValue

JsonObject = dict[str, JsonValue]
_SURROGATE = re.compile("[\ud800-\udfff]")


def without_surrogates(text: str) -> str:
    """Replace lone surrogates one for one, so that offsets hold; no encoder downstream takes them."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def parse(text: str | None) -> JsonValue:
    """Return the value of JSON text; text that is no JSON is returned as it is."""
    if text is None:
        return None
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return without_surrogates(text)
    return _clean(value)


def parse_object(text: str | None) -> JsonObject | None:
    """Return the object in JSON text, None for anything else."""
    value = parse(text)
    return value if isinstance(value, dict) else None


def _clean(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return without_surrogates(value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {without_surrogates(key): _clean(item) for key, item in value.items()}
    return value


def clean_object(value: Mapping[str, JsonValue]) -> JsonObject:
    """Return a copy without lone surrogates: one of them makes Langfuse lose a whole second of writes."""
    return {without_surrogates(key): _clean(item) for key, item in value.items()}


def dump(value: Mapping[str, JsonValue]) -> bytes:
    """Return compact JSON text; a NaN raises ValueError."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


def metadata_value(metadata: Mapping[str, JsonValue], key: str) -> JsonValue:
    """Return a metadata value whether the server gave JSON or the text of JSON."""
    value = metadata.get(key)
    return parse(value) if isinstance(value, str) else value


def as_text(value: JsonValue) -> str | None:
    """Return a text as it is, a number as its digits, and None for the rest."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return str(value)


def as_number(value: JsonValue) -> float | None:
    """Return a number, None for anything else; true is no number."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def as_integer(value: JsonValue) -> int | None:
    """Return a whole number, None for anything else."""
    number = as_number(value)
    return int(number) if number is not None and number == int(number) else None


def as_strings(value: JsonValue) -> tuple[str, ...]:
    """Return a list's texts and numbers as texts; one text separated by commas is taken apart."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    items = value if isinstance(value, list) else []
    texts = (as_text(item) for item in items)
    return tuple(text for text in texts if text is not None)
