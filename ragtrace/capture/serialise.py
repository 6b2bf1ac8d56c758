"""Turn whatever an application keeps beside its texts into JSON that every backend can store."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from hashlib import sha256
from math import isfinite
from os import PathLike, fspath
from uuid import UUID

import pydantic_core

from ragtrace.capture.guard import guard
from ragtrace.model import JsonValue

_DEEPEST = 8
_MOST_ITEMS = 100
_LONGEST_TEXT = 2_000
_LARGEST_EXACT_INTEGER = 2**53
_SURROGATE_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_LONE = re.compile("[\ud800-\udfff\0]")
_REPLACEMENT = "\ufffd"
_MEDIA = re.compile(
    r"data:([\w.+-]{1,60}/[\w.+-]{1,60})?(?:;[\w.=+-]{1,100}){0,5};base64,"
    r"([A-Za-z0-9+/_%-]{64,}={0,2}(?:\r?\n[A-Za-z0-9+/]{60,}={0,2})*)",
    re.IGNORECASE,
)


def clean_text(text: str) -> str:
    """Return text that can be written as UTF-8: media as markers, lone surrogates and NUL as U+FFFD."""
    if type(text) is not str:
        text = str.__str__(text)
    # A single character is looked for at a twentieth of the cost.
    if ";" in text and (";base64," in text or ";BASE64," in text):
        text = _MEDIA.sub(_describe_media, text)
    if not text.isascii() and not _is_encodable(text):
        text = _SURROGATE_PAIR.sub(_join_pair, text)
        return _LONE.sub(_REPLACEMENT, text)
    return text.replace("\0", _REPLACEMENT) if "\0" in text else text


def to_json(value: object) -> JsonValue:
    """Return a JSON value for anything: numbers of any library, dates, models, cycles; never raises.

    What is too deep, too long or of an unknown kind becomes a short marker that says so.
    """
    return _convert(value, frozenset())


def dump(value: JsonValue) -> str:
    """Write JSON as compactly as it goes; the value must come from `to_json` or be as clean."""
    # Half the time of the standard library's: at 50 passages of 20 KB this is most of what a call costs.
    return pydantic_core.to_json(value).decode()


def _convert(value: object, above: frozenset[int]) -> JsonValue:
    match value:
        case None | bool():
            return value
        case Enum():
            return _convert(value.value, above)
        case str():
            return _shorten(clean_text(value))
        case int():
            return int(value) if abs(value) <= _LARGEST_EXACT_INTEGER else str(int(value))
        case float():
            return float(value) if isfinite(value) else str(float(value))
    if id(value) in above:
        return "[cycle]"
    if len(above) >= _DEEPEST:
        return f"[{type(value).__name__}: nested too deeply]"
    with guard("reading a metadata value"):
        return _convert_object(value, above | {id(value)})
    return f"[{type(value).__name__}: unreadable]"


def _convert_object(value: object, above: frozenset[int]) -> JsonValue:
    match value:
        case dict() | Mapping():
            return _convert_mapping(value, above)
        case bytes() | bytearray() | memoryview():
            return f"[{len(value)} bytes, sha256 {sha256(value).hexdigest()[:12]}]"
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case UUID() | Decimal():
            return str(value)
        case PathLike():
            return _convert(fspath(value), above)
        case list() | tuple() | set() | frozenset():
            return _convert_items(value, len(value), above)
    return _convert_foreign(value, above)


def _convert_mapping(value: Mapping[object, object], above: frozenset[int]) -> JsonValue:
    # A copy first: the application may be changing its dictionary in another thread.
    pairs = list(dict(value).items())
    converted = {
        _key(key): _shorten(clean_text(item)) if type(item) is str else _convert(item, above)
        for key, item in pairs[:_MOST_ITEMS]
    }
    if len(pairs) > _MOST_ITEMS:
        converted["…"] = f"[{len(pairs) - _MOST_ITEMS} more]"
    return converted


def _key(key: object) -> str:
    return _shorten(clean_text(key)) if isinstance(key, str) else str(_convert(key, frozenset()))


def _convert_items(items: Iterable[object], count: int, above: frozenset[int]) -> JsonValue:
    if count > _MOST_ITEMS:
        return f"[{count} items]"
    return [_convert(item, above) for item in items]


def _convert_foreign(value: object, above: frozenset[int]) -> JsonValue:
    """Read numpy and its like, pydantic models and dataclasses by what they offer, importing none of them."""
    if isinstance(value, type):
        return f"[{value.__name__}]"
    if callable(to_list := getattr(value, "tolist", None)):
        size = getattr(value, "size", 1)
        if isinstance(size, int) and size > _MOST_ITEMS:
            return f"[{size} items]"
        return _convert(to_list(), above)
    if callable(dump_model := getattr(value, "model_dump", None)):
        return _convert(dump_model(), above)
    if is_dataclass(value):
        return _convert({field.name: getattr(value, field.name) for field in fields(value)}, above)
    return f"[{type(value).__name__}]"


def _shorten(text: str) -> str:
    if len(text) <= _LONGEST_TEXT:
        return text
    return f"{text[:_LONGEST_TEXT]}… [{len(text)} characters]"


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _join_pair(pair: re.Match[str]) -> str:
    return pair.group().encode("utf-16-le", "surrogatepass").decode("utf-16-le")


def _describe_media(found: re.Match[str]) -> str:
    kind, content = (found[1] or "media").lower(), found[2]
    digest = sha256(content.encode()).hexdigest()[:12]
    return f"[{kind}, {len(content)} base64 characters, sha256 {digest}]"
