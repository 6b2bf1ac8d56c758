"""The recorded conversations with a real Langfuse 4.16, and the published schemas, held against the local server."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ragtrace.local.app import Generation, make_app
from ragtrace.local.serve import running
from ragtrace.local.store import Store
from tests.local.shared import shared

NEWER = {
    "auth.unknown_public",  # both keys must be right
    "score.array",  # taken: 202
    "s3.names",  # … and therefore listed
    "s3.same_id",  # a second post replaces the score, it is not merged into it
    "s3.re.value",
    "s3.re.trace_old",
    "s3.re.trace_new",
    "s3.re.name",  # another name makes another score
}
"""Steps in which a server of 4.59 differs from the recorded one, as far as SDK and documentation tell."""


@dataclass(slots=True)
class Listener:
    """Pass requests on and keep each answer's method, path, status and JSON."""

    app: ASGIApp
    answers: list[tuple[str, str, int, Any]] = field(default_factory=list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        status, content, is_json = 0, b"", False

        async def hear(message: Message) -> None:
            nonlocal status, content, is_json
            if message["type"] == "http.response.start":
                status = message["status"]
                is_json = (b"content-type", b"application/json; charset=utf-8") in message["headers"]
            content += message.get("body", b"")
            await send(message)

        await self.app(scope, receive, hear)
        if is_json:
            self.answers.append((scope["method"], scope["path"], status, json.loads(content)))


@dataclass(frozen=True, slots=True)
class Replay:
    """What came of sending the whole recording."""

    exit_code: int
    output: str
    report: dict[str, Any]
    answers: list[tuple[str, str, int, Any]]


def replay(folder: Path, *, emulate: Generation) -> Replay:
    """Send every recorded step, hazardous ones included, to a fresh server on loopback."""
    script = shared("reference/conformance/replay.py")
    report = folder / "report.json"
    with Store(folder / "langfuse.sqlite") as store:
        listener = Listener(make_app(store, public_key="pk", secret_key="sk", emulate=emulate))
        with running(listener) as base_url:
            keys = ["--public-key", "pk", "--secret-key", "sk"]
            options = ["--base-url", base_url, *keys, "--no-wait", "--hazard", "--json", str(report)]
            done = subprocess.run([sys.executable, str(script), *options], capture_output=True, text=True)
    return Replay(
        exit_code=done.returncode,
        output=done.stdout + done.stderr,
        report=json.loads(report.read_text()) if report.exists() else {},
        answers=listener.answers,
    )


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Replay:
    return replay(tmp_path_factory.mktemp("recorded"), emulate="4.16")


def test_every_recorded_step_is_answered_as_langfuse_did(recorded: Replay) -> None:
    """All groups, core and edge, lone surrogates included, wording of refusals included."""
    counts = recorded.report.get("counts", {})
    steps = shared("reference/conformance/recorded.jsonl").read_text(encoding="utf-8").splitlines()

    assert (recorded.exit_code, counts.get("different")) == (0, 0), recorded.output
    assert counts["same"] == len(steps)


def test_emulating_4_59_differs_only_where_that_is_documented(tmp_path: Path) -> None:
    """Newer servers take score arrays and honour timestamps; the rest of the recording still holds."""
    steps = replay(tmp_path, emulate="4.59").report["steps"]

    assert {step["key"] for step in steps if step["differences"]} == NEWER


def test_answers_follow_the_published_schemas(recorded: Replay) -> None:
    """Each answer that Langfuse's API description has a schema for satisfies it, on every route that is served."""
    text = shared("reference/openapi/openapi.yml").read_text(encoding="utf-8")
    description = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    parts = {"components": to_json_schema(description["components"])}
    problems = set()
    checked = set()
    for method, path, status, answer in recorded.answers:
        route, operation = find_operation(description, method, path)
        schema = response_schema(operation, status)
        if not schema:
            continue
        checked.add((method, route, status))
        validator = jsonschema.Draft202012Validator({**to_json_schema(schema), **parts})
        problems |= {
            f"{method} {route} {status}: {error.json_path}: {error.message[:200]}"
            for error in validator.iter_errors(answer)
        }

    assert problems == set()
    assert len(checked) >= 25


def find_operation(description: dict[str, Any], method: str, path: str) -> tuple[str, dict[str, Any]]:
    """Return the described route of a path, plain ones before those with parameters."""
    for route in sorted(description["paths"], key=lambda route: route.count("{")):
        parts, wanted = path.split("/"), route.split("/")
        if len(parts) == len(wanted) and all(w.startswith("{") or p == w for p, w in zip(parts, wanted, strict=True)):
            return route, description["paths"][route].get(method.lower(), {})
    return path, {}


def response_schema(operation: dict[str, Any], status: int) -> dict[str, Any] | None:
    content = operation.get("responses", {}).get(str(status), {}).get("content", {})
    schema: dict[str, Any] | None = content.get("application/json", {}).get("schema")
    return schema


def to_json_schema(schema: Any) -> Any:
    """Turn OpenAPI 3.0's `nullable` into JSON Schema."""
    if isinstance(schema, list):
        return [to_json_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {key: to_json_schema(value) for key, value in schema.items() if key != "nullable"}
    return {"anyOf": [plain, {"type": "null"}]} if schema.get("nullable") is True else plain


def test_find_operation_prefers_a_plain_route() -> None:
    """`/items` is not taken for `/{id}`."""
    description: dict[str, Any] = {"paths": {"/a/{id}": {"get": {"n": 1}}, "/a/items": {"get": {"n": 2}}}}

    found: Iterator[dict[str, Any]] = (
        find_operation(description, "GET", path)[1] for path in ("/a/items", "/a/7", "/b")
    )

    assert list(found) == [{"n": 2}, {"n": 1}, {}]
