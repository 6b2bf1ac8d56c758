"""Find the judge's own JSON object in whatever it wrote around it.

A reply may think aloud first, quote the hostile text that it judged, or be cut off. Its own object is the one that
carries the code of the request, which no text under judgement can hold: the code is drawn so that it is in none.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import json_repair

from ragtrace.errors import JudgeReplyInvalid
from ragtrace.model import JsonValue

CODE_KEY: Final = "id"
REFUSED_KEY: Final = "refused"
LIST_KEY: Final = "verdicts"


def _once(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    """Build an object without the keys that it gives different values: they say nothing."""
    built = dict(pairs)
    if len(built) < len(pairs):
        differing = {key for key, value in pairs if value != built[key]}
        return {key: value for key, value in built.items() if key not in differing}
    return built


_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_once)
_THOUGHT = r"think|thinking|thought|thoughts|reasoning|reflection"
_OPENING = re.compile(rf"<(?:{_THOUGHT})>|◁think▷|\[THINK\]|<\|channel\|>analysis", re.IGNORECASE)
_CLOSING = re.compile(rf"</(?:{_THOUGHT})>|◁/think▷|\[/THINK\]|<\|channel\|>final(?:<\|message\|>)?", re.IGNORECASE)
_MOST_BRACES = 500
"""Opening braces tried in one reply: each costs a scan, and a hostile text may hold thousands."""

Located = tuple[int, int, Mapping[str, JsonValue]]
"""Start, end (exclusive) and value of an object in a text."""


def own_object(text: str, code: str) -> Mapping[str, JsonValue]:
    """Return the one object that carries the code.

    Where it is not JSON, its slips are mended (single quotes, trailing commas); where it was cut off, it holds the
    entries that were written to their end, and never another.

    Raises:
        JudgeReplyInvalid: there is no such object, or there are several and they differ.
    """
    located = list(_objects(text))
    start, end = _spoken(text, located)
    own = [value for a, b, value in located if start <= a and b <= end and _is_own(value, code)]
    if any(value != own[0] for value in own[1:]):
        raise JudgeReplyInvalid("the reply holds two different verdicts on one request")
    if own:
        return own[0]
    spoken = text[start:end]
    found = _mended(spoken, code) or _complete_entries(spoken, code)
    if found is None:
        raise JudgeReplyInvalid(f"the reply holds no verdict of the judge's own; it begins {spoken.strip()[:60]!r}")
    return found


def _objects(text: str) -> Iterator[Located]:
    """Yield the outermost JSON objects, in text order."""
    start, tried = text.find("{"), 0
    while start >= 0 and tried < _MOST_BRACES:
        tried += 1
        try:
            value, end = _DECODER.raw_decode(text, start)
        except ValueError:
            end = start + 1
        except RecursionError:
            # Nested a thousand deep: no judge writes that, and to try it from each brace would take a second.
            return
        else:
            yield start, end, value
        start = text.find("{", end)


def _spoken(text: str, located: Sequence[Located]) -> tuple[int, int]:
    """Return where the reply proper starts and ends: after the last thought, before one that was never ended.

    A tag inside an object is a string's content and no tag. Of a thought's start, only its end is sure to be there.
    """
    start = max((tag for _, tag in _tags(_CLOSING, text, located)), default=0)
    end = min((tag for tag, _ in _tags(_OPENING, text, located) if tag >= start), default=len(text))
    return start, end


def _tags(pattern: re.Pattern[str], text: str, located: Sequence[Located]) -> Iterator[tuple[int, int]]:
    for tag in pattern.finditer(text):
        if not any(a < tag.start() < b for a, b, _ in located):
            yield tag.span()


def _is_own(value: object, code: str) -> bool:
    return isinstance(value, dict) and str(value.get(CODE_KEY, "")).strip().casefold() == code


def _mended(text: str, code: str) -> Mapping[str, JsonValue] | None:
    """Return the object after a JSON mender went over it, if it was written to its end.

    A mender closes what is open, and so would make an entry of half an entry: what has unclosed brackets is not its.
    """
    body = text[text.find("{") : text.rfind("}") + 1]
    if not body or body.count("{") != body.count("}") or body.count("[") != body.count("]"):
        return None
    value = json_repair.loads(body)
    return value if isinstance(value, dict) and _is_own(value, code) else None


def _complete_entries(text: str, code: str) -> Mapping[str, JsonValue] | None:
    """Return what a cut-off object holds up to its last complete entry, if it is the only one with the code."""
    parts = re.split(rf'"{CODE_KEY}"\s*:\s*"\s*{code}\s*"', text, flags=re.IGNORECASE)
    if len(parts) != 2:
        return None
    head, opened, entries = parts[1].partition(f'"{LIST_KEY}"')
    opening = re.match(r"\s*:\s*\[", entries)
    if not opened or not opening:
        return None
    refused = re.search(rf'"{REFUSED_KEY}"\s*:\s*(true|false)', head)
    return {
        CODE_KEY: code,
        REFUSED_KEY: refused is not None and refused.group(1) == "true",
        LIST_KEY: list(_entries(entries, opening.end())),
    }


def _entries(text: str, at: int) -> Iterator[JsonValue]:
    while True:
        at = re.compile(r"[\s,]*").match(text, at).end()  # type: ignore[union-attr]  # matches at any place
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        yield value
