"""One HTTP connection pool to one Langfuse project, with the one retry loop around every request.

Not through Langfuse's SDK: it parses a list of 100 scores in 1.7 s of CPU (17 ms a score, measured with 5.0.4), takes
2 s to import, and cannot post the single scores that servers before 4.59 need.
"""

import asyncio
import json
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from types import TracebackType
from typing import Self, TypeVar

import httpx

from ragtrace import __version__
from ragtrace.langfuse import border
from ragtrace.model import JsonValue

JsonObject = dict[str, JsonValue]
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How long to wait for Langfuse, and how often to ask again."""

    timeout_seconds: float = 30.0
    """Longest wait for one answer."""
    attempts: int = 4
    """Tries of one request, the first included, when it fails for a reason that may pass."""
    rate_limit_attempts: int = 12
    """Tries of one request when the answer is 429."""
    first_pause_seconds: float = 0.5
    longest_pause_seconds: float = 60.0
    jitter: Callable[[], float] = random.random
    """Returns 0–1; spreads the pauses so that many processes do not come back at once."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


class Connection:
    """Sends requests; a 429 makes all of them wait, not only the one that got it."""

    def __init__(
        self,
        base_url: str,
        *,
        public_key: str,
        secret_key: str,
        policy: RetryPolicy | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self.public_key = public_key
        self.policy = policy or RetryPolicy()
        self.requests = 0
        """Requests sent so far, retries included."""
        self.rate_limited = 0
        """Answers 429 so far."""
        self._resume_at = 0.0
        self._http = httpx.AsyncClient(
            auth=(public_key, secret_key),
            headers={"user-agent": f"ragtrace/{__version__}"},
            timeout=httpx.Timeout(self.policy.timeout_seconds, pool=None),
            limits=httpx.Limits(max_connections=64, max_keepalive_connections=64),
            transport=transport,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def get(
        self,
        purpose: str,
        path: str,
        parameters: Mapping[str, str | int | None] | None = None,
        *,
        policy: RetryPolicy | None = None,
    ) -> JsonObject:
        """Return the JSON object that Langfuse answers.

        Args:
            purpose: What the request is for, as it stands after "to" in an error message.
            path: Below the base URL.
            parameters: Query; None values are left out.
            policy: Other patience than usual.

        Raises:
            BackendUnavailable: no useful answer after all tries.
            BackendRejected: refused; `border.TooLarge` where a smaller request may do.
            ConfigError: the base URL is none.
        """
        present = {key: value for key, value in (parameters or {}).items() if value is not None}
        url = f"{self.base_url}/{path}"
        return await self._ask(
            purpose, lambda: self._http.get(url, params=present), read=_object_of, policy=policy or self.policy
        )

    async def post(self, purpose: str, path: str, body: bytes) -> httpx.Response:
        """Post JSON that is already text; raises as `get` does."""
        url, headers = f"{self.base_url}/{path}", {"content-type": "application/json"}
        return await self._ask(
            purpose,
            lambda: self._http.post(url, content=body, headers=headers),
            read=_itself,
            policy=self.policy,
        )

    async def delete(self, purpose: str, path: str) -> None:
        """Delete; raises as `get` does, and at once at a rate limit: deletions have one a day, of their own."""
        url = f"{self.base_url}/{path}"
        policy = replace(self.policy, rate_limit_attempts=1)
        await self._ask(purpose, lambda: self._http.delete(url), read=_itself, policy=policy)

    async def _ask(
        self,
        purpose: str,
        send: Callable[[], Awaitable[httpx.Response]],
        *,
        read: Callable[[httpx.Response], T],
        policy: RetryPolicy,
    ) -> T:
        """Send a request until it is answered, refused, or the tries are used up."""
        failures = rate_limits = 0
        while True:
            await self._wait_for_turn()
            try:
                self.requests += 1
                async with asyncio.timeout(policy.timeout_seconds):
                    return read(_checked(await send()))
            except border.FOREIGN as exc:
                is_limit = border.is_rate_limit(exc)
                rate_limits, failures = rate_limits + is_limit, failures + (not is_limit)
                self.rate_limited += is_limit
                is_last = failures >= policy.attempts or rate_limits >= policy.rate_limit_attempts
                if is_last or not border.is_transient(exc):
                    raise border.describe(exc, base_url=self.base_url, purpose=purpose) from exc
                pause = self._pause(exc, failures + rate_limits, policy)
            if is_limit:
                self._resume_at = max(self._resume_at, time.monotonic() + pause)
            else:
                await policy.sleep(pause)

    async def _wait_for_turn(self) -> None:
        wait = self._resume_at - time.monotonic()
        if wait > 0:
            await self.policy.sleep(wait)

    def _pause(self, exc: Exception, tries: int, policy: RetryPolicy) -> float:
        """Never sooner than Langfuse asked for; else doubling, with full jitter above half."""
        asked = border.retry_after_seconds(exc, datetime.now(UTC))
        doubled = min(policy.first_pause_seconds * 2 ** (tries - 1), policy.longest_pause_seconds)
        spread = doubled * (0.5 + policy.jitter() / 2)
        return asked + policy.jitter() * min(asked, 1.0) if asked else spread


def _checked(reply: httpx.Response) -> httpx.Response:
    if reply.status_code < 300:
        return reply
    try:
        body = reply.json()
    except ValueError:
        body = reply.text
    raise border.StatusError(reply.status_code, headers=reply.headers, body=body)


def _object_of(reply: httpx.Response) -> JsonObject:
    try:
        content = json.loads(reply.content)
    except ValueError as exc:
        raise border.MalformedError(f"not JSON: {exc}") from exc
    if not isinstance(content, dict):
        raise border.MalformedError("not a JSON object")
    return content


def _itself(reply: httpx.Response) -> httpx.Response:
    return reply
