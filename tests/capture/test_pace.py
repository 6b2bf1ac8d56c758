"""How background work gives way to the program."""

import pytest

from ragtrace.capture.pace import begin, give_way, hurry


@pytest.mark.parametrize(
    ("came_back_after", "begun_before", "slept"),
    [(0.0001, 0.0, [50e-6]), (0.004, 0.0, [50e-6, 0.016]), (0.5, 0.0, [50e-6, 0.02]), (0.004, 2.0, [50e-6])],
    ids=["idle", "busy", "very busy", "busy for long"],
)
def test_a_busy_program_is_left_alone(came_back_after: float, begun_before: float, slept: list[float]):
    """Work is put off for longer where others want the interpreter, but not for more than a second of a portion."""
    now, sleeps = [100.0], list[float]()

    def sleep(seconds: float) -> None:
        sleeps.append(seconds)
        now[0] += came_back_after

    begin(clock=lambda: now[0] - begun_before)
    give_way(clock=lambda: now[0], sleep=sleep)

    assert sleeps == pytest.approx(slept)


def test_a_full_queue_is_worked_off_at_once():
    """With much waiting nothing is put off, however busy the program is."""
    now, sleeps = [100.0], list[float]()

    def sleep(seconds: float) -> None:
        sleeps.append(seconds)
        now[0] += 0.004

    begin(clock=lambda: now[0])
    hurry()
    give_way(clock=lambda: now[0], sleep=sleep)

    assert sleeps == [50e-6]
