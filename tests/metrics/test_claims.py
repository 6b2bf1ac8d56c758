"""Recalls, faithfulness, hallucination and contradiction rate."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtrace.metrics import MetricOptions, compute
from ragtrace.metrics.claims import (
    context_recall,
    contradiction_rate,
    faithfulness,
    hallucination_rate,
    retrieval_recall,
)
from ragtrace.model import Delivery, RagCall, Score, Unscored, Verdicts
from tests.build import absent, call, claim, delivery, head, received, sentence, verdicts

OPTIONS = MetricOptions()


def value(result: Score | Unscored) -> float | str:
    assert isinstance(result, Score), result
    return result.value


def reason(result: Score | Unscored) -> str:
    assert isinstance(result, Unscored), result
    return result.reason


def test_contradicted_claims_lower_faithfulness():
    """One contradicted claim in four leaves a faithfulness of 0.75 and a comment that names it."""
    found = verdicts(
        [
            sentence(claim(), claim(), text="A and B."),
            sentence(
                claim(), claim("contradicted", evidence=(1,), reason="it says 30"), text="C for 90 days.", number=2
            ),
        ]
    )

    result = faithfulness(call(delivery=received("a", "b")), found, OPTIONS)

    assert result == Score(
        name="faithfulness",
        value=0.75,
        comment="Contradicted: “C for 90 days.” by passage 2 (d1): “It is so.” — it says 30. 3 of 4 claims supported.",
        metadata={"claims": 4, "supported": 3, "unsupported": 0, "contradicted": 1, "undecided": 0},
    )


def test_hallucination_rate_counts_sentences_not_claims():
    """A sentence with one unsupported claim in three is one hallucinated sentence of two."""
    found = verdicts(
        [sentence(claim(), claim("unsupported"), claim(), number=1), sentence(claim(), number=2), sentence(number=3)]
    )

    rate = hallucination_rate(call(delivery=received("a")), found, OPTIONS)

    assert value(rate) == 0.5


def test_a_chinese_answer_with_one_invented_sentence_is_half_hallucinated():
    """The handbook example: five days are in the handbook, three extra days are not."""
    found = verdicts(
        [
            sentence(claim(), text="员工入职满一年后享有5天年假。"),
            sentence(claim("unsupported"), text="公司还提供额外3天福利假。", number=2),
        ]
    )
    asked = call(question="公司年假几天", delivery=received("公司考勤制度规定员工入职满一年后每年享有5天带薪年假。"))

    values = [value(m(asked, found, OPTIONS)) for m in (faithfulness, hallucination_rate, contradiction_rate)]

    assert values == [0.5, 0.5, 0.0]


def test_contradicted_and_unsupported_are_counted_apart():
    """Only a contradiction raises the contradiction rate; both raise the hallucination rate."""
    found = verdicts(
        [sentence(claim("contradicted")), sentence(claim("unsupported"), number=2), sentence(claim(), number=3)]
    )

    asked = call(delivery=received("a"))

    assert value(contradiction_rate(asked, found, OPTIONS)) == pytest.approx(1 / 3)
    assert value(hallucination_rate(asked, found, OPTIONS)) == pytest.approx(2 / 3)


def test_context_recall_counts_claims_of_one_sentence():
    """Four claims in one sentence, three of them held, are a recall of 0.75."""
    exercise = "Exercise improves cardiovascular health, strengthens muscles, reduces stress, and boosts mental health."
    found = verdicts(reference=[sentence(claim(), claim("unsupported"), claim(), claim(), text=exercise)])

    result = context_recall(
        call(delivery=received("heart", "stress", "endorphins"), reference=exercise), found, OPTIONS
    )

    assert value(result) == 0.75


def test_withheld_evidence_lifts_retrieval_recall_alone():
    """A claim that only cut text supports counts for retrieval_recall and for nothing else."""
    found = verdicts(
        answer=[sentence(claim("unsupported", withheld=(0,)))],
        reference=[sentence(claim("unsupported", withheld=(0,))), sentence(claim(), number=2)],
    )
    asked = call(delivery=delivery(head("received. withheld.", 9)), reference="Two claims.")

    assert value(context_recall(asked, found, OPTIONS)) == 0.5
    assert value(retrieval_recall(asked, found, OPTIONS)) == 1.0
    assert value(faithfulness(asked, found, OPTIONS)) == 0.0


@pytest.mark.parametrize(
    "blank",
    [delivery(), received(""), received("  \n"), received("\u200b"), received("---", "\ufeff"), delivery(absent(""))],
)
def test_blank_contexts_are_no_ground(blank: Delivery):
    """Without received text faithfulness is unscored, and recall is 0 where there is a reference."""
    asked = call(delivery=blank, reference="It was founded in 1987.")

    results = {r.name: r.reason if isinstance(r, Unscored) else r.value for r in compute(asked, None)}

    assert results == {
        "faithfulness": "no_contexts",
        "hallucination_rate": "no_contexts",
        "contradiction_rate": "no_contexts",
        "context_recall": 0.0,
        "retrieval_recall": 0.0,
        "context_precision": "no_contexts",
        "context_delivery": "no_contexts",
        "rag_outcome": "scored",
    }


def test_unknown_contexts_are_not_empty_contexts():
    """A call whose passages are unknown gets no number at all."""
    results = compute(call(delivery=None, reference="R."), None)

    assert {r.reason for r in results if isinstance(r, Unscored)} == {"contexts_unknown"}
    assert [(r.name, r.value) for r in results if isinstance(r, Score)] == [("rag_outcome", "contexts_unknown")]


def test_a_refusal_is_unscored_except_for_the_recalls():
    """ "I don't know" is neither faithful nor hallucinated; what retrieval found can still be measured."""
    found = verdicts(reference=[sentence(claim())], refused=True)

    results = compute(call(answer="I don't know.", delivery=received("a"), reference="R."), found)

    assert {r.name: r.reason if isinstance(r, Unscored) else r.value for r in results} == {
        "faithfulness": "refusal",
        "hallucination_rate": "refusal",
        "contradiction_rate": "refusal",
        "context_recall": 1.0,
        "retrieval_recall": 1.0,
        "context_precision": "refusal",
        "context_delivery": 1.0,
        "rag_outcome": "scored",
    }


def test_many_undecided_claims_leave_no_number():
    """Over a quarter of undecided claims is unscored; a quarter is not, and does not count."""
    asked = call(delivery=received("a"))
    half = verdicts([sentence(claim(), claim("undecided"))])
    quarter = verdicts([sentence(claim(), claim(), claim("unsupported"), claim("undecided"))])

    assert faithfulness(asked, half, OPTIONS) == Unscored(
        name="faithfulness", reason="undecided", detail="verdicts for 1 of 2 claims"
    )
    assert value(faithfulness(asked, quarter, OPTIONS)) == pytest.approx(2 / 3)


def test_a_judge_that_failed_leaves_its_reason():
    """Nothing judged gets a number when the judge was down, and the call keeps no mark."""
    down = Unscored(name="judge", reason="judge_unavailable", detail="503")

    results = compute(call(delivery=received("a"), reference="R."), down)

    assert {r.name: r.reason for r in results if isinstance(r, Unscored)} == {
        "faithfulness": "judge_unavailable",
        "hallucination_rate": "judge_unavailable",
        "contradiction_rate": "judge_unavailable",
        "context_recall": "judge_unavailable",
        "retrieval_recall": "judge_unavailable",
        "context_precision": "judge_unavailable",
        "rag_outcome": "judge_unavailable",
    }


@pytest.mark.parametrize(
    ("asked", "found", "expected"),
    [
        (call(answer=" ", delivery=received("a")), verdicts(), "no_answer"),
        (call(delivery=received("a")), verdicts([sentence()]), "no_claims"),
        (call(delivery=received("a"), marks=("masked",)), verdicts(), "masked"),
        (call(delivery=delivery(head("abc", 1)), marks=("capped",)), verdicts(), "incomplete_capture"),
        (call(delivery=received("a")), None, "judge_unavailable"),
    ],
)
def test_faithfulness_without_ground_says_why(asked: RagCall, found: Verdicts | None, expected: str):
    """Each missing ground has its own reason."""
    assert reason(faithfulness(asked, found, OPTIONS)) == expected


_VERDICTS = st.lists(st.sampled_from(["supported", "unsupported", "contradicted"]), min_size=1, max_size=12)


@given(st.lists(_VERDICTS, min_size=1, max_size=6), st.randoms())
def test_rates_are_shares_and_ignore_order(answer: list[list[str]], random):
    """Every rate lies in 0–1, does not depend on sentence order, and contradictions are hallucinations too."""
    judged = [sentence(*(claim(v) for v in claims), number=n) for n, claims in enumerate(answer, start=1)]  # type: ignore[arg-type]
    shuffled = random.sample(judged, len(judged))
    asked = call(delivery=received("a"))
    metrics = (faithfulness, hallucination_rate, contradiction_rate)

    values = [value(m(asked, verdicts(judged), OPTIONS)) for m in metrics]

    assert values == [value(m(asked, verdicts(shuffled), OPTIONS)) for m in metrics]
    assert all(0 <= float(v) <= 1 for v in values)
    assert float(values[2]) <= float(values[1])


def test_claims_without_a_verdict_go_to_review():
    """An undecided claim counts on neither side, and score and outcome say that a person has to look."""
    judged = verdicts([sentence(*[claim()] * 3, claim("undecided"))])

    [score, outcome] = compute(call(delivery=received("a")), judged, names=["faithfulness"])

    assert isinstance(score, Score)
    assert (score.value, score.metadata) == (
        1.0,
        {
            "claims": 4,
            "supported": 3,
            "unsupported": 0,
            "contradicted": 0,
            "undecided": 1,
            "needs_review": True,
        },
    )
    assert outcome == Score(
        name="rag_outcome", value="scored", data_type="CATEGORICAL", metadata={"unscored": {}, "needs_review": True}
    )
    assert compute(call(delivery=received("a")), verdicts([sentence(claim("undecided"))]), names=["faithfulness"])[
        -1
    ] == Score(
        name="rag_outcome",
        value="undecided",
        data_type="CATEGORICAL",
        metadata={"unscored": {"faithfulness": "undecided"}, "needs_review": True},
    )
