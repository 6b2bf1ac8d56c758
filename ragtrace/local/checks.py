"""Check the fields of a request and word what is wrong as Langfuse's validator does."""

from collections.abc import Callable, Mapping, Sequence
from typing import Self

from ragtrace.local.wire import Json, invalid

Issue = dict[str, Json]
MISSING = object()
"""Stands for a key that is not there; JavaScript calls it undefined."""

_DATETIME_PATTERN = (
    r"/^(?:(?:\d\d[2468][048]|\d\d[13579][26]|\d\d0[48]|[02468][048]00|[13579][26]00)-02-29|\d{4}-(?:(?:0[13578]"
    r"|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|(?:02)-(?:0[1-9]|1\d|2[0-8])))T(?:(?:[01]\d"
    r"|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?(?:Z|([+-](?:[01]\d|2[0-3]):[0-5]\d)))$/"
)


def kind_of(value: object) -> str:
    """Return JavaScript's name for a value's type."""
    if value is MISSING:
        return "undefined"
    names = {bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")


def wrong_type(expected: str, value: object, path: Sequence[str | int]) -> Issue:
    return {
        "expected": expected,
        "code": "invalid_type",
        "path": list(path),
        "message": f"Invalid input: expected {expected}, received {kind_of(value)}",
    }


def not_a_number(path: Sequence[str | int]) -> Issue:
    issue = wrong_type("number", MISSING, path)
    return issue | {"received": "NaN", "message": "Invalid input: expected number, received NaN"}


def not_a_date(path: Sequence[str | int]) -> Issue:
    issue = wrong_type("date", MISSING, path)
    return issue | {"received": "Invalid Date", "message": "Invalid input: expected date, received Date"}


def not_a_datetime(path: Sequence[str | int]) -> Issue:
    return {
        "origin": "string",
        "code": "invalid_format",
        "format": "datetime",
        "pattern": _DATETIME_PATTERN,
        "path": list(path),
        "message": "Invalid ISO datetime",
    }


def too_small(origin: str, least: int, path: Sequence[str | int]) -> Issue:
    unit = {"string": "to have >=%d characters", "array": "to have >=%d items"}.get(origin, "to be >=%d")
    return {
        "origin": origin,
        "code": "too_small",
        "minimum": least,
        "inclusive": True,
        "path": list(path),
        "message": f"Too small: expected {origin} {unit % least}",
    }


def too_big(origin: str, most: int, path: Sequence[str | int]) -> Issue:
    unit = "to have <=%d characters" if origin == "string" else "to be <=%d"
    return {
        "origin": origin,
        "code": "too_big",
        "maximum": most,
        "inclusive": True,
        "path": list(path),
        "message": f"Too big: expected {origin} {unit % most}",
    }


def not_an_option(options: Sequence[str], path: Sequence[str | int]) -> Issue:
    if len(options) == 1:
        message = f'Invalid input: expected "{options[0]}"'
    else:
        message = "Invalid option: expected one of " + "|".join(f'"{option}"' for option in options)
    return {"code": "invalid_value", "values": list(options), "path": list(path), "message": message}


def no_union(alternatives: Sequence[Sequence[Issue]], path: Sequence[str | int]) -> Issue:
    return {
        "code": "invalid_union",
        "errors": [[dict(issue) for issue in issues] for issues in alternatives],
        "path": list(path),
        "message": "Invalid input",
    }


def no_discriminator(discriminator: str, path: Sequence[str | int]) -> Issue:
    issue = no_union([], path)
    return issue | {"note": "No matching discriminator", "discriminator": discriminator}


def custom(message: str, path: Sequence[str | int] = ()) -> Issue:
    return {"code": "custom", "path": list(path), "message": message}


class Fields:
    """Read the fields of one JSON object or query, collecting what is wrong; `done` refuses if anything is."""

    def __init__(self, source: Mapping[str, object], prefix: Sequence[str | int] = ()) -> None:
        self._source = source
        self._prefix = tuple(prefix)
        self.issues: list[Issue] = []

    @classmethod
    def of_body(cls, body: Json, prefix: Sequence[str | int] = (), *, times: int = 1) -> Self:
        """Start with a request body, which must be an object (`times`: how often Langfuse says that it is not)."""
        if not isinstance(body, dict):
            raise invalid([wrong_type("object", body, prefix)] * times)
        return cls(body, prefix)

    def path(self, key: str) -> list[str | int]:
        return [*self._prefix, key]

    def raw(self, key: str) -> object:
        return self._source.get(key, MISSING)

    def json(self, key: str) -> Json:
        """Return a value of any shape that came out of JSON; None where there is none."""
        value: Json = self._source.get(key)  # type: ignore[assignment] # a request body is JSON
        return value

    def is_set(self, key: str) -> bool:
        return self.raw(key) not in (MISSING, None)

    def add(self, issue: Issue) -> None:
        self.issues.append(issue)

    def done(self) -> None:
        if self.issues:
            raise invalid(self.issues)

    def text(self, key: str, *, shortest: int = 0, longest: int | None = None) -> str:
        value = self.raw(key)
        if not isinstance(value, str):
            self.add(wrong_type("string", value, self.path(key)))
            return ""
        if len(value) < shortest:
            self.add(too_small("string", shortest, self.path(key)))
        if longest is not None and len(value) > longest:
            self.add(too_big("string", longest, self.path(key)))
        return value

    def optional_text(self, key: str) -> str | None:
        return self.text(key) if self.is_set(key) else None

    def optional_number(self, key: str) -> float | None:
        value = self.raw(key)
        if value is MISSING or value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.add(wrong_type("number", value, self.path(key)))
            return None
        return value

    def optional_flag(self, key: str) -> bool | None:
        value = self.raw(key)
        if value is MISSING or value is None:
            return None
        if not isinstance(value, bool):
            self.add(wrong_type("boolean", value, self.path(key)))
            return None
        return value

    def option(self, key: str, options: Sequence[str], *, default: str | None = None) -> str:
        """Return one of the options; without a default the key is required."""
        value = self.raw(key)
        if value in (MISSING, None) and default is not None:
            return default
        if value not in options:
            self.add(not_an_option(options, self.path(key)))
            return options[0]
        return str(value)

    def query_int(self, key: str, *, default: int, least: int, most: int) -> int:
        """Return a number given as text in a query."""
        value = self.raw(key)
        if value is MISSING:
            return default
        try:
            number = int(float(str(value)))
        except (ValueError, OverflowError):
            self.add(not_a_number(self.path(key)))
            return default
        if number < least:
            self.add(too_small("number", least, self.path(key)))
        if number > most:
            self.add(too_big("number", most, self.path(key)))
        return number

    def query_time(self, key: str, *, parse: Callable[[str], int | None], issue: Callable[..., Issue]) -> int | None:
        """Return a time given as text in a query, in milliseconds."""
        value = self.raw(key)
        if not isinstance(value, str):
            return None
        moment = parse(value)
        if moment is None:
            self.add(issue(self.path(key)))
        return moment
