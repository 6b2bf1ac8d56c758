"""Misbehaving on demand."""

from typing import Any

import httpx
import pytest
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from ragtrace.local.faults import Faults
from ragtrace.local.in_thread import LocalLangfuse
from ragtrace.local.store import Store
from tests.local.talk import refused, score, scores, talk

HEALTH = "/api/public/health"


async def test_a_rate_limit_that_passes(client: httpx.AsyncClient, faults: Faults) -> None:
    """So many requests get the status and Retry-After, then all is well."""
    faults.apply({"status": 429, "retry_after": "1", "times": 2})

    answers = [await client.get(HEALTH) for _ in range(3)]

    assert [(answer.status_code, answer.headers.get("retry-after")) for answer in answers] == [
        (429, "1"),
        (429, "1"),
        (200, None),
    ]


async def test_only_some_requests_suffer(client: httpx.AsyncClient, faults: Faults) -> None:
    """A fault can be limited to a path and a method; clearing ends it."""
    faults.apply({"status": 503, "path": "/api/public/scores", "method": "POST"})
    during = [
        (await client.get(HEALTH)).status_code,
        (await client.post("/api/public/scores", json=[score()])).status_code,
        (await client.get("/api/public/scores")).status_code,
    ]
    faults.clear()

    assert during == [200, 503, 404]
    assert (await client.post("/api/public/scores", json=[score()])).status_code == 202


async def test_a_reply_that_is_lost(client: httpx.AsyncClient, faults: Faults) -> None:
    """With `after_work` the write happens and only its answer is an error."""
    faults.apply({"status": 500, "after_work": True, "times": 1})

    response = await client.post("/api/public/scores", json=[score()])

    assert (response.status_code, response.json()) == (500, {"message": "Fault injected"})
    assert len(await scores(client)) == 1


async def test_a_slow_answer(client: httpx.AsyncClient, faults: Faults) -> None:
    """A wait alone delays the answer and changes nothing else."""
    faults.hang_seconds = 0.001

    response = await client.post("/api/public/scores", json=[score()])

    assert (response.status_code, len(await scores(client))) == (202, 1)


def test_a_server_that_never_answers(local_langfuse: LocalLangfuse) -> None:
    """A client that gives up ends the wait, so that the server can stop."""
    local_langfuse.faults.hang_seconds = 3600

    with pytest.raises(httpx.ReadTimeout):
        httpx.get(f"{local_langfuse.base_url}{HEALTH}", timeout=0.05)


def test_unknown_faults() -> None:
    """A name that is none is refused."""
    with pytest.raises(ValueError, match=r"^'boom': no such fault; there are after_work, "):
        Faults().apply({"boom": 1})


async def test_faults_over_http(store: Store, faults: Faults) -> None:
    """Where it is switched on, POST /__faults sets them, and does not suffer from them."""
    async with talk(store, faults=faults, has_faults_route=True) as client:
        await client.post("/__faults", json={"status": 503})
        during = (await client.get(HEALTH)).status_code
        answer = await client.post("/__faults", json={"status": None})
        after = (await client.get(HEALTH)).status_code

    assert (during, answer.json(), after) == (503, {"message": "OK"}, 200)


@pytest.mark.parametrize(
    ("body", "message"), [([], "expected an object"), ({"boom": 1}, "'boom': no such fault; there are after_work")]
)
async def test_faults_over_http_are_checked(store: Store, body: Any, message: str) -> None:
    """A fault that is none is refused."""
    async with talk(store, has_faults_route=True) as client:
        status, answer = await refused(client, "POST", "/__faults", json=body)

    assert (status, answer["message"][: len(message)]) == (400, message)


async def test_faults_over_http_are_off_by_default(client: httpx.AsyncClient) -> None:
    """Without the switch there is no such route."""
    assert (await refused(client, "POST", "/__faults", json={}))[0] == 404


async def test_pages_for_people(store: Store) -> None:
    """Further routes are served without a key."""
    page = Route("/", lambda _request: PlainTextResponse("hello"))
    async with talk(store, pages=[page]) as client:
        client.auth = httpx.Auth()

        assert (await client.get("/")).text == "hello"
