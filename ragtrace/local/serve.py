"""Run the server: in the foreground for `ragtrace serve`, on a thread for tests and the demo."""

import socket
import sqlite3
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from ragtrace.local.app import LOOPBACK
from ragtrace.local.store import Store

_POLL_SECONDS = 0.002


class ServeError(Exception):
    """The server cannot be started; the message is one line."""


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket on a loopback address; port 0 takes a free one.

    Raises:
        ServeError: the address is not this machine's alone, or somebody listens there already.
    """
    if host not in LOOPBACK:
        raise ServeError(
            f"--host {host}: the local server has no users and no encryption, so it listens on loopback only; "
            f"use one of {', '.join(LOOPBACK)}"
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise ServeError(f"--port {port}: cannot listen there ({error.strerror}); choose another port") from None
    return listener


def open_store(path: Path) -> Store:
    """Open or create the file and its folder.

    Raises:
        ServeError: it cannot be.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return Store(path)
    except (OSError, sqlite3.Error) as error:
        raise ServeError(f"--db {path}: {error}; name another file") from None


def base_url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def run(
    app: ASGIApp,
    listener: socket.socket,
    *,
    idle_exit_seconds: float | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Serve until interrupted, or until no request came for a while."""
    watch = _Watch(app, clock)

    async def stop_when_idle() -> None:
        if idle_exit_seconds is not None and watch.idle_seconds() >= idle_exit_seconds:
            server.should_exit = True

    server = uvicorn.Server(_config(watch, callback=stop_when_idle))
    # uvicorn stops in good order on Ctrl-C, then passes it on.
    with listener, suppress(KeyboardInterrupt):
        server.run(sockets=[listener])


class _Watch:
    """Remember when the last request came."""

    def __init__(self, app: ASGIApp, clock: Callable[[], float]) -> None:
        self._app = app
        self._clock = clock
        self._last = clock()

    def idle_seconds(self) -> float:
        return self._clock() - self._last

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._last = self._clock()
        try:
            await self._app(scope, receive, send)
        finally:
            self._last = self._clock()


def _config(app: ASGIApp, *, callback: Callable[[], Awaitable[None]] | None = None) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        lifespan="off",
        timeout_graceful_shutdown=1,
        # Longer than a follower's pause, so that its next request does not meet a connection that is being closed.
        timeout_keep_alive=75,
        callback_notify=callback,
        timeout_notify=1,
    )


@contextmanager
def running(app: ASGIApp, *, host: str = "127.0.0.1", port: int = 0) -> Iterator[str]:
    """Serve on a thread of this process while the block runs; yields the base URL."""
    listener = listen(host, port)
    server = uvicorn.Server(_config(app))
    # The caller's thread does the caller's work, so the server needs one of its own.
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name="ragtrace-local", daemon=True)
    with listener:
        thread.start()
        while not server.started and thread.is_alive():
            time.sleep(_POLL_SECONDS)
        try:
            yield base_url(listener)
        finally:
            server.should_exit = True
            thread.join()
