"""What went wrong in a call, and what a window of calls advises."""

import pytest

from ragtrace.metrics.diagnosis import LAYERS, WORDS, Advice, Fault, advise, all_thresholds, diagnose, passes
from ragtrace.metrics.pooling import count_units
from ragtrace.model import JsonValue, Score, Unscored


def scores(**values: float) -> list[Score | Unscored]:
    return [Score(name=name, value=value) for name, value in values.items()]


@pytest.mark.parametrize(
    ("values", "faults"),
    [
        ({}, ()),
        ({"context_recall": 1.0, "retrieval_recall": 1.0, "faithfulness": 1.0, "context_precision": 1.0}, ()),
        ({"context_recall": 0.5, "retrieval_recall": 0.5}, ("retrieval_missed",)),
        ({"context_recall": 0.5, "retrieval_recall": 1.0}, ("delivery_lost",)),
        ({"context_recall": 0.0, "retrieval_recall": 0.5}, ("retrieval_missed", "delivery_lost")),
        ({"context_recall": 1.0, "context_precision": 0.2}, ("retrieval_ranked_low",)),
        ({"context_recall": 1.0, "faithfulness": 0.5}, ("unfaithful",)),
        ({"sufficiency": 1.0, "faithfulness": 0.5}, ("unfaithful",)),
        ({"context_recall": 0.2, "retrieval_recall": 0.2, "faithfulness": 0.5}, ("retrieval_missed", "hallucinated")),
        ({"faithfulness": 0.5, "contradiction_rate": 0.5}, ("contradicted", "hallucinated")),
        ({"retrieval_recall": 0.9, "context_recall": 0.9}, ("retrieval_missed",)),
        ({"hallucination_rate": 0.1, "faithfulness": 0.9}, ("hallucinated",)),
        ({"retrieval_recall": 0.0, "context_recall": 0.0, "sufficiency": 1.0}, ("reference_mismatch",)),
        ({"hit_at_k": 0.0, "mrr": 0.1}, ("retrieval_ranked_low",)),
        ({"hit_at_k": 0.0, "mrr": 0.0}, ()),
        ({"answer_relevancy": 0.3}, ("not_answered",)),
    ],
)
def test_each_layer_is_told_apart(values: dict[str, float], faults: tuple[Fault, ...]):
    """Retrieval, delivery and generation faults are named from their own metrics, never from an average."""
    assert diagnose(scores(**values)) == faults


def test_a_reference_that_does_not_fit_comes_first():
    """A mismatched reference is said before anything that rests on it."""
    assert diagnose([Unscored(name="context_recall", reason="reference_mismatch")]) == ("reference_mismatch",)


def test_a_needless_refusal_is_a_fault():
    """An answer that declines although part of the reference was received did not answer."""
    refusal = Unscored(name="faithfulness", reason="refusal")

    assert diagnose([*scores(context_recall=0.5, retrieval_recall=1.0), refusal]) == ("delivery_lost", "declined")
    assert diagnose([*scores(context_recall=0.0), refusal]) == ()


def test_pass_marks_may_be_the_users_own():
    """Marks of the settings replace the defaults, and stand beside them for a metric of the user's own."""
    marks = all_thresholds({"answer_relevancy": 0.2, "tone": 0.5, "act_below_recall": 0.4})

    assert diagnose(scores(answer_relevancy=0.3), marks) == ()
    assert (passes("tone", 0.4, marks), passes("faithfulness", 0.9, marks)) == (False, True)
    assert (advise({"context_recall": 0.5}, marks), len(advise({"context_recall": 0.5}))) == ((), 1)


@pytest.mark.parametrize(
    ("name", "metadata", "count"),
    [
        ("faithfulness", {"claims": 5, "undecided": 1}, 4),
        ("hallucination_rate", {"sentences": 3, "claims": 5, "undecided": 1}, 3),
        ("context_recall", {"claims": None}, None),
        ("sufficiency", {"needs": 2}, 2),
        ("faithfulness", {"claims": True}, None),
        ("faithfulness", {"claims": 5}, 5),
        ("mrr", {"passages": 5}, None),
    ],
)
def test_a_share_knows_how_many_it_counts(name: str, metadata: dict[str, JsonValue], count: int | None):
    """Undecided claims are in no denominator; what is no share of countable things has none."""
    assert count_units(name, metadata) == count


def test_every_fault_has_a_layer_and_words():
    """Nothing is diagnosed that cannot be explained."""
    assert set(LAYERS) == set(WORDS)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("faithfulness", 0.8, True),
        ("faithfulness", 0.79, False),
        ("hallucination_rate", 0.3, False),
        ("other", 1.0, None),
    ],
)
def test_pass_marks_know_their_direction(name: str, value: float, expected: bool | None):
    """A rate of faults passes below its mark, everything else above it."""
    assert passes(name, value) is expected


@pytest.mark.parametrize(
    ("means", "patterns"),
    [
        ({}, []),
        ({"context_recall": 0.5, "context_precision": 0.9}, ["recall 0.50 with precision 0.90"]),
        ({"context_recall": 0.5}, ["recall 0.50"]),
        ({"context_recall": 0.5, "context_precision": 0.1}, ["recall 0.50 with precision 0.10"]),
        ({"context_recall": 0.9, "context_precision": 0.3}, ["precision 0.30 at normal recall"]),
        ({"retrieval_recall": 0.9, "context_recall": 0.8}, ["delivery loss 0.10"]),
        (
            {"retrieval_recall": 0.9, "context_recall": 0.8, "context_delivery": 0.5},
            ["delivery loss 0.10, 50% of retrieved text received"],
        ),
        ({"faithfulness": 0.5, "answer_relevancy": 0.5}, ["faithfulness 0.50", "answer relevancy 0.50"]),
    ],
)
def test_advice_follows_the_pattern(means: dict[str, float], patterns: list[str]):
    """Each pattern of means has its advice."""
    assert [advice.pattern for advice in advise(means)] == patterns


def test_low_recall_at_high_precision_asks_for_more_passages_first():
    """The order of the steps is the advice: top_k, chunking, embeddings, reranker last."""
    assert advise({"context_recall": 0.5, "context_precision": 0.9}) == (
        Advice(
            layer="retrieval",
            pattern="recall 0.50 with precision 0.90",
            steps=(
                "raise top_k or lower the similarity floor",
                "change the chunking",
                "change the embeddings",
                "add a reranker",
            ),
        ),
    )
