"""Find a run by its id while its call is open; hold no call for ever."""

import asyncio
import time
import weakref
from collections import deque
from collections.abc import Callable
from uuid import UUID

from ragtrace.model import Passage
from ragtrace_instrumentation_langchain.calls import CURRENT, Call, Run, RunKind, next_order
from ragtrace_instrumentation_langchain.memory import Conversations, LooseRetrievals

_IDLE_SECONDS = 3600.0
_GRACE_SECONDS = 10.0
_SWEEP_SECONDS = 30.0
_MOST_CALLS = 10_000
_MOST_RUNS_OF_A_CALL = 10_000
_MOST_LEFT = 64


class RunTable:
    """The open calls of a process and their runs.

    Every handler writes into the same table, so that two handlers on one chain make one record. It needs no lock:
    each step is one operation on a dict, and whoever takes a call out of `_calls` is the one who finishes it.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._runs: dict[int, Run] = {}
        self._calls: dict[int, Call] = {}
        self._left: deque[int] = deque()
        self._swept = clock()
        self.loose = LooseRetrievals(clock=clock)
        self.conversations = Conversations(clock=clock)
        self.hear: Callable[[tuple[Passage, ...]], None] | None = None
        """Whom `ragtrace.retrieved` tells of passages for us: not to be told of what we tell others."""

    def __len__(self) -> int:
        """Count the runs and calls that are held."""
        return len(self._runs) + len(self._calls)

    def find(self, run_id: UUID | None) -> Run | None:
        """Return a run whose call is open."""
        return self._runs.get(run_id.int) if run_id is not None else None

    def open(self, call: Call) -> Call:
        """Hold a call until it is closed."""
        self._calls[call.id.int] = call
        return call

    def begin(self, run_id: UUID, kind: RunKind, *, name: str, call: Call, parent: Run | None) -> Run:
        """Add a run to an open call."""
        run = Run(
            id=run_id,
            kind=kind,
            name=name,
            call=call,
            parent=parent,
            start_ns=time.time_ns(),
            order=next_order(),
        )
        if parent is None:
            call.root = run
        else:
            run.is_in_retriever = parent.is_in_retriever or parent.kind == "retriever" or _is_called_by_retriever(call)
            run.tool = parent if parent.kind == "tool" and parent.parent is not None else parent.tool
        self._runs[run_id.int] = call.runs[run_id.int] = run
        call.touched = self.clock()
        return run

    def end(self, run_id: UUID) -> Run | None:
        """Mark a run as ended; None if it is unknown or somebody told us before."""
        run = self._runs.get(run_id.int)
        if run is None or not run.is_open:
            return None
        run.is_open = False
        run.call.touched = self.clock()
        if len(run.call.runs) > _MOST_RUNS_OF_A_CALL and run.parent is not None:
            self._runs.pop(run_id.int, None)
            run.call.runs.pop(run_id.int, None)
        if CURRENT.get() is run:
            CURRENT.set(run.parent)
        return run

    def close(self, call: Call) -> bool:
        """Let go of a call and all of its runs; False if somebody else did."""
        if self._calls.pop(call.id.int, None) is None:
            return False
        for run_id in list(call.runs):
            if (run := self._runs.pop(run_id, None)) is not None:
                run.is_open = False
        return True

    def close_with_task(self, root: Run) -> None:
        """Let go of a call when the task dies that it runs in: a cancelled retriever or model tells nobody.

        Only for a root that is no chain: it runs in one task, while the steps of a chain may outlive the task that
        started it.
        """
        try:
            task = asyncio.current_task()
        except RuntimeError:
            return
        if task is not None:
            call_id, is_stream = root.id.int, root.kind == "model"
            root.call.owner = weakref.ref(task, lambda _dead: self._leave(call_id, may_return=is_stream))

    def _leave(self, call_id: int, *, may_return: bool) -> None:
        """Drop a call whose task is gone; a stream may be read on in another task, so it waits for a while."""
        if (call := self._calls.get(call_id)) is None:
            return
        if not may_return:
            self.close(call)
            return
        self._left.append(call_id)
        if len(self._left) > _MOST_LEFT and (oldest := self._calls.get(self._left.popleft())) is not None:
            self.close(oldest)

    def sweep(self) -> list[Call]:
        """Return the calls whose end will not come, for the caller to finish; cheap when called often."""
        now = self.clock()
        excess = len(self._calls) - _MOST_CALLS
        if excess <= 0 and now - self._swept < _SWEEP_SECONDS:
            return []
        self._swept = now
        if excess > 0:
            # Many at once, since sorting ten thousand calls for each new one would cost more than the call.
            excess += _MOST_CALLS // 10
        calls = sorted(self._calls.values(), key=lambda call: call.touched)
        return [
            call
            for place, call in enumerate(calls)
            if place < excess or now - call.touched > (_GRACE_SECONDS if call.ending else _IDLE_SECONDS)
        ]


def _is_called_by_retriever(call: Call) -> bool:
    """Tell whether a retriever of this call is running right here without having handed on its callbacks.

    Only in synchronous code, where each run ends in the context that it began in.
    """
    outer = CURRENT.get()
    if outer is None or outer.call is not call or not outer.is_open:
        return False
    if outer.kind != "retriever" and not outer.is_in_retriever:
        return False
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return True
    return False
