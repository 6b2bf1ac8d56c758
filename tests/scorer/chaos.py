"""A way to Langfuse on which requests and replies get lost, by a seed."""

from random import Random

import httpx


class Chaos(httpx.AsyncBaseTransport):
    """Passes requests on; some fail before they arrive, some succeed and their reply is lost, some are put off."""

    def __init__(self, random: Random, *, failing: float) -> None:
        self._random = random
        self._failing = failing
        self._inner = httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        is_failing = self._random.random() < self._failing and not request.url.path.endswith("/health")
        kind = self._random.choice(("lost", "busy", "limited", "reply lost")) if is_failing else "well"
        if kind == "lost":
            raise httpx.ConnectError("chaos", request=request)
        if kind == "busy":
            return httpx.Response(503, json={"message": "chaos"}, request=request)
        if kind == "limited":
            return httpx.Response(429, json={}, headers={"retry-after": "0.002"}, request=request)
        reply = await self._inner.handle_async_request(request)
        if kind == "reply lost":
            await reply.aread()
            await reply.aclose()
            raise httpx.ReadError("chaos", request=request)
        return reply

    async def aclose(self) -> None:
        await self._inner.aclose()
