"""Send requests to an OpenAI-compatible endpoint: retries, time limits, parameters that it does not take."""

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import Final, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass
from weakref import WeakKeyDictionary

import aiohttp
import httpx2
import openai
import pydantic_core
from opentelemetry import context as otel
from opentelemetry.context import Context

from ragtrace.errors import JudgeRefused, JudgeReplyInvalid, JudgeUnavailable
from ragtrace.judge.failures import Failure, explain
from ragtrace.judge.limits import Breaker, Gate, Throttle
from ragtrace.judge.parameters import Format, KnownParameters, Parameters
from ragtrace.judge.planning import TooLongError
from ragtrace.judge.timing import Deadline, Pauses
from ragtrace.judge.wire import Completion, GarbledError, read_completion, read_error, read_vectors
from ragtrace.model import JsonValue
from ragtrace.semconv import JUDGE_MARK

Reply = TypeVar("Reply")
_MOST_FAILURES: Final = 4
"""Attempts that fail for a passing reason before a request is given up."""
_MOST_ATTEMPTS: Final = 30
"""Attempts of any kind: the hard bound on what one request may cost the endpoint."""
_MOST_LESSONS: Final = 5
"""Requests that may be repeated with other parameters."""
_CONNECT_SECONDS: Final = 10.0
_OF_PACKED_CONTENT: Final = frozenset({"content-encoding", "content-length", "transfer-encoding"})
# Every instrumentation looks these up; the API has no public name for them, and older ones ask for the plain word.
_SUPPRESSING: Final = dict.fromkeys(
    (otel._SUPPRESS_INSTRUMENTATION_KEY, otel._SUPPRESS_HTTP_INSTRUMENTATION_KEY, "suppress_instrumentation"), True
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a judge is and how it may be asked."""

    base_url: str | None
    """None: OpenAI itself."""
    key: str = field(repr=False)
    model: str
    timeout_seconds: float
    """Longest wait for one HTTP reply."""
    concurrency: int

    def __str__(self) -> str:
        return f"{self.model!r} at {self.base_url or 'api.openai.com'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """What belongs to one event loop: connections, and who waits for them."""

    session: aiohttp.ClientSession
    gate: Gate
    url: str
    """With a slash at its end."""
    headers: dict[str, str]
    proxy: str | None

    async def post(self, path: str, body: JsonValue) -> bytes:
        """Send a request and return the reply.

        Straight through aiohttp: a request costs a quarter of the processor time that the client's methods take, which
        build and check an object for each part of it.

        Raises:
            openai.APIStatusError: the endpoint refused.
            aiohttp.ClientError: there was no reply.
        """
        url = self.url + path
        async with self.session.post(url, data=_to_json(body), headers=self.headers, proxy=self.proxy) as response:
            content = await response.read()
        if response.ok:
            return content
        raise _refusal(response, content)


class Endpoint:
    """One model at one endpoint. What is learned about it is shared by all event loops; connections are not."""

    def __init__(self, address: Address, *, preferred: Format, pauses: Pauses) -> None:
        self.address = address
        self.known = KnownParameters(preferred)
        self.breaker = Breaker()
        self._pauses = pauses
        self._throttle = Throttle(most=address.concurrency)
        self._lanes: WeakKeyDictionary[asyncio.AbstractEventLoop, Lane] = WeakKeyDictionary()

    async def complete(
        self, messages: tuple[str, str], deadline: Deadline, *, schema: JsonValue, most_tokens: int
    ) -> Completion:
        """Return the model's reply, at most `most_tokens` long, reasoning included.

        Raises:
            JudgeUnavailable: no reply after all attempts, or the endpoint lets nobody in.
            JudgeRefused: the model or its provider declined.
            TooLongError: the request does not fit the model's window.
        """
        sent = self.known.current

        async def attempt(lane: Lane) -> Completion:
            nonlocal sent
            sent = self.known.current
            body = self.known.body(self.address.model, messages, schema=schema, most_tokens=most_tokens)
            return read_completion(await lane.post("chat/completions", body))

        for _ in range(_MOST_LESSONS):
            outcome = await self._send(attempt, deadline)
            if isinstance(outcome, Completion):
                if outcome.declined is not None:
                    raise JudgeRefused(f"judge {self.address}: declined: {outcome.declined}")
                return outcome
            self._act_on(outcome, sent)
        raise JudgeUnavailable(f"judge {self.address}: refused {_MOST_LESSONS} ways of asking")

    async def embed(self, texts: Sequence[str], deadline: Deadline, *, model: str) -> list[list[float]]:
        """Return one vector a text.

        Raises:
            JudgeUnavailable: no reply after all attempts.
            JudgeReplyInvalid: the endpoint refused, as where it has no such model.
        """
        body: dict[str, JsonValue] = {"model": model, "input": list(texts), "encoding_format": "float"}

        async def attempt(lane: Lane) -> list[list[float]]:
            return read_vectors(await lane.post("embeddings", body), len(texts))

        outcome = await self._send(attempt, deadline)
        if isinstance(outcome, Failure):
            raise JudgeReplyInvalid(f"embedding model {model!r}: {outcome.said}: check RAGTRACE_EMBEDDING_MODEL")
        return outcome

    async def aclose(self) -> None:
        """Close the running loop's connections."""
        lane = self._lanes.pop(asyncio.get_running_loop(), None)
        if lane is not None:
            await lane.session.close()

    async def _send(self, attempt: Callable[[Lane], Awaitable[Reply]], deadline: Deadline) -> Reply | Failure:
        """Return the reply, or a failure that sending the same again will not mend."""
        loop, lane = asyncio.get_running_loop(), self._lane()
        failures = 0
        for number in range(1, _MOST_ATTEMPTS + 1):
            async with lane.gate.slot() as started:
                self._check_breaker(started)
                deadline.start(started)
                outcome = await self._attempt(attempt, lane)
                self._note(outcome, started, loop.time())
            if not isinstance(outcome, Failure) or outcome.meaning not in ("limited", "passing"):
                return outcome
            failures += outcome.meaning == "passing"
            pause = self._pauses.after(number, outcome.retry_after)
            if failures >= _MOST_FAILURES or not deadline.allows(pause, loop.time()):
                raise JudgeUnavailable(f"judge {self.address}: {outcome.said}; gave up after {number} attempts")
            await asyncio.sleep(pause)
        raise JudgeUnavailable(f"judge {self.address}: gave up after {_MOST_ATTEMPTS} attempts")

    async def _attempt(self, attempt: Callable[[Lane], Awaitable[Reply]], lane: Lane) -> Reply | Failure:
        try:
            with _unobserved():
                async with asyncio.timeout(self.address.timeout_seconds):
                    return await attempt(lane)
        except (openai.APIStatusError, aiohttp.ClientError) as exc:
            return explain(exc, self.address.key, datetime.now(UTC))
        except TimeoutError:
            return Failure(meaning="passing", said=f"no reply within {self.address.timeout_seconds:g} s")
        except GarbledError as exc:
            return Failure(meaning="passing", said=str(exc))

    def _note(self, outcome: object, started: float, now: float) -> None:
        """Tell the throttle, before another request takes the place."""
        if not isinstance(outcome, Failure):
            self._throttle.succeeded()
            self.breaker.close()
        elif outcome.meaning == "limited":
            self._throttle.refused(started, now, outcome.retry_after)

    def _act_on(self, failure: Failure, sent: Parameters) -> None:
        """Learn from a failure and return, or raise what it means for the call."""
        match failure.meaning:
            case "too_long":
                self.known.narrow(failure.window)
                raise TooLongError
            case "declined":
                raise JudgeRefused(f"judge {self.address}: declined: {failure.said}")
            case "parameter" if self.known.learn(sent, failure.said.lower(), failure.parameter):
                return
            case "parameter" if self._throttle.is_proven:
                raise JudgeRefused(f"judge {self.address}: refused this request: {failure.said}")
        self._throttle.start_over()
        self.breaker.open(
            f"judge {self.address}: {failure.said}; check OPENAI_API_KEY, OPENAI_BASE_URL, RAGTRACE_JUDGE_MODEL "
            "and the account's quota",
            asyncio.get_running_loop().time(),
        )
        raise JudgeUnavailable(self.breaker.reason)

    def _check_breaker(self, now: float) -> None:
        if self.breaker.is_open(now):
            raise JudgeUnavailable(self.breaker.reason)

    def _lane(self) -> Lane:
        loop = asyncio.get_running_loop()
        lane = self._lanes.get(loop)
        if lane is None:
            lane = self._lanes[loop] = _open_lane(self.address, Gate(self._throttle))
        return lane


def _open_lane(address: Address, gate: Gate) -> Lane:
    # The client knows where its endpoint is and what goes with each request, the account's organization for one.
    client = openai.AsyncOpenAI(
        base_url=address.base_url,
        api_key=address.key,
        default_headers={JUDGE_MARK: "1", "Authorization": f"Bearer {address.key}"},
        http_client=openai.DefaultAioHttpClient(verify=_certificates()),
    )
    url = str(client.base_url)
    proxy = _proxy(url)
    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=address.concurrency, ssl=_certificates()),
        # The whole request has a limit of its own, the address's.
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS),
        cookie_jar=aiohttp.DummyCookieJar(),
    )
    # Without what the client tells of the machine that it runs on.
    headers = {
        name: value
        for name, value in client.default_headers.items()
        if isinstance(value, str) and not name.lower().startswith("x-stainless")
    }
    return Lane(session=session, gate=gate, url=url, headers=headers, proxy=proxy)


def _proxy(url: str) -> str | None:
    """Return the proxy that the environment names for a URL; aiohttp would look it up anew for each request."""
    parts, proxies = urlsplit(url), getproxies()
    named = proxies.get(parts.scheme) or proxies.get("all")
    if not named or proxy_bypass(parts.netloc):
        return None
    proxy = named if "://" in named else f"http://{named}"
    if not proxy.startswith(("http://", "https://")):
        scheme = proxy.partition("://")[0]
        raise JudgeUnavailable(
            f"the environment names a {scheme} proxy for {parts.hostname!r}: the judge takes http ones only"
        )
    return proxy


def _to_json(body: JsonValue) -> bytes:
    try:
        return pydantic_core.to_json(body)
    except ValueError:
        # A lone surrogate, which no endpoint could read.
        return json.dumps(body, ensure_ascii=False).encode(errors="replace")


def _refusal(response: aiohttp.ClientResponse, content: bytes) -> openai.APIStatusError:
    """Return a refusal as the client's own methods raise it."""
    request = httpx2.Request("POST", str(response.url))
    # The content is unpacked, which its headers do not know.
    headers = {name: value for name, value in response.headers.items() if name.lower() not in _OF_PACKED_CONTENT}
    told = httpx2.Response(response.status, headers=headers, content=content, request=request)
    return openai.APIStatusError(f"Error code: {response.status}", response=told, body=read_error(content))


@cache
def _certificates() -> ssl.SSLContext:
    """Return the trusted certificates; reading them takes longer than a whole call."""
    return httpx2.create_ssl_context()


@contextmanager
def _unobserved() -> Iterator[None]:
    """Keep instrumentations off: a judge request that was traced would be scored as one more answer."""
    # In one step: OpenTelemetry's `set_value` copies the context for each key.
    token = otel.attach(Context({**otel.get_current(), **_SUPPRESSING}))
    try:
        yield
    finally:
        otel.detach(token)
