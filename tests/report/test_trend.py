"""A metric through time, and beside the window before."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from ragtrace.report.trend import changes, floor, step_for, trends, turning_point
from ragtrace.report.words import change
from tests.report.samples import STARTED_AT
from tests.report.windows import window_of

GOOD = [1.0, 0.9] * 20
BAD = [0.3, 0.2] * 20


def test_trend_has_a_point_an_hour():
    """Calls of three hours and a bit make four points, each with the calls of its hour."""
    (found,) = trends(window_of(GOOD))

    assert (found.name, found.step) == ("faithfulness", "hour")
    assert [(p.start.hour, p.estimate.n) for p in found.points] == [(12, 12), (13, 12), (14, 12), (15, 4)]
    assert found.points[0].estimate.value == pytest.approx(0.95)
    assert found.points[3].estimate.value is None


def test_trend_needs_two_stretches():
    """Nothing, or one hour, has no course."""
    assert (trends([]), trends(window_of([1.0, 0.5]))) == ((), ())


@pytest.mark.parametrize(
    ("span", "step", "start"),
    [
        (timedelta(days=1), "hour", datetime(2026, 3, 5, 14, tzinfo=UTC)),
        (timedelta(days=7), "day", datetime(2026, 3, 5, tzinfo=UTC)),
        (timedelta(days=365), "week", datetime(2026, 3, 2, tzinfo=UTC)),
    ],
)
def test_stretches_grow_with_the_window(span, step, start):
    """Days go by hour, months by day, years by week that begins on Monday."""
    assert step_for(span) == step
    assert floor(datetime(2026, 3, 5, 14, 35, tzinfo=UTC), step) == start


def test_change_says_since_when():
    """A drop that chance does not explain has the moment of the first worse call."""
    now = [replace(r, started_at=r.started_at + timedelta(hours=4)) for r in window_of([*GOOD[:10], *BAD])]
    (found,) = changes(window_of(GOOD), now)

    assert found.name == "faithfulness"
    assert found.since == now[10].started_at
    assert found.difference.value == pytest.approx(0.39 - 0.95)
    assert change(found).endswith("most likely since 1 Mar 2026, 16:50 UTC")


def test_small_differences_may_be_chance():
    """Where the interval of the difference holds 0 nothing is said to have changed."""
    (found,) = changes(window_of(GOOD), window_of(GOOD[1:]))

    assert found.since is None
    assert change(found).endswith(": may be chance")


def test_few_answers_are_not_compared():
    """Under ten answers there is no difference, and the words say so."""
    (found,) = changes(window_of(GOOD[:3]), window_of(GOOD))

    assert (found.since, change(found)) == (None, "too few answers to compare")


def test_other_judge_is_not_compared():
    """Numbers of two judges do not mix; without a window before there is nothing to compare."""
    assert changes(window_of(GOOD, judge="judge-2"), window_of(BAD)) == ()
    assert changes([], window_of(BAD)) == ()


def test_turning_point_needs_two_moments():
    """One call, or calls of one moment, have no before and after."""
    (one, two) = window_of([1.0, 0.0], apart=timedelta(0))

    assert (turning_point("faithfulness", [one]), turning_point("faithfulness", [one, two])) == (None, None)
    assert turning_point("faithfulness", window_of([1.0, 0.0])) == STARTED_AT + timedelta(minutes=5)
