"""Bounds that hold at every moment."""

import itertools

import numpy as np
import pytest

from ragtrace import stats
from ragtrace.stats.sequences import strict_sequence, weighted_sequence

RATE = 0.12
VALUES = (np.random.default_rng(7).random(800) < RATE).astype(float).tolist()


def test_strict_bounds_only_tighten():
    """Each bound is at least as tight as any before it, and holds the truth throughout."""
    sequence = strict_sequence(VALUES)

    assert [bounds.n for bounds in sequence] == list(range(1, 801))
    assert all(new.low >= old.low and new.high <= old.high for old, new in itertools.pairwise(sequence))
    assert sequence[-1].low <= RATE <= sequence[-1].high < 0.2


def test_strict_bounds_are_for_shares():
    """A grade would break the guarantee."""
    with pytest.raises(ValueError, match=r"value 3\.0: expected a number from 0 to 1"):
        strict_sequence([3.0])


def test_weighted_bounds_follow_the_weighted_mean():
    """They start at the hundredth effective call, around Hájek's mean, wider than an interval for one look."""
    probabilities = [1.0, 0.5] * 400

    sequence = weighted_sequence(VALUES, probabilities)

    once = stats.mean(VALUES, probabilities)
    last = sequence[-1]
    assert (sequence[0].n, last.n, last.value) == (112, 800, pytest.approx(once.value))
    assert once.low
    assert once.high
    assert 1.3 < (last.high - last.low) / (once.high - once.low) < 2


def test_few_weighted_calls_have_no_bounds_yet():
    """Before the hundredth effective call nothing is promised."""
    assert weighted_sequence(VALUES[:99], [1.0] * 99) == ()
