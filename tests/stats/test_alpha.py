"""Krippendorff's alpha and its interval."""

import krippendorff
import pytest

from ragtrace.stats.alpha import Alpha, alpha_of_categories, alpha_of_numbers

ONE = [0.0, 0.25, 0.25, 0.5, 0.75, 1.0, 1.0, 1.0] * 3
OTHER = [0.25, 0.0, 0.5, 0.5, 0.5, 1.0, 0.75, 1.0] * 3
UNITS = [*zip(ONE, OTHER, strict=True), (0.5,)]
NAN = float("nan")


@pytest.mark.parametrize(("estimate", "level"), [(alpha_of_categories, "nominal"), (alpha_of_numbers, "interval")])
def test_alpha_has_the_value_of_an_independent_package(estimate, level):
    """The package `krippendorff` says the same; a unit with one rating has no part in it."""
    found = estimate(UNITS)

    value = krippendorff.alpha([[*ONE, 0.5], [*OTHER, NAN]], level_of_measurement=level)
    assert found is not None
    assert (found.value, found.units) == (pytest.approx(value), 24)
    assert found.low < found.value < found.high


def test_alpha_does_not_depend_on_the_scale():
    """Percent agree as shares do, the interval included."""
    percent = alpha_of_numbers([tuple(100 * rating for rating in unit) for unit in UNITS])

    found = alpha_of_numbers(UNITS)
    assert percent is not None
    assert found is not None
    assert (percent.value, percent.low, percent.high) == pytest.approx((found.value, found.low, found.high))


def test_full_agreement_of_few_is_no_proof():
    """Forty units without a disagreement leave room for one; the interval has a width."""
    found = alpha_of_categories([("a", "a"), ("b", "b")] * 20)

    assert found == Alpha(value=1.0, low=pytest.approx(0.826, abs=0.002), high=1.0, units=40)


def test_sentences_of_a_call_are_not_independent():
    """Four sentences a call that flip together have the interval of as many calls, not of as many sentences."""
    units = [pair for pair in [("a", "a"), ("b", "b"), ("a", "a"), ("b", "a"), ("b", "b")] * 12 for _ in range(4)]
    calls = [number // 4 for number in range(len(units))]

    clustered, apart = alpha_of_categories(units, calls), alpha_of_categories(units)

    assert clustered is not None
    assert apart is not None
    assert (clustered.value, clustered.units) == (pytest.approx(apart.value), 240)
    assert clustered.high - clustered.low > 1.7 * (apart.high - apart.low)


@pytest.mark.parametrize("estimate", [alpha_of_categories, alpha_of_numbers])
def test_alpha_is_open_where_nothing_could_disagree(estimate):
    """No rating, one a unit, one unit, or one value throughout leave nothing to compare."""
    nothing = ([], [(1.0,), (2.0,)], [(1.0, 2.0)], [(1.0, 1.0), (1.0, 1.0)])

    assert [estimate(units) for units in nothing] == [None] * 4


def test_a_rare_category_may_make_alpha_anything():
    """The one unit with another value decides alone: without it nothing was to be expected."""
    found = alpha_of_categories([("a", "a")] * 20 + [("a", "b")])

    assert found is not None
    assert (round(found.value, 3), found.low, found.high > 0.9) == (0.0, -1.0, True)
