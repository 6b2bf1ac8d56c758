"""Answer /healthz, /readyz and /metrics: three fixed answers, for a supervisor and for Prometheus."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ragtrace.errors import ConfigError
from ragtrace.scorer.totals import Totals

_LONGEST_REQUEST_SECONDS = 5.0
_REASONS = {200: "OK", 404: "Not Found", 503: "Service Unavailable"}


@asynccontextmanager
async def serving(address: str | None, totals: Totals, *, stale_seconds: float) -> AsyncIterator[int | None]:
    """Listen while the block runs; yields the port, None without an address.

    Args:
        address: `host:port`; port 0 takes a free one.
        totals: What is shown.
        stale_seconds: Without a look for so long the process counts as stuck.

    Raises:
        ConfigError: the address is none, or cannot be listened on.
    """
    if not address:
        yield None
        return

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_LONGEST_REQUEST_SECONDS):
                request = await reader.readuntil(b"\r\n\r\n")
                writer.write(_reply(request, totals, stale_seconds))
                await writer.drain()
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            return
        finally:
            writer.close()

    host, _, port = address.rpartition(":")
    try:
        server = await asyncio.start_server(answer, host.strip("[]") or "127.0.0.1", int(port))
    except (OSError, ValueError, OverflowError) as exc:
        raise ConfigError(f"RAGTRACE_SCORER_LISTEN={address!r}: cannot listen there ({exc}): give host:port") from exc
    async with server:
        yield server.sockets[0].getsockname()[1]


def _reply(request: bytes, totals: Totals, stale_seconds: float) -> bytes:
    path = request.split(b" ", 2)[1] if request.count(b" ") >= 2 else b""
    is_stuck = time.monotonic() - totals.last_look > stale_seconds
    match path:
        case b"/healthz":
            status, text = (503, "no look for too long\n") if is_stuck else (200, "ok\n")
        case b"/readyz":
            status, text = (200, "ok\n") if totals.is_ready else (503, "the last look did not reach the end\n")
        case b"/metrics":
            status, text = 200, totals.as_prometheus()
        case _:
            status, text = 404, "/healthz, /readyz or /metrics\n"
    body = text.encode()
    head = f"HTTP/1.1 {status} {_REASONS[status]}\r\ncontent-type: text/plain; version=0.0.4\r\n"
    return f"{head}content-length: {len(body)}\r\nconnection: close\r\n\r\n".encode() + body
