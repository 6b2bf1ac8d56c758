"""Find a run by its id while its call is open; hold no call for ever."""

import asyncio
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from operator import attrgetter
from uuid import UUID

from ragtrace.model import Passage
from ragtrace_instrumentation_langchain.calls import Call, Run
from ragtrace_instrumentation_langchain.memory import Conversations, LooseRetrievals

_IDLE_SECONDS = 3600.0
_GRACE_SECONDS = 10.0
_SWEEP_SECONDS = 30.0
MOST_CALLS = 10_000
MOST_RUNS_OF_A_CALL = 10_000
_MOST_LEFT = 64
_MOST_BURIED = 10_000


class RunTable:
    """The open calls of a process and their runs.

    Every handler writes into the same table, so that two handlers on one chain make one record. It needs no lock:
    each step is one operation on a dict, and whoever takes a call out of `calls` is the one who finishes it.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.runs: dict[int, Run] = {}
        """Every run of an open call, by number."""
        self.calls: dict[int, Call] = {}
        """Every open call, by the number of its root."""
        self._left: deque[int] = deque()
        self._buried: dict[int, None] = {}
        """Runs of calls that broke off: of what goes on in them all the same, nobody hears the answer."""
        self.due_at = clock() + _SWEEP_SECONDS
        """When to sweep, on its clock."""
        self.loose = LooseRetrievals(clock=clock)
        self.conversations = Conversations(clock=clock)
        self.hear: Callable[[tuple[Passage, ...]], None] | None = None
        """Whom `ragtrace.retrieved` tells of passages for us: not to be told of what we tell others."""

    def __len__(self) -> int:
        """Count the runs and calls that are held."""
        return len(self.runs) + len(self.calls)

    def close(self, call: Call) -> bool:
        """Let go of a call and all of its runs; False if somebody else did."""
        if call.root is None or self.calls.pop(call.root.number, None) is None:
            return False
        let_go = self.runs.pop
        for run in call.runs:
            run.is_open = False
            let_go(run.number, None)
        if call.ending is not None and call.ending.is_broken:
            self._bury(run.number for run in call.runs)
        return True

    def is_orphan(self, number: int, parent: UUID | None) -> bool:
        """Tell whether a run of unknown parent goes on in a call that broke off, in a thread or task of its own."""
        if parent is None or parent.int not in self._buried:
            return False
        self._bury((number,))
        return True

    def _bury(self, numbers: Iterable[int]) -> None:
        self._buried.update(dict.fromkeys(numbers))
        for oldest in list(self._buried)[: max(0, len(self._buried) - _MOST_BURIED)]:
            self._buried.pop(oldest, None)

    def trim(self, call: Call) -> None:
        """Let go of the runs of a call that ended, since it has very many."""
        seen = list(call.runs)
        kept = [run for run in seen if run.is_open or run.parent is None]
        # One step, and only of what was seen: other threads may be adding theirs.
        call.runs[: len(seen)] = kept
        for run in set(seen).difference(kept):
            self.runs.pop(run.number, None)

    def drop(self, number: int, *, may_return: bool) -> None:
        """Drop a call whose task is gone; a stream may be read on in another task, so it waits for a while."""
        if may_return:
            self._left.append(number)
            if len(self._left) <= _MOST_LEFT:
                return
            number = self._left.popleft()
        if (call := self.calls.get(number)) is not None and self.close(call):
            call.forget()

    def sweep(self, now: float) -> list[Call]:
        """Return the calls whose end will not come, for the caller to finish."""
        self.due_at = now + _SWEEP_SECONDS
        excess = len(self.calls) - MOST_CALLS + 1
        if excess > 0:
            # Many at once, since sorting ten thousand calls for each new one would cost more than the call.
            excess += MOST_CALLS // 10
        calls = sorted(self.calls.values(), key=attrgetter("heard_at"))
        return [
            call
            for place, call in enumerate(calls)
            if place < excess or now - call.heard_at > (_GRACE_SECONDS if call.ending else _IDLE_SECONDS)
        ]


def close_with_task(root: Run, table: RunTable) -> None:
    """Let go of a call when the task dies that it runs in: a cancelled retriever or model tells nobody.

    Only for a root that is no chain: it runs in one task, while the steps of a chain may outlive the task that
    started it.
    """
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return
    if task is not None:
        number, is_stream = root.number, root.kind == "model"
        root.call.owner = weakref.ref(task, lambda _dead: table.drop(number, may_return=is_stream))


def is_called_by_retriever(run: Run, outer: Run | None) -> bool:
    """Tell whether a retriever of this call is running right here without having handed on its callbacks.

    Only in synchronous code, where each run ends in the context that it began in.

    Args:
        run: A run that starts.
        outer: The run that is current where it starts.
    """
    if outer is None or run.parent is None or outer.call is not run.call or not outer.is_open:
        return False
    if outer.kind != "retriever" and not outer.is_in_retriever:
        return False
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return True
    return False
