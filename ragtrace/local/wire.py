"""Say what goes over the wire: JSON text, times, replies and refusals as Langfuse forms them."""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]

PROJECT_ID = "local-project"
JSON_TYPE = "application/json; charset=utf-8"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NAIVE_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - written with a Z of our own
_LARGEST_EXACT_FLOAT = 1e21
# JavaScript prints larger numbers with an exponent.
_MOST_DIGITS = 308

_DATE = r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
_CLOCK = r"(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?"
_STRICT_TIME = re.compile(rf"{_DATE}T{_CLOCK}(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a handler answers."""

    body: Json
    status: int = 200


class RefusedError(Exception):
    """A request that is answered with an error; `body` is JSON, or plain text without a content type."""

    def __init__(self, status: int, body: Json) -> None:
        super().__init__(f"{status}: {body}")
        self.status = status
        self.body = body


def bad_request(message: str) -> RefusedError:
    return RefusedError(400, {"message": message, "error": "InvalidRequestError"})


def not_found(message: str) -> RefusedError:
    return RefusedError(404, {"message": message, "error": "LangfuseNotFoundError"})


def invalid(issues: Sequence[Mapping[str, Json]]) -> RefusedError:
    """Refuse with what the validation found."""
    return RefusedError(400, {"message": "Invalid request data", "error": [dict(issue) for issue in issues]})


def to_bytes(body: Json) -> bytes:
    """Encode as JavaScript does: UTF-8, lone surrogates as escapes."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", "backslashreplace")


def to_text(value: Json) -> str:
    """Write a value as JavaScript's `JSON.stringify` would."""
    return json.dumps(_javascript(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def from_text(text: str) -> Json:
    """Parse JSON as strictly as JavaScript.

    Raises:
        ValueError: the text is not JSON (NaN and Infinity are not), or a number is beyond all bounds.
    """
    value: Json = _STRICT.decode(text)
    return value


def from_metadata(text: str) -> Json:
    """Return a metadata value as Langfuse shows it: parsed where it is JSON, else the text.

    An integer that a double cannot hold stays text.
    """
    try:
        value: Json = _EXACT.decode(text)
    except (ValueError, RecursionError):
        return text
    return value


def _decoder(parse_int: Callable[[str], Json]) -> json.JSONDecoder:
    return json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_shortest_number, parse_int=parse_int)


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")


def _shortest_number(digits: str) -> int | float:
    """Read 2.0 as 2: JavaScript has one number type."""
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits} is out of range")
    return int(number) if number.is_integer() and abs(number) < _LARGEST_EXACT_FLOAT else number


def _finite_int(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"a number of {len(digits)} digits is out of range")
    return int(digits)


def _exact_int(digits: str) -> int | str:
    return int(digits) if len(digits) <= _MOST_DIGITS and int(float(digits)) == int(digits) else digits


_STRICT, _EXACT = _decoder(_finite_int), _decoder(_exact_int)


def _javascript(value: Json) -> Json:
    if isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST_EXACT_FLOAT:
        return int(value)
    if isinstance(value, list):
        return [_javascript(item) for item in value]
    if isinstance(value, dict):
        return {key: _javascript(item) for key, item in value.items()}
    return value


@lru_cache(maxsize=1024)
def iso(milliseconds: int) -> str:
    """Format a time as Langfuse does."""
    # Listings write three times a row, of which most are alike; `strftime` takes thrice as long.
    return (_NAIVE_EPOCH + timedelta(milliseconds=milliseconds)).isoformat(timespec="milliseconds") + "Z"


def parse_strict_time(text: str) -> int | None:
    """Return the milliseconds of an ISO time with an offset; None for anything else."""
    return parse_loose_time(text) if _STRICT_TIME.fullmatch(text) else None


def parse_loose_time(text: str) -> int | None:
    """Return the milliseconds of an ISO date or time (without offset: UTC); None for anything else."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - _EPOCH) // timedelta(milliseconds=1)


def clean_environment(text: str) -> str:
    """Return the environment that Langfuse stores for what was sent."""
    name = re.sub(r"^langfuse[-_]*", "", text.lower())[:40]
    return name if re.fullmatch(r"[a-z0-9_-]+", name) else "default"
