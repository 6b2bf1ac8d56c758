"""The queue and its thread."""

import logging
import os
import threading
from collections.abc import Sequence

import pytest

from ragtrace.capture import CapturedCall, UnwrittenCall
from ragtrace.capture.collector import Collector, weigh
from ragtrace.model import Passage
from tests.capture.calls import TEXT, call


class Deliveries:
    """Takes calls as a server would, and can be held up, break, or lose some."""

    def __init__(self, *, lost: int = 0, error: Exception | None = None) -> None:
        self.calls: list[CapturedCall] = []
        self.portions = 0
        self.entered, self.go_on = threading.Event(), threading.Event()
        self.go_on.set()
        self._lost, self._error = lost, error

    def __call__(self, calls: Sequence[CapturedCall], closing: threading.Event) -> int:
        self.entered.set()
        self.go_on.wait()
        if self._error is not None:
            raise self._error
        self.calls += calls
        self.portions += 1
        return self._lost


def _collector(deliveries: Deliveries, *, limit_bytes: int = 10_000_000) -> Collector:
    return Collector(deliveries, limit_bytes=limit_bytes)


def test_calls_are_delivered_in_order_and_together():
    """What comes in a short time goes out in one portion."""
    deliveries = Deliveries()
    collector = _collector(deliveries)
    calls = [call(question=str(n)) for n in range(20)]
    for each in calls:
        collector.put(each)

    assert (collector.flush(10), deliveries.calls, deliveries.portions) == (True, calls, 1)


def test_without_a_flush_calls_go_out_on_their_own():
    """The thread does not wait to be asked."""
    deliveries = Deliveries()
    _collector(deliveries).put(call())

    assert deliveries.entered.wait(10)


def test_nothing_to_flush_is_flushed():
    """Flushing without calls starts nothing."""
    before = threading.active_count()

    assert (_collector(Deliveries()).flush(0), threading.active_count()) == (True, before)


def test_after_an_idle_flush_calls_still_go_out_together():
    """A flush with nothing to deliver hurries none of the calls that come later."""
    deliveries = Deliveries()
    collector = _collector(deliveries)
    collector.put(call())
    flushed = [collector.flush(10), collector.flush(10)]
    for number in range(20):
        collector.put(call(question=str(number)))

    assert (flushed, collector.flush(10), deliveries.portions) == ([True, True], True, 2)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_died_is_replaced():
    """Whatever ended the thread, the next call is delivered by another."""

    def die(_calls: Sequence[CapturedCall], _closing: threading.Event) -> int:
        raise SystemExit

    collector = Collector(die, limit_bytes=10_000_000)
    threads: list[threading.Thread] = []
    for _ in range(2):
        collector.put(call())
        threads += [collector.thread] if collector.thread else []
        threads[-1].join(10)

    assert [thread.is_alive() for thread in set(threads)] == [False, False]


def test_a_flush_that_takes_too_long_says_so():
    """A server that hangs costs the caller of `flush` no more than it agreed to."""
    deliveries = Deliveries()
    deliveries.go_on.clear()
    collector = _collector(deliveries)
    collector.put(call())

    assert collector.flush(0.02) is False
    deliveries.go_on.set()
    assert collector.flush(10) is True


def test_lost_calls_fail_the_flush():
    """What was lost on the way is not delivered."""
    collector = _collector(Deliveries(lost=1))
    collector.put(call())

    assert (collector.flush(10), collector.close(1)) == (False, 1)


def test_the_queue_is_bounded_in_bytes(caplog):
    """Beyond the bound calls are dropped, which is counted and logged once in a while, not once a call."""
    deliveries = Deliveries()
    deliveries.go_on.clear()
    size = weigh(call(TEXT))
    collector = _collector(deliveries, limit_bytes=size * 10)
    for _ in range(25):
        collector.put(call(TEXT))
    deliveries.go_on.set()

    assert (collector.flush(10), len(deliveries.calls), collector.close(10)) == (True, 10, 15)
    collector.thread.join(10)
    assert [r.getMessage() for r in caplog.records] == [
        f"ragtrace: 15 captured calls were dropped, {size * 10} bytes of others were waiting "
        "(RAGTRACE_CAPTURE_QUEUE_BYTES)"
    ]


def test_room_is_made_by_delivery():
    """A queue that was full takes calls again once it is empty."""
    deliveries = Deliveries()
    collector = _collector(deliveries, limit_bytes=weigh(call(TEXT)))
    for _ in range(3):
        collector.put(call(TEXT))
        collector.flush(10)

    assert len(deliveries.calls) == 3


def test_a_delivery_that_breaks_loses_its_calls_only(caplog):
    """An error of ours costs the calls in hand, is logged once, and the thread goes on."""
    deliveries = Deliveries(error=OSError("disk"))
    collector = _collector(deliveries)
    collector.put(call())
    first = collector.flush(10)
    deliveries._error = None
    collector.put(call())

    assert (first, collector.flush(10), len(deliveries.calls)) == (False, True, 1)


def test_large_calls_go_in_several_portions():
    """However much waits, only some megabytes are in hand at a time."""
    deliveries = Deliveries()
    collector = _collector(deliveries, limit_bytes=100_000_000)
    deliveries.go_on.clear()
    for _ in range(10):
        collector.put(call("x" * 2_000_000, prompt=[""]))
    deliveries.go_on.set()

    assert (collector.flush(10), len(deliveries.calls), deliveries.portions >= 3) == (True, 10, True)


def test_after_closing_calls_are_refused_loudly(caplog):
    """A call after the end is not swallowed: it is an error in the log, once."""
    deliveries = Deliveries()
    collector = _collector(deliveries)
    collector.put(call())

    assert collector.close(10) == 0
    for _ in range(3):
        collector.put(call())
    assert (len(deliveries.calls), len(caplog.records), caplog.records[0].levelno) == (1, 1, logging.ERROR)


def test_closing_ends_the_thread():
    """Nothing is left running once all is delivered."""
    collector = _collector(Deliveries())
    collector.put(call())
    thread = collector.thread
    collector.close(10)

    assert thread is not None
    thread.join(10)
    assert not thread.is_alive()


def test_closing_a_queue_that_hangs_tells_how_many_are_lost():
    """After its time, closing gives up and counts what was not delivered; told once."""
    deliveries = Deliveries()
    deliveries.go_on.clear()
    collector = _collector(deliveries)
    for _ in range(3):
        collector.put(call())
    deliveries.entered.wait(10)

    assert (collector.close(0.02), collector.close(0), collector.closing.is_set()) == (3, 0, True)
    deliveries.go_on.set()


def test_a_forked_child_starts_afresh():
    """The parent's calls stay the parent's; a child's call is delivered by a thread of its own."""
    deliveries = Deliveries()
    deliveries.go_on.clear()
    collector = _collector(deliveries)
    collector.put(call(question="parent"))
    deliveries.entered.wait(10)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        collector.after_fork_in_child()
        deliveries.go_on.set()
        collector.put(call(question="child"))
        done = collector.flush(10)
        os.write(write, f"{done} {[c.question for c in deliveries.calls]}".encode())
        os._exit(0)
    os.waitpid(child, 0)
    deliveries.go_on.set()

    assert os.read(read, 1000).decode() == "True ['child']"
    assert (collector.flush(10), [c.question for c in deliveries.calls]) == (True, ["parent"])
    os.close(read)
    os.close(write)


def test_after_a_fork_nothing_of_the_parent_is_counted():
    """A child that captures nothing has nothing to deliver or to lose."""
    deliveries = Deliveries()
    deliveries.go_on.clear()
    collector = _collector(deliveries)
    collector.put(call())
    collector.after_fork_in_child()
    deliveries.go_on.set()

    assert (collector.flush(0), collector.close(0)) == (True, 0)


def test_a_closed_queue_is_closed_in_a_child_too():
    """Forking does not bring back what was shut down."""
    collector = _collector(Deliveries())
    collector.close(1)
    collector.after_fork_in_child()
    collector.put(call())

    assert collector.flush(0) is True


def test_calls_from_many_threads_are_all_counted():
    """Threads that capture at the same time lose nothing."""
    deliveries = Deliveries()
    collector = _collector(deliveries)
    threads = [threading.Thread(target=lambda: [collector.put(call()) for _ in range(100)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (collector.flush(10), len(deliveries.calls)) == (True, 800)


def test_weight_grows_with_the_text():
    """Passages, prompt, candidates, answer and question all count."""
    passage = Passage(text="x" * 10_000, rank=0, metadata={"a": 1})
    heavy = call(
        question="q" * 10_000,
        answer="a" * 10_000,
        passages=(passage,),
        candidates=(passage,),
        prompt_parts=("p" * 10_000,),
    )

    assert 50_000 < weigh(heavy) < 55_000


def test_calls_are_written_on_the_thread_and_one_that_fails_is_left_out():
    """A record that is made late is delivered in its place; one that fails, or comes to nothing, holds up no other."""
    deliveries = Deliveries()
    collector = _collector(deliveries)
    whole = call()

    def fail() -> Sequence[CapturedCall]:
        raise ValueError("unreadable")

    for write in (fail, lambda: (whole,), lambda: ()):
        collector.put(UnwrittenCall(write=write, size=10))

    assert (collector.flush(10), deliveries.calls) == (True, [whole])
