"""Delivery, sufficiency, relevancy, grades and the outcome mark."""

from dataclasses import replace

import pytest

from ragtrace.metrics import MetricOptions, compute, needs_judge
from ragtrace.metrics.comments import shorten
from ragtrace.metrics.delivery import context_delivery
from ragtrace.model import Grades, Need, PassageDelivery, RagCall, Relevancy, Score, Unscored
from tests.build import absent, call, claim, delivery, head, passage, received, sentence, verdicts, whole

OPTIONS = MetricOptions()


def test_delivery_weighs_passages_by_their_letters():
    """One passage whole, one cut in half, one dropped: half of the letters arrived."""
    asked = call(delivery=delivery(whole("abcd"), head("abcdefgh", 4, rank=1), absent("abcd", rank=2)))

    assert context_delivery(asked, None, OPTIONS) == Score(
        name="context_delivery",
        value=0.5,
        comment="1 passages whole, 1 cut, 1 dropped.",
        metadata={"passages": 3, "full": 1, "partial": 1, "absent": 1, "retrieved_letters": 16},
    )


def test_a_rewritten_passage_has_no_share_to_count():
    """A summary of a passage in the prompt leaves delivery unscored, not zero."""
    rewritten = PassageDelivery(passage=passage("abcd"), status="transformed")

    result = context_delivery(call(delivery=delivery(rewritten, whole("x", rank=1))), None, OPTIONS)

    assert result == Unscored(
        name="context_delivery", reason="incomplete_capture", detail="a passage was rewritten on its way"
    )


def test_a_capped_record_has_no_share_to_count():
    """A record cut to its size cap has lost its withheld text first; what is left would look better than it was."""
    capped = call(delivery=delivery(whole("abcd"), absent("", rank=1)), marks=("capped",))

    assert context_delivery(capped, None, OPTIONS) == Unscored(
        name="context_delivery", reason="incomplete_capture", detail="the record was cut to its size cap"
    )


def test_an_unreadable_record_is_incomplete():
    """A record that cannot be read was captured, and not whole; its passages do not count as never known."""
    unreadable = replace(call(), delivery=None, marks=("unreadable",))

    results = compute(unreadable, None, names=("faithfulness", "context_delivery"))

    assert {r.reason for r in results if isinstance(r, Unscored)} == {"incomplete_capture"}
    assert results[-1].value == "incomplete_capture"


def test_undetermined_passages_are_incomplete():
    """A call whose passages were never placed is not judged."""
    unplaced = PassageDelivery(passage=passage("abcd"), status="undetermined")

    results = compute(call(delivery=delivery(unplaced), reference="R."), None)

    assert {r.reason for r in results if isinstance(r, Unscored)} == {"incomplete_capture"}


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (call(delivery=received("a")), True),
        (call(answer=" ", delivery=received("a")), False),
        (call(answer=" ", delivery=received("a"), reference="R."), True),
        (call(delivery=delivery(absent("a"))), False),
        (call(delivery=delivery(absent("a")), reference="R."), True),
        (call(delivery=received(" "), reference="R."), False),
        (call(delivery=None, reference="R."), False),
    ],
)
def test_the_judge_is_asked_only_where_it_could_say_something(asked: RagCall, expected: bool):
    """No judge call without text to judge against or a text to judge."""
    assert needs_judge(asked) is expected


def test_metrics_without_verdicts_need_no_judge():
    """Delivery alone costs nothing."""
    assert needs_judge(call(delivery=received("a")), names=["context_delivery"]) is False


def test_sufficiency_is_the_share_of_needs_met():
    """One of two needs met; the comment names the other."""
    found = replace(verdicts(), needs=(Need(text="the fee", met=True), Need(text="the deadline", met=False)))

    result = compute(call(delivery=received("a")), found, names=["sufficiency"])[0]

    assert result == Score(
        name="sufficiency",
        value=0.5,
        comment="1 of 2 needs met. Missing: the deadline",
        metadata={"needs": 2, "met": 1},
    )


@pytest.mark.parametrize(
    ("relevancy", "expected"),
    [
        (Relevancy(questions=("q1", "q2"), cosines=(0.8, 0.6)), 0.7),
        (Relevancy(questions=("q1",), cosines=(0.9,), noncommittal=True), 0.0),
        (Relevancy(questions=("q1",), cosines=(-0.2,)), 0.0),
    ],
)
def test_relevancy_is_the_mean_cosine_and_zero_when_noncommittal(relevancy: Relevancy, expected: float):
    """Cosines are averaged, a negative mean is 0, an evasive answer is 0."""
    result = compute(call(), replace(verdicts(), relevancy=relevancy), names=["answer_relevancy"])[0]

    assert isinstance(result, Score)
    assert result.value == pytest.approx(expected)


def test_grades_are_passed_on_with_their_reason():
    """Four grades of the judge become four scores."""
    grades = Grades(correctness=4, completeness=3, relevance=5, overall=4, reason="misses the date")
    names = ["grade_correctness", "grade_completeness", "grade_relevance", "grade_overall"]

    results = compute(call(), replace(verdicts(), grades=grades), names=names)

    assert [(r.value, r.comment) for r in results[:4] if isinstance(r, Score)] == [
        (4, "misses the date"),
        (3, "misses the date"),
        (5, "misses the date"),
        (4, "misses the date"),
    ]


@pytest.mark.parametrize(
    ("name", "asked", "expected"),
    [
        ("sufficiency", call(delivery=received("a")), "no_claims"),
        ("sufficiency", call(delivery=None), "contexts_unknown"),
        ("answer_relevancy", call(), "no_embeddings"),
        ("answer_relevancy", call(answer=""), "no_answer"),
        ("grade_overall", call(), "judge_reply_invalid"),
        ("grade_overall", call(answer=""), "no_answer"),
    ],
)
def test_what_the_judge_did_not_give_is_unscored(name: str, asked: RagCall, expected: str):
    """Each missing part has its reason."""
    result = compute(asked, verdicts(), names=[name])[0]

    assert isinstance(result, Unscored)
    assert result.reason == expected


@pytest.mark.parametrize("name", ["sufficiency", "answer_relevancy", "grade_overall", "context_recall", "faithfulness"])
def test_an_abstaining_judge_is_passed_on(name: str):
    """A judge that cannot read the language leaves every metric unscored with that reason."""
    abstained = replace(verdicts(), abstained="language_mismatch")

    result = compute(call(delivery=received("a"), reference="R."), abstained, names=[name])[0]

    assert result == Unscored(name=name, reason="language_mismatch", detail="the judge abstained")


def test_the_outcome_names_the_reasons_of_what_is_missing():
    """One judged number makes a call scored; the reasons of the others stand beside it."""
    outcome = compute(call(delivery=received("a")), verdicts([sentence(claim())]))[-1]

    assert outcome == Score(
        name="rag_outcome",
        value="scored",
        data_type="CATEGORICAL",
        metadata={"unscored": {"context_recall": "no_reference", "retrieval_recall": "no_reference"}},
    )


def test_comments_are_short_and_on_one_line():
    """White space is folded and a long comment ends in an ellipsis at 500 characters."""
    assert shorten("a\n  b") == "a b"
    assert shorten("x" * 600) == "x" * 499 + "…"
