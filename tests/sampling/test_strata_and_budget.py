"""Rates for kinds of calls, and thresholds from a token budget."""

from datetime import UTC, datetime, timedelta

import pytest

from ragtrace.sampling.budget import SLOT, forecast, slot_of, threshold
from ragtrace.sampling.strata import CallFacts, Stratum, choose_stratum

SLOT_START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
FACTS = CallFacts(
    trace_name="chat",
    tags=("a", "b"),
    environment="prod",
    is_error=True,
    latency_seconds=3.0,
    delivery=0.5,
    answer_characters=400,
    marks=("indirect",),
)


@pytest.mark.parametrize(
    ("conditions", "holds"),
    [
        ({}, True),
        ({"trace_names": ("chat", "search")}, True),
        ({"trace_names": ("search",)}, False),
        ({"tags": ("b", "z")}, True),
        ({"tags": ("z",)}, False),
        ({"environments": ("prod",)}, True),
        ({"environments": ("dev",)}, False),
        ({"marks": ("indirect",)}, True),
        ({"marks": ("capped",)}, False),
        ({"is_error": True}, True),
        ({"is_error": False}, False),
        ({"latency_over_seconds": 2.0}, True),
        ({"latency_over_seconds": 3.0}, False),
        ({"delivery_below": 0.6}, True),
        ({"delivery_below": 0.5}, False),
        ({"answer_over_characters": 399}, True),
        ({"answer_over_characters": 400}, False),
        ({"answer_under_characters": 401}, True),
        ({"answer_under_characters": 400}, False),
        ({"tags": ("a",), "is_error": False}, False),
    ],
)
def test_a_stratum_is_every_condition(conditions, holds):
    """A call is of a kind when all conditions that are set hold."""
    assert Stratum(name="s", rate=1.0, **conditions).holds(FACTS) is holds


@pytest.mark.parametrize(
    "conditions", [{"latency_over_seconds": 0.0}, {"delivery_below": 1.0}, {"answer_over_characters": 0}]
)
def test_what_is_not_known_is_not_so(conditions):
    """A call of which nothing is known is of no kind that asks for something."""
    assert not Stratum(name="s", rate=1.0, **conditions).holds(CallFacts())


def test_the_highest_rate_counts():
    """A call of several kinds has the highest of their rates; one of none has none."""
    rare, often = Stratum(name="rare", rate=0.1, tags=("a",)), Stratum(name="often", rate=0.9, is_error=True)

    assert choose_stratum([rare, often], FACTS) is often
    assert choose_stratum([rare], CallFacts()) is None


def test_slots_are_five_minutes():
    """A moment is in the slot that starts at the last full five minutes."""
    moments = [SLOT_START, SLOT_START + timedelta(minutes=4, seconds=59), SLOT_START + SLOT]

    assert [slot_of(moment) for moment in moments] == [SLOT_START, SLOT_START, SLOT_START + SLOT]


def test_the_budget_thins_only_what_is_over_it():
    """A twelfth of the hour's tokens is a slot's; with twice as many expected, half of the calls are taken."""
    assert [threshold(12_000, expected) for expected in (0, 999, 1_000, 2_000)] == [1.0, 1.0, 1.0, 0.5]


def test_a_slot_that_is_not_over_is_forecast():
    """Early the slot before decides, later what was seen so far, grown to the whole slot."""

    def at(minutes: float, before: float | None = 800.0) -> float:
        return forecast(100.0, slot=SLOT_START, now=SLOT_START + timedelta(minutes=minutes), before=before)

    assert [at(0), at(2.5), at(5), at(9), at(2.5, None), at(0, None)] == [800.0, 500.0, 100.0, 100.0, 200.0, 100.0]
