"""Every example runs, unchanged, and what it says it does can be seen."""

import sys

import pytest

from ragtrace.local.in_thread import LocalLangfuse
from tests.examples.environments import ROOT, run, variables
from tests.examples.stored import stored

EXAMPLES = ROOT / "examples"


@pytest.mark.parametrize("name", ["langchain_chain.py", "manual_call.py"])
def test_a_capturing_example_delivers_its_call(name: str, local_langfuse: LocalLangfuse):
    """The example prints its answer, and the rag-call with it is in Langfuse."""
    answer, delivered = run([sys.executable, EXAMPLES / name], variables(local_langfuse))

    assert delivered == "delivered"
    assert [call["output"] for call in stored(local_langfuse)] == [answer]


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
