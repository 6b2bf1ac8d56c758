"""Agreement between judges, runs and people."""

import math

import pytest

from ragtrace.stats.agreement import (
    auroc,
    balanced_accuracy,
    share_of_ties,
    spearman,
)

ONE = [0.0, 0.25, 0.25, 0.5, 0.75, 1.0, 1.0, 1.0]
OTHER = [0.25, 0.0, 0.5, 0.5, 0.5, 1.0, 0.75, 1.0]


def test_balanced_accuracy_weighs_both_kinds_alike():
    """Three of four true ones and one of two false ones found make 0.625."""
    predicted = [True, True, True, False, False, True]

    assert balanced_accuracy(predicted, [True, True, True, True, False, False]) == 0.625


def test_auroc_counts_ties_half():
    """A tie between a true and a false claim is half a success."""
    assert auroc([0.9, 0.5, 0.5, 0.1], [True, True, False, False]) == 0.875


def test_without_both_kinds_there_is_no_figure():
    """Labels that all say the same leave accuracy and area open."""
    assert (balanced_accuracy([True], [True]), auroc([0.3], [False]), auroc([0.3], [True])) == (None, None, None)


def test_spearman_has_the_value_that_scipy_gives():
    """Ties share their mean rank; the interval is Bonett and Wright's."""
    found = spearman(ONE, OTHER)

    assert found is not None
    error = math.sqrt((1 + found.rho**2 / 2) / 5)
    assert found.rho == pytest.approx(0.8987342)
    assert (found.low, found.high) == pytest.approx(
        (math.tanh(math.atanh(found.rho) - 1.959964 * error), math.tanh(math.atanh(found.rho) + 1.959964 * error))
    )
    assert (found.pairs, found.includes_zero, found.p < 0.05) == (8, False, True)


def test_the_same_ranks_correlate_fully():
    """Two equal runs have a correlation of 1 and an interval that ends there."""
    found = spearman([1.0, 2.0, 3.0, 4.0], [10.0, 20.0, 30.0, 40.0])

    assert found is not None
    assert (found.rho, round(found.high, 6)) == (pytest.approx(1.0), 1.0)


def test_few_pairs_leave_zero_in_the_interval():
    """With five pairs a moderate correlation may as well be none."""
    found = spearman([1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 1.0, 4.0, 3.0, 1.0])

    assert found is not None
    assert (found.includes_zero, found.p > 0.05) == (True, True)


def test_spearman_needs_four_pairs_that_differ():
    """Three pairs, or a run in which all is the same, have no rank correlation."""
    assert (spearman([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]), spearman([1.0] * 5, [1.0, 2.0, 3.0, 4.0, 5.0])) == (None, None)


def test_ties_are_the_rows_with_the_commonest_value():
    """Three of eight rows have a share of 1."""
    assert (share_of_ties(ONE), share_of_ties([])) == (0.375, 0.0)
