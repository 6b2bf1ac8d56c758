"""A server that says its version and has nothing else, as one of another generation may."""

from collections.abc import Iterator
from contextlib import contextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from ragtrace.local.serve import running


@contextmanager
def answering_health(version: str) -> Iterator[str]:
    """Serve on loopback while the block runs; yield the base URL."""

    async def health(_request: Request) -> JSONResponse:
        return JSONResponse({"status": "OK", "version": version})

    with running(Starlette(routes=[Route("/api/public/health", health)])) as base_url:
        yield base_url
