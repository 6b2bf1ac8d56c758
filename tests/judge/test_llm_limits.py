"""How many requests are in flight: the throttle, the gate before it, the breaker, and waits."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from random import Random

import pytest

from ragtrace.judge.failures import retry_after
from ragtrace.judge.limits import MOST_PROBES, PROBE_SECONDS, Breaker, Gate, Throttle
from ragtrace.judge.timing import Pauses


def simulate(throttle: Throttle, is_taken: Callable[[float, int], bool], *, calls: int, latency: float) -> list[bool]:
    """Send calls in simulated time; a refused one is sent again after a second. Return what each request met."""
    now, left = 0.0, calls
    in_flight: list[tuple[float, float, bool]] = []
    met: list[bool] = []
    while left or in_flight:
        for request in [r for r in in_flight if r[1] <= now]:
            in_flight.remove(request)
            started, _, taken = request
            met.append(taken)
            if taken:
                throttle.succeeded()
            else:
                throttle.refused(started, now, 1.0)
                left += 1
        while left and throttle.wait(now, len(in_flight)) == 0:
            throttle.started(now)
            in_flight.append((now, now + latency, is_taken(now, len(in_flight) + 1)))
            left -= 1
        now += 0.01
    return met


def test_it_finds_how_many_at_once_are_taken_and_stays_under_that():
    """With 6 at once taken and 64 allowed, few requests are refused, and ever fewer."""
    throttle = Throttle(most=64)

    met = simulate(throttle, lambda _now, in_flight: in_flight <= 6, calls=3_000, latency=0.05)

    assert met[:400].count(False) < 100
    assert met[-1_500:].count(False) < 15
    assert 1 <= throttle.limit <= 7


def test_it_finds_a_rate_and_stays_under_it():
    """With one request every 0.2 s taken, starts are spread out until few are refused."""
    last = -1.0

    def is_taken(now: float, _in_flight: int) -> bool:
        nonlocal last
        if now - last < 0.2:
            return False
        last = now
        return True

    met = simulate(Throttle(most=16), is_taken, calls=600, latency=0.05)

    assert met[-300:].count(False) < 30


def test_without_refusals_all_that_are_allowed_are_used():
    """An endpoint that takes everything is given everything."""
    throttle = Throttle(most=8)

    simulate(throttle, lambda _now, _in_flight: True, calls=200, latency=0.05)

    assert (throttle.limit, throttle.gap) == (8.0, 0.0)


def test_requests_that_were_refused_together_count_once():
    """Eight refusals of one moment halve the limit once."""
    throttle = Throttle(most=8)
    throttle.succeeded()

    for _ in range(8):
        throttle.refused(1.0, 1.5, None)

    assert (throttle.limit, throttle.ceiling) == (4.0, 7.0)


def test_one_at_a_time_that_is_still_refused_is_spread_out():
    """At a limit of one, all wait as long as the endpoint asked, and starts get a growing gap, bounded by that wait."""
    throttle = Throttle(most=1)
    throttle.succeeded()
    throttle.refused(0.0, 1.0, 3.0)
    throttle.refused(5.0, 6.0, None)

    throttle.started(6.0)

    assert (throttle.wait(6.0, 0), throttle.wait(7.0, 0), throttle.gap) == (pytest.approx(0.1), 0.0, 0.1)
    throttle.refused(7.0, 8.0, 2.0)
    assert throttle.wait(8.5, 0) == 1.5


def test_a_gap_shrinks_again_with_success():
    """After enough requests that were answered, the gap is given up step by step."""
    throttle = Throttle(most=1)
    throttle.succeeded()
    throttle.refused(0.0, 1.0, 1.0)
    throttle.refused(2.0, 3.0, 1.0)
    assert throttle.gap == 0.1

    for _ in range(1_000):
        throttle.succeeded()

    assert throttle.gap == 0.0


def test_before_the_first_reply_requests_are_tried_one_after_another():
    """A second one is tried only after a while without an answer, and never more than three."""
    throttle = Throttle(most=16)
    assert throttle.wait(100.0, 0) == 0.0
    throttle.started(100.0)

    waits = [
        throttle.wait(100.5, 1),
        throttle.wait(100.0 + PROBE_SECONDS, 1),
        throttle.wait(100.5, 2),
        throttle.wait(200.0, MOST_PROBES),
    ]

    assert waits == [PROBE_SECONDS - 0.5, 0.0, 2 * PROBE_SECONDS - 0.5, None]
    throttle.succeeded()
    assert throttle.wait(100.5, 15) == 0.0
    throttle.start_over()
    assert throttle.wait(300.0, 3) is None


def test_an_open_breaker_closes_after_a_while_or_a_success():
    """A locked door is tried again a minute later; an answer opens it for all."""
    breaker = Breaker()
    assert breaker.is_open(0.0) is False
    breaker.open("no quota", 10.0)

    assert (breaker.is_open(69.0), breaker.is_open(71.0), breaker.reason) == (True, False, "no quota")
    breaker.close()
    assert (breaker.is_open(20.0), breaker.reason) == (False, None)


async def test_requests_start_in_the_order_in_which_they_came():
    """Who waits longer is let in first, one for each that ends."""
    throttle = Throttle(most=2)
    throttle.succeeded()
    gate = Gate(throttle)
    started: list[int] = []
    ends = [asyncio.Event() for _ in range(5)]

    async def request(number: int) -> None:
        async with gate.slot():
            started.append(number)
            await ends[number].wait()

    tasks = [asyncio.create_task(request(number)) for number in range(5)]
    await asyncio.sleep(0)
    assert started == [0, 1]
    ends[1].set()
    await tasks[1]
    await asyncio.sleep(0)
    assert started == [0, 1, 2]
    for end in ends:
        end.set()
    await asyncio.wait(tasks)
    assert started == [0, 1, 2, 3, 4]


async def test_a_request_that_stops_waiting_holds_no_place():
    """A cancelled request leaves the queue, also when its turn had just come."""
    throttle = Throttle(most=1)
    throttle.succeeded()
    gate = Gate(throttle)
    done = asyncio.Event()
    order: list[str] = []

    async def first() -> None:
        async with gate.slot():
            await done.wait()

    async def other(name: str) -> None:
        async with gate.slot():
            order.append(name)

    holder = asyncio.create_task(first())
    await asyncio.sleep(0)
    waiting, lucky, last = (asyncio.create_task(other(name)) for name in ("waiting", "lucky", "last"))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    done.set()
    await asyncio.sleep(0)
    assert holder.done()
    lucky.cancel()
    await asyncio.wait([lucky, last])

    assert order == ["last"]


async def test_a_gap_is_waited_for():
    """Where starts are spread out, a request that waits alone is let in when its time has come."""
    throttle = Throttle(most=1, gap=0.02)
    throttle.succeeded()
    throttle.gap = 0.02
    gate = Gate(throttle)
    times: list[float] = []

    async def request() -> None:
        async with gate.slot() as started:
            times.append(started)

    await asyncio.wait([asyncio.create_task(request()) for _ in range(3)])

    assert times[1] - times[0] >= 0.019
    assert times[2] - times[1] >= 0.019


def test_waits_double_and_are_never_shorter_than_asked():
    """Without a word from the endpoint waits double up to a bound; with one they are that long and a little more."""
    pauses = Pauses(0.5, Random(1))

    waits = [pauses.after(attempt, None) for attempt in (1, 2, 3, 12)]

    assert [0.5 <= waits[0] <= 0.55, 1.0 <= waits[1] <= 1.1, 2.0 <= waits[2] <= 2.2, 20.0 <= waits[3] <= 22.0] == [
        True
    ] * 4
    assert 3.0 <= pauses.after(1, 3.0) <= 3.3


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0.5", "retry-after-ms": "1500"}, 1.5),
        ({"retry-after": "Tue, 01 Dec 2026 00:00:30 GMT"}, 30.0),
        ({"retry-after": "Mon, 30 Nov 2026 23:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_a_wait_is_read_in_each_of_its_forms(headers: dict[str, str], seconds: float | None):
    """Seconds, milliseconds or a date; anything else is no wait."""
    assert retry_after(headers, datetime(2026, 12, 1, tzinfo=UTC)) == seconds
