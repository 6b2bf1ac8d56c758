"""Every example runs, unchanged, and what it says it does can be seen."""

import sys

from ragtrace.local.in_thread import LocalLangfuse
from tests.examples.environments import ROOT, run, variables
from tests.examples.stored import question_passages_answer, stored

EXAMPLES = ROOT / "examples"


def test_the_chain_delivers_what_its_budget_let_through(local_langfuse: LocalLangfuse):
    """The example prints its answer, and the rag-call is in Langfuse: the second passage without its order number."""
    answer, delivered = run([sys.executable, EXAMPLES / "langchain_chain.py"], variables(local_langfuse))
    (call,) = stored(local_langfuse)

    assert delivered == "delivered"
    assert question_passages_answer(call) == (
        "When is the seal replaced?",
        [
            ("The pump weighs 14 kg and draws 9 W.", "full"),
            ("The seal must be replaced every 24 months.", "partial"),
        ],
        answer,
    )


def test_four_lines_deliver_a_call(local_langfuse: LocalLangfuse):
    """Plain functions with the manual API: the prompt held the first passage and not the second."""
    answer, delivered = run([sys.executable, EXAMPLES / "manual_call.py"], variables(local_langfuse))
    (call,) = stored(local_langfuse)

    assert delivered == "delivered"
    assert question_passages_answer(call) == (
        "When does the gate open?",
        [("The gate opens at 06:00.", "full"), ("Dogs are allowed on a lead.", "absent")],
        answer,
    )


def test_judging_rows_prints_scores_and_reasons():
    """One row gets numbers; the row without passages gets reasons, not zeros."""
    lines = run([sys.executable, EXAMPLES / "judge_rows.py"])

    assert "context_delivery 1.0" in lines
    assert "faithfulness unscored: no_contexts" in lines


def test_own_metrics_stand_beside_ours():
    """A plain and an async metric have numbers; the one that raises has a reason and spoils nothing."""
    lines = run([sys.executable, EXAMPLES / "own_metric.py"])

    assert "says_where 1.0" in lines
    assert "too_clever unscored: metric_failed" in lines
    assert [line.split()[0] for line in lines] == [
        "faithfulness",
        "says_where",
        "unsupported_words",
        "too_clever",
        "rag_outcome",
    ]


def test_an_experiment_prints_means_with_intervals(local_langfuse: LocalLangfuse):
    """Twelve items run through Langfuse's SDK: each metric has a mean, and dogs that are forbidden lower it."""
    lines = run([sys.executable, EXAMPLES / "experiment.py"], variables(local_langfuse))

    assert [line.split()[:2] for line in lines] == [["faithfulness_mean", "0.50"], ["context_recall_mean", "1.00"]]
    assert all("95 % interval" in line and "12 items" in line for line in lines)
