"""Put the server together: routes, keys, faults."""

from collections.abc import Sequence
from typing import Literal

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from ragtrace.local.auth import Keys
from ragtrace.local.comments import comment_endpoints
from ragtrace.local.datasets import dataset_endpoints
from ragtrace.local.endpoint import Action, Backend, Call, Endpoint
from ragtrace.local.faults import FAULTS_PATH, FaultMiddleware, Faults
from ragtrace.local.observations import observation_endpoints
from ragtrace.local.project import project_endpoints
from ragtrace.local.queues import queue_endpoints
from ragtrace.local.score_configs import score_config_endpoints
from ragtrace.local.score_list import score_list_endpoints
from ragtrace.local.scores import score_endpoints
from ragtrace.local.store import Store
from ragtrace.local.traces import trace_endpoints
from ragtrace.local.wire import RefusedError, Reply

LOOPBACK = ("127.0.0.1", "localhost", "::1")
Generation = Literal["4.59", "4.16"]


def make_app(
    store: Store,
    *,
    public_key: str,
    secret_key: str,
    emulate: Generation = "4.59",
    pages: Sequence[BaseRoute] = (),
    faults: Faults | None = None,
    has_faults_route: bool = False,
) -> Starlette:
    """Return the server over a store.

    Args:
        emulate: `4.16` behaves as a recorded server did; `4.59` (what SDK 5 and Langfuse Cloud need) differs from it
            in what is known from the SDK and the documentation only: score arrays, timestamps, identity of scores.
        pages: Further routes, for people; they need no key.
        faults: What goes wrong; the same object is `app.state.faults` and may be changed at any time.
        has_faults_route: Let clients change the faults by `POST /__faults`.
    """
    is_recorded = emulate == "4.16"
    keys = Keys(public=public_key, secret=secret_key, by_secret_alone=is_recorded)
    faults = Faults() if faults is None else faults
    backend = Backend(store=store, keys=keys, faults=faults, is_recorded=is_recorded)
    endpoints = {
        **project_endpoints(backend),
        **trace_endpoints(backend),
        **observation_endpoints(backend),
        **score_endpoints(backend),
        **score_list_endpoints(backend),
        **score_config_endpoints(backend),
        **queue_endpoints(backend),
        **dataset_endpoints(backend),
        **comment_endpoints(backend),
        **({FAULTS_PATH: Endpoint(backend, {"POST": Action(handle=_set_faults)})} if has_faults_route else {}),
    }
    app = Starlette(
        routes=[*(Route(path, endpoint) for path, endpoint in endpoints.items()), *pages],
        # A page of another site could otherwise reach this server through a name that resolves to loopback.
        middleware=[
            Middleware(TrustedHostMiddleware, allowed_hosts=[*LOOPBACK, "[::1]"], www_redirect=False),
            Middleware(FaultMiddleware, faults=faults),
        ],
        exception_handlers={404: _no_page},
    )
    app.state.faults = faults
    return app


async def _no_page(_request: Request, _error: Exception) -> Response:
    return HTMLResponse("<!doctype html><title>404</title><p>This page could not be found.</p>", 404)


def _set_faults(call: Call) -> Reply:
    settings = call.json()
    try:
        if not isinstance(settings, dict):
            raise ValueError("expected an object")
        call.backend.faults.apply(settings)
    except ValueError as error:
        raise RefusedError(400, {"message": str(error)}) from None
    return Reply(body={"message": "OK"})
