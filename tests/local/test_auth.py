"""Keys, hosts, methods and unknown routes."""

import httpx
import pytest
from starlette.types import Message, Scope

from ragtrace.local.app import make_app
from ragtrace.local.auth import Keys
from ragtrace.local.store import Store
from tests.local.talk import refused, score, talk

PROJECTS = "/api/public/projects"
HOST = "Confirm that you've configured the correct host."


@pytest.mark.parametrize(
    ("authorization", "status", "message"),
    [
        (None, 401, "No authorization header"),
        ("Basic cGs6d3Jvbmc=", 401, f"Invalid credentials. {HOST}"),
        ("Basic not-base64!", 401, f"Invalid character. {HOST}"),
        ("Basic /w==", 401, f"Invalid character. {HOST}"),
        ("Basic cGs=", 401, f"Invalid credentials. {HOST}"),
        ("Basic b3RoZXI6c2s=", 401, f"Invalid credentials. {HOST}"),
        ("Digest x", 401, "Invalid authorization header"),
        ("Bearer pk-unknown", 401, f"Invalid public key. {HOST}"),
        ("Bearer pk", 403, "Access denied - insufficient permissions for this endpoint"),
    ],
)
async def test_keys_that_do_not_open(store: Store, authorization: str | None, status: int, message: str) -> None:
    """Wrong, malformed and insufficient credentials are told apart."""
    headers = {} if authorization is None else {"authorization": authorization}
    async with talk(store) as client:
        client.auth = httpx.Auth()

        assert await refused(client, "GET", PROJECTS, headers=headers) == (status, {"message": message})


async def test_the_recorded_server_looks_at_the_secret_only(recorded: httpx.AsyncClient) -> None:
    """4.16 accepts the right secret with any public key."""
    response = await recorded.get(PROJECTS, auth=("other", "sk"))

    assert response.json() == {
        "data": [
            {
                "id": "local-project",
                "name": "local",
                "organization": {"id": "local-organization", "name": "Local"},
                "metadata": {},
            }
        ]
    }


async def test_the_public_key_alone_may_write_scores(client: httpx.AsyncClient) -> None:
    """A bearer token of the public key is enough for scores, and for nothing else."""
    client.auth = httpx.Auth()

    response = await client.post("/api/public/scores", json=[score()], headers={"authorization": "Bearer pk"})

    assert response.status_code == 202


def test_the_secret_is_not_shown() -> None:
    """Printing the keys shows the public one only."""
    assert repr(Keys(public="pk", secret="hidden", by_secret_alone=False)) == "Keys(public='pk')"


@pytest.mark.parametrize(("generation", "version"), [("4.59", "4.59.0"), ("4.16", "4.16.0")])
async def test_health_tells_the_version_to_anyone(store: Store, generation: str, version: str) -> None:
    """Clients choose what to send by the version."""
    async with talk(store, emulate=generation) as client:  # type: ignore[arg-type] # one of the two literals
        client.auth = httpx.Auth()

        answers = [(await client.get(f"/api/public/{path}")).json() for path in ("health", "ready")]

    assert answers == [{"status": "OK", "version": version}] * 2


async def test_other_methods(client: httpx.AsyncClient) -> None:
    """A method that a route does not have is 405."""
    body = {"message": "Method not allowed", "error": "MethodNotAllowedError"}

    assert await refused(client, "PUT", "/api/public/scores", json={}) == (405, body)


async def test_unknown_routes(client: httpx.AsyncClient) -> None:
    """A route that is not there is an HTML page with status 404."""
    status, body = await refused(client, "GET", "/api/public/nope")

    assert (status, body[:15]) == (404, "<!doctype html>")


@pytest.mark.parametrize("path", ["traces", "traces/x", "observations", "sessions", "scores", "scores/x", "v2/scores"])
async def test_endpoints_that_are_gone(client: httpx.AsyncClient, path: str) -> None:
    """The older read endpoints say that they are gone."""
    status, body = await refused(client, "GET", f"/api/public/{path}")

    assert (status, body["message"][:30]) == (404, "This endpoint is not available")


@pytest.mark.parametrize(
    ("host", "status"), [("evil.example", 400), ("127.0.0.1:8123", 200), ("[::1]:8123", 200), ("localhost", 200)]
)
async def test_only_loopback_names_are_served(client: httpx.AsyncClient, host: str, status: int) -> None:
    """A page of another site cannot reach the server by a name that resolves to loopback."""
    response = await client.get("/api/public/health", headers={"host": host})

    assert response.status_code == status


async def test_a_client_that_goes_away(store: Store) -> None:
    """A request whose client hangs up while sending is dropped quietly."""
    sent: list[Message] = []
    headers = [(b"host", b"localhost"), (b"authorization", b"Basic cGs6c2s=")]
    scope: Scope = {
        "type": "http",
        "method": "POST",
        "path": "/api/public/scores",
        "query_string": b"",
        "headers": headers,
    }

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    await make_app(store, public_key="pk", secret_key="sk")(scope, receive, send)

    assert (sent[0]["status"], store.scores.count()) == (499, 0)


async def test_names_that_sqlite_cannot_hold(client: httpx.AsyncClient) -> None:
    """A lone surrogate in a name is refused, where it is not acknowledged and lost."""
    response = await client.post(
        "/api/public/v2/datasets", content=b'{"name": "a\\ud83d"}', headers={"content-type": "application/json"}
    )

    assert (response.status_code, response.json()) == (
        400,
        {"message": "The request holds text that is not Unicode", "error": "InvalidRequestError"},
    )
