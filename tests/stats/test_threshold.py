"""Placing a threshold by labels."""

import pytest

from ragtrace.errors import ConfigError
from ragtrace.stats.threshold import Threshold, place_threshold


def test_the_threshold_moves_to_where_the_labels_part():
    """Labels that part at 2 draw the threshold there, by 40 parts of 60."""
    values = [1.0] * 20 + [3.0] * 20

    assert place_threshold(values, [False] * 20 + [True] * 20) == Threshold(
        log_odds=1.3333, labels=40, balanced_accuracy=1.0, before=0.5
    )


def test_a_threshold_that_does_best_stays():
    """Where 0 parts the labels as well as any other place, nothing moves."""
    values = [-1.0] * 20 + [3.0] * 20

    assert place_threshold(values, [False] * 20 + [True] * 20).log_odds == 0.0


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([True, False] * 10, "20 labels: expected at least 30, better 60, to place a threshold"),
        ([True] * 40, "all labels say the same: a threshold needs both supported and unsupported claims"),
    ],
)
def test_too_few_or_equal_labels_place_nothing(labels, message):
    """The error says what is missing."""
    with pytest.raises(ConfigError) as caught:
        place_threshold([float(i) for i in range(len(labels))], labels)

    assert str(caught.value) == message
