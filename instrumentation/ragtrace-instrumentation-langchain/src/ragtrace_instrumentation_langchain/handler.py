"""Follow LangChain's callbacks: at each event, keep references to strings and nothing more."""

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from time import time_ns
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from opentelemetry import context as otel_context
from opentelemetry import trace

import ragtrace.capture
from ragtrace.capture import guard, hear_retrieved, note_follower
from ragtrace.model import Passage
from ragtrace_instrumentation_langchain import join, observe
from ragtrace_instrumentation_langchain.calls import CURRENT, Call, Client, Run, RunKind, next_order
from ragtrace_instrumentation_langchain.documents import PLAIN
from ragtrace_instrumentation_langchain.finish import finish
from ragtrace_instrumentation_langchain.inline import would_silence_others
from ragtrace_instrumentation_langchain.runs import (
    MOST_CALLS,
    MOST_RUNS_OF_A_CALL,
    RunTable,
    close_with_task,
    is_called_by_retriever,
)

_TABLE = RunTable()
_following = guard("following a LangChain run")


_Heard = Callable[..., None]
"""A method that LangChain calls for an event."""


def _starting(kind: RunKind, note: Callable[[Run], None] | None = None) -> _Heard:
    """Make the method that hears that a run of this kind starts, and notes what it was given.

    This and the next are the whole of what most events cost, and call as little as they can: they come between two
    pieces of the application's own code, so that whatever they run through comes into the processor's caches anew.
    """

    def on_start(
        self: "RagCallbackHandler",
        serialized: Mapping[str, object] | None,
        given: object,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **settings: object,
    ) -> None:
        try:
            runs, number = self._runs.runs, run_id.int
            if number in runs:
                # Another handler told us.
                return
            parent = runs.get(parent_run_id.int) if parent_run_id is not None else None
            call = self._open(number, parent_run_id) if parent is None else parent.call
            if call is None:
                return
            runs[number] = run = Run(kind, number, call, parent, given, serialized, settings, next_order())
            call.runs.append(run)
            outer = CURRENT.get()
            CURRENT.set(run)
            if outer is not parent:
                run.is_called_by_retriever = is_called_by_retriever(run, outer)
            if call.is_beginning or join.is_linked:
                self._look_around(run)
            if note is not None:
                note(run)
        except Exception as error:  # noqa: BLE001 - the guard's own, without the cost of a context manager
            _following.caught(error)

    return on_start


def _ending(note: Callable[[Run, Any], object], *, silent: Collection[type] = ()) -> _Heard:
    """Make the method that hears that a run of some kind ended well, and notes what it returned.

    Args:
        note: Notes it, and returns what that comes to as the output of a root.
        silent: Types of values of which there is nothing to note, but for a root.
    """

    def on_end(self: "RagCallbackHandler", outputs: object, *, run_id: UUID, **settings: object) -> None:
        try:
            run = self._runs.runs.get(run_id.int)
            if run is None or not run.is_open:
                return
            run.is_open = False
            if CURRENT.get() is run:
                CURRENT.set(run.parent)
            if type(outputs) in silent and run.parent is not None and run.spans is None:
                # What the first steps were given tells their questions, where a program asks several.
                run.given = settings.get("inputs") or run.given if run.parent.parent is None else None
            else:
                if "inputs" in settings:
                    observe.given_late(run, settings["inputs"])
                self._leave(run, note(run, outputs))
        except Exception as error:  # noqa: BLE001 - as above
            _following.caught(error)

    return on_end


class RagCallbackHandler(BaseCallbackHandler):
    """Captures what a chain's generator received: `chain.invoke(q, config={"callbacks": [RagCallbackHandler()]})`.

    One instance may serve any number of calls at once, in threads and tasks. However many handlers see a call, it is
    captured once, for the client of the first.

    Args:
        client: What takes the captured calls, as `ragtrace.configure` returns it; the default one otherwise.
        tracer_provider: The provider that another tracer of LangChain was given, where it is not the global one.
        runs: A table of its own, for tests; all handlers of a process share one otherwise.
    """

    raise_error = True
    """Nothing gets past our guard except under `ragtrace.testing`, where it should be seen."""

    ignore_retry = True
    ignore_custom_event = True

    def __init__(
        self,
        *,
        client: Client | None = None,
        tracer_provider: trace.TracerProvider | None = None,
        runs: RunTable | None = None,
    ) -> None:
        self._client: Client = client if client is not None else ragtrace.capture
        self._runs = runs if runs is not None else _TABLE
        if tracer_provider is not None:
            join.link(tracer_provider)
        hear_retrieved(_hear)
        self._runs.hear = _hear
        note_follower(_is_following)

    @property
    def run_inline(self) -> bool:  # type: ignore[override]  # LangChain reads it at each event, nobody writes it
        """Be called before all others, in the caller's own context, in asynchronous code too."""
        return not would_silence_others(sys._getframe(1))

    @property
    def open_runs(self) -> int:
        """How many runs and calls are held: 0 when nothing is running."""
        return len(self._runs)

    on_chain_start = _starting("chain")
    on_chain_end = _ending(observe.chain_ended, silent=PLAIN)
    on_retriever_start = _starting("retriever", observe.search_started)
    on_retriever_end = _ending(observe.retrieved)
    on_tool_start = _starting("tool", observe.search_started)
    on_tool_end = _ending(observe.tool_returned)
    on_chat_model_start = _starting("model", observe.chat_started)
    on_llm_start = _starting("model", observe.completion_started)
    on_llm_end = _ending(observe.model_ended)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **settings: object) -> None:
        """Note that a run failed."""
        with _following:
            if (run := self._end(run_id, settings)) is not None:
                observe.failed(run, error)
                self._leave(run, None, error)

    on_retriever_error = on_tool_error = on_chain_error

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **settings: object) -> None:
        """Note that a model failed, and what it had said until then."""
        with _following:
            if (run := self._end(run_id, settings)) is not None:
                observe.model_ended(run, settings.get("response"), error)
                self._leave(run, None, error)

    def _open(self, number: int, parent_run_id: UUID | None) -> Call | None:
        table = self._runs
        if table.is_orphan(number, parent_run_id):
            return None
        now = table.clock()
        if now >= table.due_at or len(table.calls) >= MOST_CALLS:
            for stale in table.sweep(now):
                finish(stale, table)
        # Late, since the application may set its provider after it made this handler; and not by OpenTelemetry's own
        # function, which asks the environment while there is none, and takes ten microseconds for it.
        if trace._TRACER_PROVIDER is not None:
            join.link(trace._TRACER_PROVIDER)
        call = table.calls[number] = Call(self._client, table.clock, now, time_ns())
        return call

    def _look_around(self, run: Run) -> None:
        """Note what can be seen where a run starts, most of it where a root and its first step do."""
        call = run.call
        if join.is_linked:
            join.follow(run)
        if not call.is_beginning:
            return
        if run.parent is None:
            call.root, call.around = run, otel_context.get_current()
            if run.kind == "chain":
                observe.root_started(run)
            elif run.kind == "model" or run.kind == "retriever":
                close_with_task(run, self._runs)
            return
        call.inside = call.inside if call.inside is not None else otel_context.get_current()
        call.is_beginning = call.is_resumed
        if call.is_resumed and run.kind == "chain":
            observe.step_started(run)

    def _end(self, run_id: UUID, settings: Mapping[str, object]) -> Run | None:
        """Note that a run failed; None if it is not ours, or another handler told us already."""
        run = self._runs.runs.get(run_id.int)
        if run is None or not run.is_open:
            return None
        run.is_open = False
        if CURRENT.get() is run:
            CURRENT.set(run.parent)
        if "inputs" in settings:
            observe.given_late(run, settings["inputs"])
        return run

    def _leave(self, run: Run, outputs: object, error: BaseException | None = None) -> None:
        """Finish the call if this was its root, or the model that its root did not wait for."""
        call = run.call
        if len(call.runs) > MOST_RUNS_OF_A_CALL:
            self._runs.trim(call)
        if run.spans is not None:
            join.adopt(run)
        if run.parent is None:
            observe.root_ended(run, outputs, error)
        if call.ending is None:
            return
        if call.ending.is_awaited and call.answering:
            call.ended_at = self._runs.clock()
        else:
            finish(call, self._runs)


def _hear(passages: Sequence[Passage]) -> None:
    """Take what `ragtrace.retrieved` is told for the run that is current here, else for a model call to come."""
    run = CURRENT.get()
    if run is not None and run.is_open:
        observe.told(passages, run)
    else:
        _TABLE.loose.add(observe.told_outside(passages))


def _is_following() -> bool:
    run = CURRENT.get()
    return run is not None and run.is_open
