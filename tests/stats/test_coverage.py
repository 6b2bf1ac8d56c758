"""Whether intervals hold the truth as often as they say, in worlds whose truth is known."""

import math

import pytest

from tests.stats.simulate import WORLDS, World, cover

ENOUGH = 0.935
"""Least share of 95 % intervals that must hold the truth."""


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_intervals_hold_the_truth(world: World):
    """In 200 draws an interval holds the truth about as often as it says, less three standard errors of the count."""
    found = cover(world, runs=200)

    slack = 3 * math.sqrt(ENOUGH * (1 - ENOUGH) / 200)
    assert ENOUGH - slack <= found.share


@pytest.mark.soak
@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_intervals_hold_the_truth_in_many_draws(world: World, capsys: pytest.CaptureFixture[str]):
    """In 2,000 draws at least 93.5 % hold it, and those that can be exact hold it no more than 96.5 %."""
    found = cover(world, runs=2000, compared=50)

    with capsys.disabled():
        beside = "" if found.other_width is None else f", other's {found.other_width:.4f}"
        print(  # noqa: T201 - `make soak` shows it
            f"\n{world.name}: covers {found.share:.2%}, width {found.width:.4f}{beside}, refused {found.refused}"
        )
    assert ENOUGH <= found.share <= world.most
