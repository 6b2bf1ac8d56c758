"""Weighted means, rates and differences."""

import math

import pytest
from scipy import stats as oracle

from ragtrace import stats
from ragtrace.stats import Estimate


def test_a_mean_weighs_calls_by_their_probability():
    """Ten calls with 1, judged for certain, and ten with 0, judged one in four, have a mean of 0.2."""
    found = stats.mean([1.0, 0.0] * 10, [1.0, 0.25] * 10)

    assert (found.value, found.n, found.quality) == (pytest.approx(0.2), 20, "low")
    assert found.effective_n == pytest.approx(50**2 / 170)


def test_few_calls_have_the_exact_interval():
    """With equal weights Korn and Graubard's interval is Clopper and Pearson's, here as scipy gives it."""
    found = stats.mean([1.0] * 4 + [0.0] * 26)

    exact = oracle.binomtest(4, 30).proportion_ci(method="exact")
    # One call is lost to the estimate of the variance.
    assert found == Estimate(
        value=pytest.approx(4 / 30),
        low=pytest.approx(exact.low, abs=0.002),
        high=pytest.approx(exact.high, abs=0.006),
        n=30,
        effective_n=30.0,
        quality="ok",
        method="korn-graubard",
    )


def test_many_calls_have_students_interval():
    """With enough calls on either side the interval is the mean and t standard errors, here as scipy gives it."""
    values = [1.0] * 60 + [0.25] * 80 + [0.0] * 60

    found = stats.mean(values)

    other = oracle.ttest_1samp(values, 0).confidence_interval()
    assert (found.method, found.low, found.high) == ("student-t", pytest.approx(other.low), pytest.approx(other.high))


def test_numbers_beyond_one_have_students_interval():
    """Grades are no shares, however few they are."""
    grades = [5.0, 4.0, 3.0] * 4

    found = stats.mean(grades)

    other = oracle.ttest_1samp(grades, 0).confidence_interval()
    assert (found.method, found.low, found.high) == ("student-t", pytest.approx(other.low), pytest.approx(other.high))


def test_answers_that_are_all_right_leave_room_for_a_wrong_one():
    """Thirty faithful answers of thirty say at least 88 %."""
    found = stats.mean([1.0] * 30)

    assert (found.value, found.low, found.high) == (1.0, pytest.approx(0.8843, abs=1e-4), 1.0)


def test_too_few_calls_have_no_number():
    """Nine calls, none at all, and a hundred of which one outweighs the rest are refused."""
    lonely = stats.mean([1.0] * 100, [0.001] + [1.0] * 99)

    assert stats.mean([0.5] * 9) == Estimate(
        value=None, low=None, high=None, n=9, effective_n=9.0, quality="none", method="refused"
    )
    assert stats.mean([]).effective_n == 0.0
    assert (lonely.value, lonely.n, lonely.quality) == (None, 100, "none")


def test_ten_equal_odd_weights_are_ten_calls():
    """Sums of weights such as 1 / 0.3 do not push ten calls below ten."""
    assert stats.mean([1.0, 0.0] * 5, [0.3] * 10).quality == "low"


def test_calls_of_one_trace_are_one_draw():
    """Forty calls of twenty traces, alike in each, say as much as twenty calls."""
    values = [1.0, 1.0] * 5 + [0.0, 0.0] * 15

    clustered = stats.mean(values, clusters=[number // 2 for number in range(40)])

    single = stats.mean(values[::2])
    assert (clustered.effective_n, clustered.value) == (20.0, single.value)
    assert (clustered.low, clustered.high) == pytest.approx((single.low, single.high), abs=0.01)


def test_a_rate_counts_sentences_and_takes_calls_for_draws():
    """One wrong sentence of two in each of 20 calls is a rate of a half; calls without sentences have no part in it."""
    found = stats.ratio([1] * 20 + [0], [2] * 20 + [0])

    assert (found.value, found.n, found.effective_n) == (0.5, 20, 20.0)


def test_a_rate_without_sentences_is_none():
    """Nothing over nothing is no rate."""
    assert stats.ratio([0, 0], [0, 0]).quality == "none"


def test_a_probability_of_nothing_is_a_mistake():
    """A call that could not be judged was not judged."""
    with pytest.raises(ValueError, match=r"inclusion probability 0.0: expected a number above 0"):
        stats.mean([1.0], [0.0])


def test_a_difference_keeps_the_asymmetry_of_its_parts():
    """The interval of a − b is put together from both: 0.9 − 0.5 can be less by more than it can be more."""
    a, b = stats.mean([1.0] * 18 + [0.0] * 2), stats.mean([1.0, 0.0] * 20)

    found = stats.difference(a, b)

    assert a.value
    assert a.low
    assert a.high
    assert b.value
    assert b.low
    assert b.high
    assert found == Estimate(
        value=pytest.approx(0.4),
        low=pytest.approx(0.4 - math.hypot(a.value - a.low, b.high - b.value)),
        high=pytest.approx(0.4 + math.hypot(a.high - a.value, b.value - b.low)),
        n=60,
        effective_n=20.0,
        quality="low",
        method="mover",
    )


def test_a_difference_to_no_number_is_no_number():
    """A window with too few calls cannot be compared."""
    found = stats.difference(stats.mean([1.0] * 50), stats.mean([1.0] * 5))

    assert (found.value, found.n, found.quality) == (None, 55, "none")


def test_pairs_that_differ_often_have_students_interval():
    """The mean change is tested as scipy tests it."""
    before, after = [0.0, 1.0, 0.5, 0.25] * 10, [0.5, 0.75, 1.0, 1.0] * 10

    found = stats.paired_difference(before, after)

    other = oracle.ttest_rel(after, before).confidence_interval()
    assert (found.value, found.method, found.n) == (pytest.approx(0.375), "student-t", 40)
    assert (found.low, found.high) == pytest.approx((other.low, other.high))


def test_pairs_that_never_differ_leave_room_for_a_change():
    """Fifty calls on which nothing changed say that at most 7 % of them get better or worse."""
    found = stats.paired_difference([1.0] * 50, [1.0] * 50)

    assert (found.value, found.n, found.method) == (0.0, 50, "mover")
    assert (found.low, found.high) == pytest.approx((-0.0711, 0.0711), abs=1e-4)


@pytest.mark.parametrize("value", [0.1, 1 / 3, 0.7, 0.9])
@pytest.mark.parametrize("count", [10, 12, 37, 200])
def test_equal_values_have_an_interval(value: float, count: int):
    """What rounding leaves of a variance that is none is none: the interval is that of as many draws."""
    for found in (stats.mean([value] * count), stats.ratio([value * 3] * count, [3] * count)):
        assert found.low is not None
        assert found.high is not None
        assert 0 < found.low < value + 1e-9 < found.high + 2e-9 < 1
