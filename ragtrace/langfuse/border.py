"""Turn what goes wrong between us and Langfuse into our two errors."""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx

from ragtrace.errors import BackendError, BackendRejected, BackendUnavailable, ConfigError

_COME_AGAIN = frozenset({408, 409, 425, 429})
_TOO_LARGE = frozenset({413, 422, 524})
_REDIRECTS = range(300, 400)
_LONGEST_SHOWN = 200


class StatusError(Exception):
    """An answer that is not a success."""

    def __init__(self, status: int, *, headers: Mapping[str, str], body: object) -> None:
        super().__init__(status)
        self.status = status
        self.headers = headers
        """Keys in lower case."""
        self.body = body
        """Parsed JSON, else the text."""


class MalformedError(Exception):
    """An answer that says success and is not what Langfuse answers."""


FOREIGN = (StatusError, MalformedError, httpx.HTTPError, httpx.InvalidURL, TimeoutError)
"""Everything that a request may raise."""


class ContentRefused(BackendRejected):
    """Langfuse refuses what this request says, not who says it; a part of it may do."""


class TooLarge(ContentRefused):
    """Langfuse cannot carry a message of this size; half of it may do."""


def describe(exc: Exception, *, base_url: str, purpose: str) -> BackendError | ConfigError:
    """Return our error for a foreign one: what we were doing, what came back, what to do."""
    where = f"LANGFUSE_BASE_URL={base_url!r}"
    match exc:
        case StatusError():
            return _from_status(exc, where=where, purpose=purpose)
        case httpx.InvalidURL() | httpx.UnsupportedProtocol():
            return ConfigError(f"{where}: expected a URL such as https://cloud.langfuse.com")
        case httpx.ConnectError() | httpx.ConnectTimeout():
            reason = _short(str(exc)) or "no connection"
            return BackendUnavailable(
                f"{where}: cannot connect to {purpose} ({reason}): is Langfuse running there, is the URL right?"
            )
        case httpx.TimeoutException() | TimeoutError():
            return BackendUnavailable(
                f"{where}: no answer in time to {purpose}: check that this is Langfuse and that it is well, or raise "
                "RAGTRACE_LANGFUSE_TIMEOUT_SECONDS"
            )
        case httpx.TransportError():
            reason = _short(str(exc)) or type(exc).__name__
            return BackendUnavailable(f"{where}: connection lost while trying to {purpose} ({reason}): try again")
    return _not_langfuse(where, purpose)


def is_transient(exc: Exception) -> bool:
    """Tell whether the same request may succeed later."""
    if isinstance(exc, StatusError):
        return exc.status in _COME_AGAIN or (exc.status >= 500 and exc.status not in _TOO_LARGE)
    return isinstance(exc, TimeoutError | httpx.TransportError) and not isinstance(exc, httpx.UnsupportedProtocol)


def is_rate_limit(exc: Exception) -> bool:
    """Tell whether Langfuse asked for fewer requests."""
    return isinstance(exc, StatusError) and exc.status == 429


def retry_after_seconds(exc: Exception, now: datetime) -> float:
    """Return how long Langfuse asked us to wait; 0 if it did not say."""
    stated = exc.headers.get("retry-after", "").strip() if isinstance(exc, StatusError) else ""
    if stated.replace(".", "", 1).isdigit():
        return float(stated)
    try:
        return max(0.0, (parsedate_to_datetime(stated).astimezone(UTC) - now).total_seconds())
    except ValueError:
        return 0.0


def _from_status(exc: StatusError, *, where: str, purpose: str) -> BackendError:
    status, said = exc.status, _message(exc.body)
    if status == 401:
        return BackendRejected(
            f"{where}: keys refused (401): check LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY; both must be of one "
            "project of this Langfuse"
        )
    if status == 403:
        return BackendRejected(f"{where}: these keys may not {purpose} (403): {said or 'use a project key'}")
    if status == 404:
        return BackendRejected(
            f"{where}: cannot {purpose}, nothing is there (404): ragtrace needs Langfuse 4 or later, at its root URL"
        )
    if is_transient(exc):
        why = "over its rate limit" if status == 429 else said or "server error"
        return BackendUnavailable(f"{where}: could not {purpose} ({status}: {why}): try again later")
    return _refusal(exc, where=where, purpose=purpose)


def _refusal(exc: StatusError, *, where: str, purpose: str) -> BackendRejected:
    status, said = exc.status, _message(exc.body)
    if status in _TOO_LARGE:
        return TooLarge(f"{where}: too much at once to {purpose} ({status}): {said}")
    if status >= 400:
        return ContentRefused(f"{where}: refused to {purpose} ({status}): {said}")
    if status in _REDIRECTS:
        target = exc.headers.get("location", "another URL")
        return BackendRejected(f"{where}: redirects to {_short(target)}: set LANGFUSE_BASE_URL to where it leads")
    return _not_langfuse(where, purpose)


def _not_langfuse(where: str, purpose: str) -> BackendRejected:
    return BackendRejected(
        f"{where}: answered something else than Langfuse's API when asked to {purpose}: give the root URL of Langfuse"
    )


def _message(body: object) -> str:
    """Return the server's own words in one line, the first validation issue with its place."""
    if not isinstance(body, Mapping):
        return _short(body if isinstance(body, str) else "")
    message, error = body.get("message"), body.get("error")
    text = message if isinstance(message, str) else str(error or "")
    issue = error[0] if isinstance(error, list) and error else None
    if isinstance(issue, Mapping) and issue.get("message"):
        path = ".".join(str(part) for part in issue.get("path") or ())
        text = f"{text}: {path + ': ' if path else ''}{issue['message']}"
    return _short(text)


def _short(text: str) -> str:
    folded = " ".join(text.split())
    return folded if len(folded) <= _LONGEST_SHOWN else folded[: _LONGEST_SHOWN - 1] + "…"
