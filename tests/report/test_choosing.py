"""The calls that people ask for."""

from dataclasses import replace

import pytest

from ragtrace.report.choosing import Choice, choices_of
from ragtrace.report.content import Choices
from ragtrace.report.outcome import Outcome
from tests.report.samples import clear, contradicted, refused, unseen
from tests.report.windows import window_of

SAMPLES = (contradicted(), clear(), refused(), unseen())
RECORDS = [each.record for each in SAMPLES]


@pytest.mark.parametrize(
    ("choice", "taken"),
    [
        (Choice(), ["o1", "o2", "o3", "o4"]),
        (Choice(metric="faithfulness"), ["o1", "o2"]),
        (Choice(outcome="scored"), ["o1", "o2", "o3"]),
        (Choice(outcome="not_scored"), ["o4"]),
        (Choice(tag="none"), []),
    ],
)
def test_calls_are_chosen(choice, taken):
    """Metric, outcome and tag each narrow the calls down; nothing asked for takes all."""
    assert [r.observation_id for r in RECORDS if choice.takes(r)] == taken


@pytest.mark.parametrize(
    ("words", "held"),
    [("WARRANTY", [1, 2, 3, 4]), ("90 months", [1]), ("ｌａｂｅｌｓ", [1]), ("保修", [3]), ("nowhere", [])],
)
def test_search_looks_into_question_answer_and_passages(words, held):
    """Case and width do not matter."""
    assert [n for n, each in enumerate(SAMPLES, start=1) if Choice(search=words).holds(each.call)] == held


def test_worst_are_those_in_the_metric():
    """A metric that was asked for gives the order: lowest first, or highest where lower is better."""
    lies = window_of([0.1, 0.9, 0.5], name="contradiction_rate")
    truths = window_of([0.9, 0.1, 0.5])

    assert [r.observation_id for r in Choice(metric="contradiction_rate").worst(lies, 2)] == ["o1", "o2"]
    assert [r.observation_id for r in Choice(metric="faithfulness").worst(truths, 3)] == ["o1", "o2", "o0"]
    assert [r.observation_id for r in Choice().worst(RECORDS, 1)] == ["o1"]


def test_choices_are_those_of_the_window():
    """The form offers what occurs."""
    tagged = window_of([1.0], labels={"tag": ("b", "a")})
    (delivered,) = window_of([1.0], name="context_delivery")
    masked = replace(delivered, outcome=Outcome(value="masked"))

    assert choices_of([*tagged, masked, unseen().record]) == Choices(
        metrics=("context_delivery", "faithfulness"), outcomes=("masked", "not_scored", "scored"), tags=("a", "b")
    )
    assert bool(Choice()) is False
    assert bool(Choice(tag="a")) is True
