"""Make the server misbehave on demand, so that a client's patience can be tested."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ragtrace.local.wire import JSON_TYPE, Json, to_bytes


@dataclass(slots=True, kw_only=True)
class Faults:
    """What goes wrong from now on. Not frozen: a running server is switched by setting fields."""

    path: str = ""
    """Only requests whose path starts so suffer `status` and `hang_seconds`."""
    method: str = ""
    """Only requests of this method do; empty: any."""
    status: int | None = None
    """Answered instead, for example 429, 500 or 503."""
    retry_after: str | None = None
    """`Retry-After` header sent with it."""
    after_work: bool = False
    """Do what was asked, then answer `status` all the same: the reply is lost, the write is not."""
    times: int | None = None
    """How many more requests suffer; None: all."""
    hang_seconds: float = 0.0
    """Wait this long before an answer."""
    lag_seconds: float = 0.0
    """What was written is readable only after this long."""
    duplicates: bool = False
    """Each listed row comes twice, as while Langfuse has not merged a span that was sent again."""
    reordered: bool = False
    """The rows within a page come in another order."""

    def clear(self) -> None:
        """Behave again."""
        self.apply(asdict(Faults()))

    def apply(self, settings: dict[str, Json]) -> None:
        """Set fields by name.

        Raises:
            ValueError: there is no such field.
        """
        known = {field.name for field in fields(self)}
        if unknown := settings.keys() - known:
            raise ValueError(f"{min(unknown)!r}: no such fault; there are {', '.join(sorted(known))}")
        for name, value in settings.items():
            setattr(self, name, value)

    def strikes(self, method: str, path: str) -> bool:
        """Tell whether this request suffers, and count it."""
        is_armed = self.status is not None or self.hang_seconds > 0
        is_meant = path.startswith(self.path) and self.method in ("", method)
        if not (is_armed and is_meant) or self.times == 0:
            return False
        if self.times is not None:
            self.times -= 1
        return True

    def disturb(self, rows: Sequence[Json]) -> list[Json]:
        """Return listed rows as they are answered."""
        doubled = [row for row in rows for _ in range(2)] if self.duplicates else list(rows)
        return doubled[::-1] if self.reordered else doubled


class FaultMiddleware:
    """Let requests suffer what `faults` says."""

    def __init__(self, app: ASGIApp, faults: Faults) -> None:
        self._app = app
        self._faults = faults

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        faults = self._faults
        is_suffering = scope["type"] == "http" and scope["path"] != FAULTS_PATH
        if not (is_suffering and faults.strikes(scope["method"], scope["path"])):
            await self._app(scope, receive, send)
            return
        status, retry_after, after_work = faults.status, faults.retry_after, faults.after_work
        resumed = await _hang(receive, faults.hang_seconds)
        if resumed is None:
            return
        if status is None:
            await self._app(scope, resumed, send)
            return
        if after_work:
            await self._app(scope, resumed, _drop)
        await _failure(status, retry_after)(scope, resumed, send)


FAULTS_PATH = "/__faults"


async def _hang(receive: Receive, seconds: float) -> Receive | None:
    """Wait; return where to read the request from afterwards, or None if the client has given up."""
    received: list[Message] = []
    listening = asyncio.create_task(_listen(receive, received))
    await asyncio.wait([listening], timeout=seconds)
    if listening.done():
        return None
    listening.cancel()
    await asyncio.wait([listening])

    async def receive_again() -> Message:
        return received.pop(0) if received else await receive()

    return receive_again


async def _listen(receive: Receive, received: list[Message]) -> None:
    """Keep what arrives until the client hangs up."""
    while (message := await receive())["type"] != "http.disconnect":
        received.append(message)


async def _drop(message: Message) -> None:
    """Lose a reply."""


def _failure(status: int, retry_after: str | None) -> Response:
    body: Json = {"message": "Rate limit exceeded" if status == 429 else "Fault injected"}
    headers = {} if retry_after is None else {"retry-after": retry_after}
    return Response(to_bytes(body), status, headers, media_type=JSON_TYPE)
