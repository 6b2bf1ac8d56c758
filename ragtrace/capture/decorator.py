"""Capture what a function answers: `@rag_function` on it."""

import functools
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar, cast

from ragtrace.capture.manual import RagCallScope, rag_call

P = ParamSpec("P")
R = TypeVar("R")
# A function's arguments can be of any type, and pass through untouched.
Arguments = Any


def rag_function(function: Callable[P, R]) -> Callable[P, R]:
    """Capture each call of a function whose first text argument is the question and whose result is the answer.

    Works on plain functions, coroutine functions, and generators that stream the answer in pieces. Inside,
    `ragtrace.retrieved(documents)` and `ragtrace.prompted(messages)` tell the rest, and `ragtrace.answered(text)` the
    answer where the function returns more than that.
    """
    if inspect.isasyncgenfunction(function):
        wrapper: Callable[..., Any] = _streaming_async(function)
    elif inspect.isgeneratorfunction(function):
        wrapper = _streaming(function)
    elif inspect.iscoroutinefunction(function):
        wrapper = _answering_async(function)
    else:
        wrapper = _answering(function)
    # The wrapper takes and returns what the function does, which the type checker cannot see through `inspect`.
    return cast(Callable[P, R], functools.wraps(function)(wrapper))


def _answering(function: Callable[..., R]) -> Callable[..., R]:
    def answer(*args: Arguments, **named: Arguments) -> R:
        with _begin(args, named) as call:
            result = function(*args, **named)
            _note(call, result)
            return result

    return answer


def _answering_async(function: Callable[..., Awaitable[R]]) -> Callable[..., Awaitable[R]]:
    async def answer(*args: Arguments, **named: Arguments) -> R:
        async with _begin(args, named) as call:
            result = await function(*args, **named)
            _note(call, result)
            return result

    return answer


def _streaming(function: Callable[..., Iterator[R]]) -> Callable[..., Iterator[R]]:
    def stream(*args: Arguments, **named: Arguments) -> Iterator[R]:
        call = _begin(args, named)
        pieces: list[R] = []
        pending = function(*args, **named)
        with _finishing(call, pieces):
            while True:
                with call.active():
                    try:
                        piece = next(pending)
                    except StopIteration:
                        return
                pieces.append(piece)
                yield piece

    return stream


def _streaming_async(function: Callable[..., AsyncIterator[R]]) -> Callable[..., AsyncIterator[R]]:
    async def stream(*args: Arguments, **named: Arguments) -> AsyncIterator[R]:
        call = _begin(args, named)
        pieces: list[R] = []
        pending = function(*args, **named)
        with _finishing(call, pieces):
            while True:
                with call.active():
                    try:
                        piece = await anext(pending)
                    except StopAsyncIteration:
                        return
                pieces.append(piece)
                yield piece

    return stream


@contextmanager
def _finishing(call: RagCallScope, pieces: list[R]) -> Iterator[None]:
    """Capture the call however its stream ends: read to the end, broken, or abandoned."""
    error: BaseException | None = None
    try:
        yield
    except BaseException as exc:
        error = exc
        raise
    finally:
        _note(call, "".join(piece for piece in pieces if isinstance(piece, str)))
        call.finish(error)


def _begin(args: tuple[Arguments, ...], named: Mapping[str, Arguments]) -> RagCallScope:
    return rag_call(next((value for value in (*args, *named.values()) if isinstance(value, str)), ""))


def _note(call: RagCallScope, result: object) -> None:
    """Take the result for the answer, unless the function said what the answer is."""
    if not call.is_answered and result is not None:
        call.answer(result)
