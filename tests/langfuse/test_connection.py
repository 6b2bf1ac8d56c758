"""What is asked again, how long we wait, and what people read when it does not help."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import format_datetime

import httpx
import pytest

from ragtrace.errors import BackendError, BackendRejected, BackendUnavailable, ConfigError
from ragtrace.langfuse import Connection, LangfuseApi, RetryPolicy
from ragtrace.langfuse.border import StatusError, TooLarge, retry_after_seconds

Answer = httpx.Response | Exception
URL = "http://langfuse.test"


class Script:
    """Answers requests one after the other; the last answer stays."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.requests: list[httpx.Request] = []
        self.slept: list[float] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def connection(self, *, url: str = URL, jitter: Callable[[], float] = lambda: 0.5, **policy: float) -> Connection:
        chosen = RetryPolicy(jitter=jitter, sleep=self.sleep, **policy)
        transport = httpx.MockTransport(self)
        return Connection(url, public_key="pk-x", secret_key="sk-secret", policy=chosen, transport=transport)


def status(code: int, body: object = None, **headers: str) -> httpx.Response:
    return httpx.Response(code, json=body or {}, headers=headers)


OK = status(200, {"version": "4.59.0"})


async def health(script: Script, **options: float) -> object:
    connection = script.connection(**options)
    try:
        return (await connection.get("say its version", "api/public/health"))["version"]
    finally:
        await connection.aclose()


async def test_nobody_waits_long_for_a_server_that_is_not_there():
    """The very first request is given up sooner than the others."""
    script = Script(httpx.ConnectError("refused"))

    async with LangfuseApi(script.connection()) as api:
        with pytest.raises(BackendUnavailable, match="is Langfuse running there"):
            await api.health()

    assert len(script.requests) == 2


async def test_a_version_that_is_none_is_not_langfuses():
    """An answer that is JSON and has no version is somebody else's."""
    script = Script(status(200, {"version": 4}))

    async with LangfuseApi(script.connection()) as api:
        with pytest.raises(BackendRejected, match="answered something else than Langfuse's API"):
            await api.health()


@pytest.mark.parametrize(
    "passing",
    [
        status(500),
        status(503, {"message": "Not ready"}),
        status(409),
        status(408),
        httpx.ConnectError("refused"),
        httpx.ReadError("reset"),
        httpx.ReadTimeout("slow"),
    ],
)
async def test_what_may_pass_is_tried_again(passing):
    """A server error, a lost connection or a time-out is followed by another try, each later than the last."""
    script = Script(passing, passing, OK)

    assert await health(script) == "4.59.0"
    assert script.slept == [0.375, 0.75]


async def test_tries_are_bounded():
    """After four tries the error says what was wanted, what came back and what to do."""
    script = Script(status(503, {"message": "Not ready"}))

    with pytest.raises(BackendUnavailable) as caught:
        await health(script)

    assert len(script.requests) == 4
    assert str(caught.value) == (
        "LANGFUSE_BASE_URL='http://langfuse.test': could not say its version (503: Not ready): try again later"
    )


async def test_a_rate_limit_is_waited_out():
    """After 429 no request is sent before Retry-After is over, not even another one."""
    script = Script(status(429, {"message": "Rate limit exceeded"}, **{"Retry-After": "7"}), OK)
    connection = script.connection()

    async with asyncio.TaskGroup() as tasks:
        first = tasks.create_task(connection.get("x", "a"))
        await asyncio.sleep(0)
    await connection.get("x", "b")

    assert first.result() == {"version": "4.59.0"}
    assert len(script.slept) == 2
    assert all(7.4 < seconds <= 7.5 for seconds in script.slept)
    assert (connection.requests, connection.rate_limited) == (3, 1)
    await connection.aclose()


async def test_a_lasting_rate_limit_is_an_error():
    """Rate limits are waited out more often than failures, and not for ever."""
    script = Script(status(429))

    with pytest.raises(BackendUnavailable) as caught:
        await health(script, rate_limit_attempts=3)

    assert len(script.requests) == 3
    assert "(429: over its rate limit)" in str(caught.value)


def test_retry_after_may_be_a_date():
    """Seconds, a date, and nothing are understood; nonsense is nothing."""
    now = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
    later = format_datetime(datetime(2026, 3, 1, 12, 0, 30, tzinfo=UTC))
    headers = ["7", "0.5", later, "soon", ""]

    waits = [retry_after_seconds(StatusError(429, headers={"retry-after": h}, body=None), now) for h in headers]

    assert waits == [7.0, 0.5, 30.0, 0.0, 0.0]
    assert retry_after_seconds(TimeoutError(), now) == 0.0


@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    [
        (
            status(401),
            BackendRejected,
            "keys refused (401): check LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY; both must be of one project of "
            "this Langfuse",
        ),
        (
            status(403, {"message": "Forbidden"}),
            BackendRejected,
            "these keys may not say its version (403): Forbidden",
        ),
        (
            status(404),
            BackendRejected,
            "cannot say its version, nothing is there (404): ragtrace needs Langfuse 4 or later, at its root URL",
        ),
        (
            status(
                400, {"message": "Invalid request data", "error": [{"path": ["filter", 0], "message": "bad column"}]}
            ),
            BackendRejected,
            "refused to say its version (400): Invalid request data: filter.0: bad column",
        ),
        (status(400, {"error": "Broken"}), BackendRejected, "refused to say its version (400): Broken"),
        (
            httpx.Response(413, text="Body exceeded 1mb limit"),
            TooLarge,
            "too much at once to say its version (413): Body exceeded 1mb limit",
        ),
        (
            status(301, None, location="https://elsewhere.test"),
            BackendRejected,
            "redirects to https://elsewhere.test: set LANGFUSE_BASE_URL to where it leads",
        ),
        (
            httpx.Response(200, text="<html>hello</html>"),
            BackendRejected,
            "answered something else than Langfuse's API when asked to say its version: give the root URL of Langfuse",
        ),
        (
            httpx.Response(200, json=[1]),
            BackendRejected,
            "answered something else than Langfuse's API when asked to say its version: give the root URL of Langfuse",
        ),
        (
            httpx.ConnectError("All connection attempts failed"),
            BackendUnavailable,
            "cannot connect to say its version (All connection attempts failed): is Langfuse running there, is the URL "
            "right?",
        ),
        (
            httpx.ReadTimeout(""),
            BackendUnavailable,
            "no answer in time to say its version: check that this is Langfuse and that it is well, or raise "
            "RAGTRACE_LANGFUSE_TIMEOUT_SECONDS",
        ),
        (
            httpx.RemoteProtocolError("x" * 300),
            BackendUnavailable,
            f"connection lost while trying to say its version ({'x' * 199}…): try again",
        ),
    ],
)
async def test_errors_say_what_to_do(answer, kind, said):
    """Each way to fail has one line that names the setting, what came back, and the mend; no key is in it."""
    with pytest.raises(BackendError) as caught:
        await health(Script(answer), attempts=1)

    assert type(caught.value) in (kind, *kind.__subclasses__())
    assert str(caught.value) == f"LANGFUSE_BASE_URL='http://langfuse.test': {said}"
    assert "sk-secret" not in str(caught.value)


@pytest.mark.parametrize("url", ["localhost:3000", "langfuse.test", "ftp://langfuse.test", "http://[::1"])
async def test_a_base_url_that_is_none_is_a_setting_to_mend(url):
    """A URL without http or https is named as it was written."""
    connection = Connection(url, public_key="pk", secret_key="sk")

    with pytest.raises(ConfigError) as caught:
        await connection.get("say its version", "api/public/health")
    await connection.aclose()

    assert str(caught.value) == f"LANGFUSE_BASE_URL={url!r}: expected a URL such as https://cloud.langfuse.com"


async def test_a_server_that_never_answers_is_given_up():
    """A server that takes the connection and says nothing costs the time-out, not for ever."""

    left = asyncio.Event()

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()
        await writer.wait_closed()
        left.set()

    server = await asyncio.start_server(hang, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    policy = RetryPolicy(timeout_seconds=0.05, attempts=1)
    async with server:
        connection = Connection(f"http://127.0.0.1:{port}", public_key="pk", secret_key="sk", policy=policy)
        with pytest.raises(BackendUnavailable, match="no answer in time"):
            await connection.get("say its version", "api/public/health")
        await connection.aclose()
        await left.wait()
