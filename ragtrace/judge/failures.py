"""Tell what an error of the OpenAI client means for the request that met it; the one border to that client's errors."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final, Literal

import aiohttp
import openai

Meaning = Literal["limited", "passing", "locked_out", "declined", "too_long", "parameter"]
_TOO_LONG = re.compile(
    r"context_length_exceeded|context[ _](?:length|window)|maximum context|prompt is too long|too many tokens|"
    r"input is too long|request too large|exceeds? the (?:model'?s? )?(?:maximum|limit|available context)|"
    r"reduce the length"
)
_WINDOW = re.compile(r"(?:context length (?:is|of)|context window of|maximum of|limit of)\s*(\d{3,8})")
_QUOTA = re.compile(r"insufficient_quota|billing|exceeded your (?:current )?quota|credit balance|payment required")
_FILTER = re.compile(r"content_filter|content_policy|content management policy|moderation|flagged|safety system")
_SECRET = re.compile(r"\b(?:[sp]k[-_]|bearer )[\w*.-]{6,}", re.IGNORECASE)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_LOCKED_OUT: Final = frozenset({401, 402, 403, 404})
_PASSING: Final = frozenset({408, 409, 425, 500, 502, 503, 504, 520, 522, 524, 529})
_LONGEST_SAID: Final = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a request brought no reply."""

    meaning: Meaning
    said: str
    """One line for people, without secrets."""
    retry_after: float | None = None
    """Seconds that the endpoint asked to wait."""
    parameter: str | None = None
    window: int | None = None
    """The model's window, where the endpoint named it; in tokens."""


def explain(error: openai.APIStatusError | aiohttp.ClientError, key: str, now: datetime) -> Failure:
    """Return what the error means; `key` is kept out of what it says."""
    if not isinstance(error, openai.APIStatusError):
        return Failure(
            meaning="passing", said=_scrub(_first_line(str(error.__cause__ or error) or type(error).__name__), key)
        )
    status = error.status_code
    text = f"{error.code} {error.type} {error.message}".lower()
    said = f"HTTP {status}: {_scrub(_first_line(_message(error)), key)}"
    meaning = _meaning(status, text)
    window = _WINDOW.search(text) if meaning == "too_long" else None
    return Failure(
        meaning=meaning,
        said=said,
        retry_after=retry_after(error.response.headers, now),
        parameter=error.param,
        window=int(window.group(1)) if window else None,
    )


def _meaning(status: int, text: str) -> Meaning:
    if _TOO_LONG.search(text) or status == 413:
        return "too_long"
    if status == 429:
        return "locked_out" if _QUOTA.search(text) else "limited"
    if status in _PASSING or status >= 500:
        return "passing"
    if _FILTER.search(text):
        return "declined"
    return "locked_out" if status in _LOCKED_OUT else "parameter"


def _message(error: openai.APIStatusError) -> str:
    body = error.body
    said = body.get("message") if isinstance(body, dict) else None
    return said if isinstance(said, str) else error.message


def _first_line(text: str) -> str:
    folded = " ".join(text.split())
    return folded if len(folded) <= _LONGEST_SAID else folded[: _LONGEST_SAID - 1] + "…"


def _scrub(text: str, key: str) -> str:
    return _SECRET.sub("[key]", text.replace(key, "[key]") if key else text)


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the seconds that a reply's headers ask to wait: milliseconds, seconds, or a date."""
    for name, unit in (("retry-after-ms", 1_000), ("retry-after", 1)):
        value = headers.get(name, "")
        if _NUMBER.fullmatch(value.strip()):
            return float(value) / unit
    try:
        date = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    return max(0.0, (date.replace(tzinfo=date.tzinfo or UTC) - now).total_seconds())
