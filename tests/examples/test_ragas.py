"""Another library's metric beside ours, in an environment that holds both."""

import pytest

from tests.examples.environments import ROOT, make_environment, run

FOLDER = ROOT / "examples" / "ragas_metric"


@pytest.mark.soak
@pytest.mark.environment
def test_a_ragas_metric_gives_the_number_of_ours():
    """RAGAS, run through the plug-in on the received texts, agrees with ragtrace's own arithmetic."""
    python = make_environment("ragas_metric", FOLDER / "requirements.txt")

    assert run([python, FOLDER / "ragas_metric.py"]) == [
        "string_context_recall 0.5",
        "ragas_non_llm_context_recall 0.5",
    ]
