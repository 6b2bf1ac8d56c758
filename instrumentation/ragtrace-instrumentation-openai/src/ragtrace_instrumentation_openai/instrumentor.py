"""Capture the answers of every openai client of a process."""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping
from typing import Any

import openai
from openai.resources.chat.completions import AsyncCompletions, Completions
from openai.resources.responses import AsyncResponses, Responses
from opentelemetry.instrumentation.instrumentor import (  # type: ignore[attr-defined]  # it names no exports
    BaseInstrumentor,
)
from opentelemetry.instrumentation.utils import is_instrumentation_enabled, unwrap
from wrapt import wrap_function_wrapper

import ragtrace.capture
from ragtrace.capture import guard, hear_retrieved, is_followed, is_in_block, stop_hearing
from ragtrace_instrumentation_openai import told
from ragtrace_instrumentation_openai.calls import Api, Client, Request

# Methods of the client take and return what their users choose; all of it passes through untouched.
Anything = Any
Wrapped = Callable[..., Anything]

_METHODS: tuple[tuple[type, Api], ...] = (
    (Completions, "chat"),
    (AsyncCompletions, "chat"),
    (Responses, "responses"),
    (AsyncResponses, "responses"),
)
_NAMES = ("create", "parse")
_following = guard("following a request of the openai client")


class OpenaiInstrumentor(BaseInstrumentor):  # type: ignore[misc]  # untyped, see above
    """Follows `chat.completions` and `responses` of every client: plain, streamed, parsed, asynchronous.

    A request is captured where something says that it answers from passages: a `ragtrace.rag_call` block around it,
    passages told by `ragtrace.retrieved(...)` (or retrieved by LangChain) that its prompt holds, or results of tools in
    it. Others, and those that a LangChain handler of ours follows, are left alone. `instrument()` takes `client`, as
    `ragtrace.configure` returns it.
    """

    def instrumentation_dependencies(self) -> Collection[str]:
        return ("openai >= 1.66",)

    def _instrument(self, **kwargs: Any) -> None:
        given: Client | None = kwargs.get("client")
        client: Client = ragtrace.capture if given is None else given
        hear_retrieved(told.hear)
        for owner, api in _METHODS:
            wrapper = _wrapper(api, client, is_async=owner.__name__.startswith("Async"))
            for name in _NAMES:
                wrap_function_wrapper(owner, name, wrapper)

    def _uninstrument(self, **kwargs: Any) -> None:
        stop_hearing(told.hear)
        for owner, _ in _METHODS:
            for name in _NAMES:
                unwrap(owner, name)


def _wrapper(api: Api, client: Client, *, is_async: bool) -> Wrapped:
    def call(wrapped: Wrapped, instance: object, args: tuple[Anything, ...], named: Mapping[str, Anything]) -> Anything:
        request = _begin(api, named, client)
        if request is None:
            return wrapped(*args, **named)
        if is_async:
            return _follow_async(request, wrapped(*args, **named))
        try:
            reply = wrapped(*args, **named)
        except BaseException as exc:
            _finish(request, exc)
            raise
        return _received(request, reply)

    return call


async def _follow_async(request: Request, pending: Awaitable[Anything]) -> Anything:
    try:
        reply = await pending
    except BaseException as exc:
        _finish(request, exc)
        raise
    return _received(request, reply)


def _begin(api: Api, arguments: Mapping[str, Anything], client: Client) -> Request | None:
    """Return the request to follow; None where nothing is to be captured."""
    with _following:
        if is_instrumentation_enabled() and not is_followed():
            request = Request(api, arguments, client, is_in_block=is_in_block())
            return request if request.has_ground else None
    return None


def _received(request: Request, reply: Anything) -> Anything:
    """Take the answer out of a reply, now or as it is read; the program gets the very object that the client made."""
    with _following:
        if isinstance(reply, openai.Stream):
            reply._iterator = _watch(request, reply._iterator)
        elif isinstance(reply, openai.AsyncStream):
            reply._iterator = _watch_async(request, reply._iterator)
        else:
            # `with_raw_response` hands out the reply unread; what it was parsed to is kept by it.
            parse = getattr(reply, "parse", None) if hasattr(reply, "http_response") else None
            _end(request, parse() if callable(parse) else reply)
    return reply


def _end(request: Request, reply: object) -> None:
    if isinstance(reply, openai.Stream | openai.AsyncStream):
        _received(request, reply)
        return
    request.answer.take(reply)
    request.finish()


def _watch(request: Request, events: Iterator[Anything]) -> Iterator[Anything]:
    try:
        for event in events:
            with _following:
                request.answer.take(event)
            yield event
    except BaseException as exc:
        _finish(request, exc)
        raise
    _finish(request)


async def _watch_async(request: Request, events: AsyncIterator[Anything]) -> AsyncIterator[Anything]:
    try:
        async for event in events:
            with _following:
                request.answer.take(event)
            yield event
    except BaseException as exc:
        _finish(request, exc)
        raise
    _finish(request)


def _finish(request: Request, error: BaseException | None = None) -> None:
    with _following:
        request.finish(error)
