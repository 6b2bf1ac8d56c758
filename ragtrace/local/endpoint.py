"""Turn a plain function per method into an ASGI endpoint: keys first, a bounded body, work on a thread."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, QueryParams
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ragtrace.local.auth import Keys, Permission
from ragtrace.local.conditions import Condition
from ragtrace.local.faults import Faults
from ragtrace.local.store import Store
from ragtrace.local.wire import JSON_TYPE, Json, RefusedError, Reply, bad_request, from_text, to_bytes

MEGABYTE = 1024 * 1024
_CLIENT_CLOSED_REQUEST = 499


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """What every handler works with."""

    store: Store
    keys: Keys
    faults: Faults
    is_recorded: bool
    """Behave as the recorded 4.16; else as 4.59."""

    @property
    def version(self) -> str:
        return "4.16.0" if self.is_recorded else "4.59.0"

    def readable(self) -> list[Condition]:
        """Return the condition on rows to be old enough to be read, if reading lags."""
        if self.faults.lag_seconds <= 0:
            return []
        newest = self.store.now_ms() - int(self.faults.lag_seconds * 1000)
        return [Condition(column="updatedAt", operator="<=", value=newest)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request, its body read."""

    backend: Backend
    path: Mapping[str, str]
    query: QueryParams
    headers: Headers
    content: bytes

    @property
    def store(self) -> Store:
        return self.backend.store

    def json(self) -> Json:
        """Return the body as Langfuse's web framework reads it: JSON where the content type says so, else text."""
        if "json" not in self.headers.get("content-type", ""):
            return self.content.decode("utf-8", "replace")
        if not self.content:
            return {}
        try:
            return from_text(self.content.decode("utf-8"))
        except (ValueError, RecursionError):
            raise RefusedError(400, "Invalid JSON") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """What one method of a path does."""

    handle: Callable[[Call], Reply]
    permission: Permission = Permission.PROJECT
    longest_body: int = MEGABYTE
    too_big: str = "Body exceeded 1mb limit"


class Endpoint:
    """One path. Handlers run on a thread, since SQLite, gzip and JSON would hold up the event loop."""

    def __init__(self, backend: Backend, actions: Mapping[str, Action]) -> None:
        self._backend = backend
        self._actions = actions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self._answer(Request(scope, receive))
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        action = self._actions.get(request.method)
        try:
            if action is None:
                raise RefusedError(405, {"message": "Method not allowed", "error": "MethodNotAllowedError"})
            self._backend.keys.check(request.headers.get("authorization"), action.permission)
            call = Call(
                backend=self._backend,
                path=request.path_params,
                query=request.query_params,
                headers=request.headers,
                content=await _read(request, action),
            )
            return respond(await run_in_threadpool(action.handle, call))
        except RefusedError as refusal:
            return respond(_reply(refusal))
        except UnicodeEncodeError:
            # SQLite keeps UTF-8, which has no place for a lone surrogate.
            return respond(_reply(bad_request("The request holds text that is not Unicode")))
        except ClientDisconnect:
            return Response(status_code=_CLIENT_CLOSED_REQUEST)


async def _read(request: Request, action: Action) -> bytes:
    """Read the body, but never more than the action takes."""
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > action.longest_body:
            raise RefusedError(413, action.too_big)
        chunks.append(chunk)
    return b"".join(chunks)


def _reply(refusal: RefusedError) -> Reply:
    return Reply(body=refusal.body, status=refusal.status)


def respond(reply: Reply) -> Response:
    """Send JSON; a bare text goes out without a content type, as from Langfuse's web framework."""
    if isinstance(reply.body, str):
        headers = {"connection": "close"} if reply.status == 413 else {}
        return Response(reply.body, reply.status, headers)
    return Response(to_bytes(reply.body), reply.status, media_type=JSON_TYPE)
