"""How background work gives way to the program."""

import pytest

from ragtrace.capture.pace import begin, give_way, hurry

MOMENT, PAUSE = 50e-6, 0.01


class Clock:
    """A clock that sleeps move on; the interpreter comes back late as often as it is told."""

    def __init__(self, *, late: int) -> None:
        self.now, self.sleeps, self._late = 100.0, list[float](), late

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.now += seconds
        if seconds == MOMENT and self._late > 0:
            self.now += 0.004
            self._late -= 1


@pytest.mark.parametrize(("late", "pauses"), [(0, 0), (1, 1), (3, 3)], ids=["idle", "busy", "busy for longer"])
def test_a_busy_program_is_left_alone(late: int, pauses: int):
    """Work waits until the interpreter is free."""
    clock = Clock(late=late)
    begin(clock=clock)
    give_way(clock=clock, sleep=clock.sleep)

    assert clock.sleeps == [*([MOMENT, PAUSE] * pauses), MOMENT]


def test_a_full_queue_is_worked_off_at_once():
    """With much waiting, work gives way no more, until the next portion."""
    clock = Clock(late=0)
    begin(clock=clock)
    hurry()
    give_way(clock=clock, sleep=clock.sleep)
    begin(clock=clock)
    give_way(clock=clock, sleep=clock.sleep)

    assert clock.sleeps == [MOMENT]


def test_a_program_that_stays_busy_is_waited_for_one_second():
    """Then the work goes on beside it."""
    clock = Clock(late=1000)
    begin(clock=clock)
    give_way(clock=clock, sleep=clock.sleep)

    assert 101.0 <= clock.now < 101.1
