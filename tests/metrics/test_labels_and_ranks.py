"""Metrics that stand on labels: by text, by id, by rank."""

from dataclasses import replace

import pytest

from ragtrace.errors import ConfigError
from ragtrace.metrics import MetricOptions, compute
from ragtrace.metrics.labels import id_context_precision, id_context_recall, string_context_recall
from ragtrace.metrics.precision import average_precision, context_precision
from ragtrace.metrics.ranks import hit, hit_at_k, mrr, ndcg, ndcg_at_k, reciprocal_rank
from ragtrace.model import Delivery, RagCall, Score, Unscored
from tests.build import absent, call, claim, delivery, received, sentence, verdicts, whole

OPTIONS = MetricOptions()


def value(result: Score | Unscored) -> float | str:
    assert isinstance(result, Score), result
    return result.value


@pytest.mark.parametrize(
    ("references", "expected"),
    [
        (
            (
                "Paris is the capital of France.",
                "The Eiffel Tower is one of the most famous landmarks in Paris.",
            ),
            0.5,
        ),
        (
            (
                "Paris is the capital of France",
                "The Eiffel Tower is one of the most famous landmarks in Paris.",
                "東京は日本の首都です。",
                "アメリカはメキシコと接しています。",
                "苑田です。",
            ),
            0.2,
        ),
    ],
)
def test_string_recall_matches_its_published_example(references: tuple[str, ...], expected: float):
    """The share of reference passages that some received passage resembles, in any script."""
    asked = call(delivery=received("Paris is the capital of France."), reference_passages=references)

    assert value(string_context_recall(asked, None, OPTIONS)) == expected


def test_id_metrics_compare_received_ids_with_relevant_ones():
    """Two of three relevant ids received, among four: recall 2/3, precision 1/2; a dropped one does not count."""
    passages = delivery(*(whole(t, rank=i, id=t) for i, t in enumerate("abcd")), absent("e", rank=4, id="e"))
    asked = call(delivery=passages, relevant_ids=("a", "c", "e"))

    assert value(id_context_recall(asked, None, OPTIONS)) == pytest.approx(2 / 3)
    assert value(id_context_precision(asked, None, OPTIONS)) == 0.5


def test_nothing_received_is_a_recall_of_zero_by_label():
    """With labels and no passages recall is 0, and precision has nothing to divide by."""
    asked = call(delivery=delivery(), relevant_ids=("a",), reference_passages=("text",))

    assert value(id_context_recall(asked, None, OPTIONS)) == 0.0
    assert value(string_context_recall(asked, None, OPTIONS)) == 0.0
    assert id_context_precision(asked, None, OPTIONS) == Unscored(name="id_context_precision", reason="no_contexts")


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (call(delivery=received("a")), "no_labels"),
        (call(delivery=delivery(whole("a")), relevant_ids=("x",)), "no_labels"),
        (call(delivery=None, relevant_ids=("x",)), "contexts_unknown"),
    ],
)
def test_ids_without_ground_are_unscored(asked: RagCall, expected: str):
    """No labels, passages without ids, and unknown passages each have their reason."""
    result = id_context_recall(asked, None, OPTIONS)

    assert isinstance(result, Unscored)
    assert result.reason == expected


def test_rank_formulas_match_their_published_examples():
    """First relevant ranks 1, 3, 7, none, 2: hit@5 0.6, MRR 0.3952; relevances 1 0 1 0 0: NDCG@5 0.9197."""
    rankings = [[float(rank == first) for rank in range(1, 11)] for first in (1, 3, 7, 0, 2)]

    assert sum(hit(r, 5) for r in rankings) / 5 == 0.6
    assert round(sum(map(reciprocal_rank, rankings)) / 5, 4) == 0.3952
    assert round(ndcg([1, 0, 1, 0, 0], 5), 4) == 0.9197


def test_a_ranking_without_relevant_items_scores_zero():
    """No relevant item: every rank metric is 0, and average precision too."""
    assert (hit([0, 0], 5), reciprocal_rank([]), ndcg([0, 0], 5), average_precision([False])) == (0.0, 0.0, 0.0, 0.0)


def test_average_precision_rewards_early_hits():
    """Hits at ranks 1 and 3 give (1/1 + 2/3) / 2."""
    assert average_precision([True, False, True]) == pytest.approx((1 + 2 / 3) / 2)


def _ranked(**labels: tuple[str, ...]) -> RagCall:
    passages = delivery(
        whole("Something else.", id="a"), whole("beta text", rank=1, id="b"), whole("beta", rank=2, id="b")
    )
    return call(delivery=passages, **labels)  # type: ignore[arg-type]


def test_ranks_take_ids_first_then_passages_then_the_judge():
    """The source of the labels is said in the metadata; a document twice counts once."""
    judged = verdicts([sentence(claim(evidence=(0,)))], useful=(0,))

    by_id = ndcg_at_k(_ranked(relevant_ids=("b",)), None, OPTIONS)
    by_text = mrr(_ranked(reference_passages=("beta text",)), None, OPTIONS)
    by_judge = hit_at_k(_ranked(), judged, OPTIONS)

    assert by_id == Score(
        name="ndcg_at_k",
        value=pytest.approx(0.6309, abs=1e-4),
        comment="First relevant passage at rank 2 of 3; labels from ids.",
        metadata={"k": 5, "labels": "ids", "passages": 3},
    )
    assert value(by_text) == 0.5
    assert by_judge == Score(
        name="hit_at_k",
        value=1.0,
        comment="First relevant passage at rank 1 of 3; labels from the judge's evidence.",
        metadata={"k": 5, "labels": "judge", "passages": 3},
    )


def test_ranks_without_labels_or_judge_are_unscored():
    """Nothing to label with is `no_labels`; unknown passages are `contexts_unknown`."""
    without = hit_at_k(_ranked(), None, OPTIONS)
    unknown = mrr(call(delivery=None, relevant_ids=("a",)), None, OPTIONS)

    assert [r.reason for r in (without, unknown) if isinstance(r, Unscored)] == ["no_labels", "contexts_unknown"]


def test_precision_follows_the_prompt_not_the_retriever():
    """Average precision is over the order in which passages stood in the prompt."""
    passages: Delivery = delivery(whole("a"), whole("b", rank=1), absent("c", rank=2), order=(1, 0))
    judged = verdicts([sentence(claim(evidence=(0,)))], useful=(0,))

    result = context_precision(call(delivery=passages), judged, OPTIONS)

    assert result == Score(
        name="context_precision",
        value=0.5,
        comment="1 of 2 received passages are evidence on the answer.",
        metadata={"received": 2, "used": 1, "with_reference": False},
    )


def test_an_unknown_metric_is_named():
    """A misspelt metric is one clear error."""
    with pytest.raises(ConfigError, match=r"^metric 'faithfullness': unknown; expected one of faithfulness, "):
        compute(call(delivery=received("a")), None, names=["faithfullness"])


def test_precision_with_a_reference_asks_what_supports_the_reference():
    """The same passages and verdicts give one number for the reference and another for the answer alone."""
    judged = verdicts(
        [sentence(claim(evidence=(0,)), claim("contradicted", evidence=(1,)))],
        [sentence(claim(evidence=(1,)), claim("unsupported"))],
        useful=(0, 1),
    )
    passages = received("a", "b", "c")

    assert context_precision(call(delivery=passages, reference="R."), judged, OPTIONS) == Score(
        name="context_precision",
        value=0.5,
        comment="1 of 3 received passages are evidence on the reference.",
        metadata={"received": 3, "used": 1, "with_reference": True},
    )
    assert context_precision(call(delivery=passages), judged, OPTIONS) == Score(
        name="context_precision",
        value=1.0,
        comment="2 of 3 received passages are evidence on the answer.",
        metadata={"received": 3, "used": 2, "with_reference": False},
    )


def test_precision_with_a_reference_needs_no_answer_but_its_ground():
    """Rows without an answer are measured; missing passages, refusals and missing verdicts have their reasons."""
    asked = call(answer="", delivery=received("a"), reference="R.")
    judged = verdicts(reference=[sentence(claim(evidence=(0,)))])
    open_ = verdicts(reference=[sentence(claim("undecided"))])
    results = [
        context_precision(asked, judged, OPTIONS),
        context_precision(call(delivery=received(), reference="R."), judged, OPTIONS),
        context_precision(asked, replace(judged, refused=True), OPTIONS),
        context_precision(asked, open_, OPTIONS),
        context_precision(asked, None, OPTIONS),
    ]

    assert [r.value if isinstance(r, Score) else r.reason for r in results] == [
        1.0,
        "no_contexts",
        "refusal",
        "undecided",
        "judge_unavailable",
    ]


def test_the_judges_labels_skip_text_that_nobody_retrieved():
    """A stretch of the prompt that is no retrieved passage has no rank, and does not shift those behind it."""
    template = replace(whole("t"), passage=replace(whole("t").passage, source="prompt"))
    passages = delivery(template, whole("a", rank=1), whole("b", rank=2))
    judged = verdicts([sentence(claim(evidence=(2,)))], useful=(2,))

    assert value(mrr(call(delivery=passages), judged, OPTIONS)) == 0.5
