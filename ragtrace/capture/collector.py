"""Queue finished calls, bounded in bytes, and hand them to one background thread."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from itertools import chain
from sys import getsizeof

from ragtrace.capture import pace
from ragtrace.capture.guard import guard
from ragtrace.capture.record import CapturedCall, UnwrittenCall, write_call

logger = logging.getLogger(__name__)

_LINGER_SECONDS = 0.25
_PORTION_BYTES = 8_000_000
_REPORT_SECONDS = 60.0
_CALL_OVERHEAD_BYTES = 2_000
_VALUE_OVERHEAD_BYTES = 100

Deliver = Callable[[Sequence[CapturedCall], threading.Event], int]
"""Delivers calls, blocking, and returns how many were lost; once the event is set it should not wait to try again."""


def weigh(call: CapturedCall | UnwrittenCall) -> int:
    """Estimate the memory that a call keeps alive, in microseconds and not to the byte."""
    if isinstance(call, UnwrittenCall):
        return call.size + _CALL_OVERHEAD_BYTES
    passages = call.passages or ()
    texts = chain(call.prompt_parts, (p.text for p in passages), (p.text for p in call.candidates))
    values = sum(len(p.metadata) for p in passages)
    return (
        sum(map(getsizeof, texts))
        + len(call.question)
        + len(call.answer or "")
        + values * _VALUE_OVERHEAD_BYTES
        + _CALL_OVERHEAD_BYTES
    )


class Collector:
    """A queue and its thread, which starts with the first call and again in a forked child."""

    def __init__(self, deliver: Deliver, *, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        """Most bytes that may wait; more is dropped."""
        self.closing = threading.Event()
        """Set once no more calls are taken: whoever waits to try again should stop waiting."""
        self._deliver = deliver
        self._reset()

    def _reset(self) -> None:
        # Guards the counters and the queue. Reentrant, so that a call captured in a signal handler cannot wait for
        # the very thread that it interrupted.
        self._lock = threading.RLock()
        self._finished_more = threading.Condition(self._lock)
        self._arrived, self._hurry = threading.Event(), threading.Event()
        self.thread: threading.Thread | None = None
        """None before the first call."""
        self._waiting: deque[tuple[CapturedCall | UnwrittenCall, int]] = deque()
        self._bytes = self._accepted = self._finished = 0
        self._lost = self._overflowed = self._overflow_told = self._refused = self._told = 0
        self._told_at = float("-inf")

    def put(self, call: CapturedCall | UnwrittenCall) -> None:
        """Take a call if there is room; never waits for delivery."""
        size = weigh(call)
        with self._lock:
            if self.closing.is_set():
                self._refuse()
                return
            if self._bytes + size > self.limit_bytes:
                self._overflowed += 1
                return
            self._bytes += size
            self._accepted += 1
            self._waiting.append((call, size))
            if self._bytes * 2 > self.limit_bytes:
                self._hurry.set()
                pace.hurry()
            if not self._arrived.is_set():
                self._wake()

    def _wake(self) -> None:
        """Let the thread know that there is work; it need not be told twice before it looks."""
        if self.thread is None or not self.thread.is_alive():
            self.thread = threading.Thread(target=self._run, name="ragtrace-capture", daemon=True)
            self.thread.start()
        self._arrived.set()

    def flush(self, timeout_seconds: float) -> bool:
        """Wait until what was taken so far is delivered; False if it is not, or some of it was lost."""
        with self._finished_more:
            goal, lost = self._accepted, self._lost + self._overflowed
            if self._accepted > self._finished:
                self._hurry.set()
                self._wake()
            arrived = self._finished_more.wait_for(lambda: self._finished >= goal, timeout_seconds)
            return arrived and self._lost + self._overflowed == lost

    def begin_closing(self) -> None:
        """Take no more calls and deliver what waits at once, each with one attempt."""
        with self._lock:
            self.closing.set()
            self._hurry.set()
            if self.thread is not None:
                self._wake()

    def close(self, timeout_seconds: float) -> int:
        """Take no more calls, wait for those in hand, and return how many were lost that nobody was told of."""
        self.begin_closing()
        with self._finished_more:
            self._finished_more.wait_for(lambda: self._finished >= self._accepted, timeout_seconds)
            lost = self._accepted - self._finished + self._lost + self._overflowed - self._told
            self._told += lost
            return lost

    def after_fork_in_child(self) -> None:
        """Forget the parent's calls, which the parent delivers, and its lock, which nobody here holds."""
        closed = self.closing.is_set()
        self.closing = threading.Event()
        if closed:
            self.closing.set()
        self._reset()

    def _run(self) -> None:
        arrived, hurry = self._arrived, self._hurry
        try:
            while self._waiting or not self.closing.is_set():
                arrived.wait()
                # A short wait gathers calls into one request and keeps this thread out of the way of the program's.
                hurry.wait(_LINGER_SECONDS)
                hurry.clear()
                arrived.clear()
                while portion := self._take():
                    self._work_off(portion)
                self._report_overflow()
        finally:
            # Whatever ended it, the next call starts another one.
            arrived.clear()

    def _take(self) -> list[tuple[CapturedCall | UnwrittenCall, int]]:
        portion: list[tuple[CapturedCall | UnwrittenCall, int]] = []
        size = 0
        with self._lock:
            while self._waiting and size < _PORTION_BYTES:
                portion.append(self._waiting.popleft())
                size += portion[-1][1]
        return portion

    def _work_off(self, portion: list[tuple[CapturedCall | UnwrittenCall, int]]) -> None:
        if self._bytes * 2 <= self.limit_bytes:
            pace.begin()
        calls = [written for call, _size in portion for written in _written(call)]
        lost = len(calls)
        with guard("delivering captured calls"):
            lost = self._deliver(calls, self.closing)
        with self._finished_more:
            # Bytes count until delivery, so that the bound holds for what is in hand, too.
            self._bytes -= sum(size for _call, size in portion)
            self._finished += len(portion)
            self._lost += lost
            self._finished_more.notify_all()

    def _refuse(self) -> None:
        self._refused += 1
        if self._refused == 1:
            logger.error("ragtrace: a call was captured after `shutdown()` and is not sent; configure again first")

    def _report_overflow(self) -> None:
        """Say now and then that the queue is full: here, because the thread that captures must not wait for a log."""
        now = time.monotonic()
        with self._lock:
            missing = self._overflowed - self._overflow_told
            if not missing or now - self._told_at < _REPORT_SECONDS:
                return
            self._overflow_told, self._told_at = self._overflowed, now
        logger.warning(
            "ragtrace: %d captured calls were dropped, %d bytes of others were waiting (RAGTRACE_CAPTURE_QUEUE_BYTES)",
            missing,
            self.limit_bytes,
        )


def _written(call: CapturedCall | UnwrittenCall) -> Sequence[CapturedCall]:
    pace.give_way()
    with guard("writing a captured call"):
        return write_call(call)
    return ()
