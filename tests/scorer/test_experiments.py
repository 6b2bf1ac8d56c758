"""Our metrics inside experiments of the real SDK, against a real server on loopback."""

import httpx
import pytest
from langfuse import Langfuse
from langfuse.experiment import Evaluation, ExperimentItemResult

from ragtrace.errors import ConfigError
from ragtrace.scorer.experiments import item_evaluator, run_evaluator
from ragtrace.settings import load_settings

GATE = "The gate opens at 06:00 on workdays."
NAMES = ["faithfulness", "context_recall"]


async def values(*, input, output, expected_output=None) -> dict[str, object]:
    evaluate = item_evaluator(load_settings({}), metric_names=NAMES)
    found = await evaluate(input=input, output=output, expected_output=expected_output, metadata=None)
    return {evaluation["name"]: evaluation["value"] for evaluation in found}


@pytest.mark.parametrize(
    ("question", "output", "reference"),
    [
        ("When does the gate open?", {"answer": GATE, "contexts": [GATE]}, GATE),
        ({"question": "When does the gate open?"}, {"answer": GATE, "passages": [{"text": GATE}]}, {"answer": GATE}),
    ],
)
async def test_texts_and_objects_are_understood(question, output, reference):
    """Question and reference may be texts or objects, the passages texts or objects under either name."""
    found = await values(input=question, output=output, expected_output=reference)

    assert found == {"faithfulness": 1.0, "context_recall": 1.0, "rag_outcome": "scored"}


async def test_a_metric_without_a_number_yields_nothing_but_its_reason():
    """A task that returns a text alone says nothing of passages: no numbers, and the outcome says why."""
    evaluate = item_evaluator(load_settings({}), metric_names=NAMES)
    (outcome,) = await evaluate(input="When?", output="At six.", expected_output="At 06:00.", metadata={})

    assert (outcome["name"], outcome["metadata"]["unscored"]) == (
        "rag_outcome",
        dict.fromkeys(NAMES, "contexts_unknown"),
    )


async def test_an_output_that_is_no_row_is_an_error():
    """The SDK notes the error on the evaluator's span; nothing is guessed."""
    with pytest.raises(ConfigError, match="cannot be judged: `contexts`"):
        await values(input="When?", output={"answer": "At six.", "contexts": 3})


def result_of(*evaluations: Evaluation) -> ExperimentItemResult:
    return ExperimentItemResult(item={"input": "?"}, output="", evaluations=list(evaluations), trace_id=None)


def test_means_have_intervals_and_need_ten_items():
    """Ten items have a mean with an interval; nine have none, and categories and booleans never."""
    ten = [
        result_of(
            Evaluation(name="faithfulness", value=number % 2),
            Evaluation(name="rag_outcome", value="good"),
            Evaluation(name="is_polite", value=True),
        )
        for number in range(10)
    ]
    (mean,) = run_evaluator(item_results=ten)

    assert (mean["name"], mean["value"], mean["metadata"]["items"]) == ("faithfulness_mean", 0.5, 10)
    assert 0 <= mean["metadata"]["low"] < 0.5 < mean["metadata"]["high"] <= 1
    assert run_evaluator(item_results=ten[:9]) == []


def test_the_sdk_stores_scores_of_items_and_of_the_run(local_langfuse):
    """Each item has its scores on its observation, and the run its means."""
    client = Langfuse(
        base_url=local_langfuse.base_url, public_key=local_langfuse.public_key, secret_key=local_langfuse.secret_key
    )
    found = client.run_experiment(
        name="gate",
        data=[{"input": f"When does gate {number} open?", "expected_output": GATE} for number in range(10)],
        task=lambda *, item, **_: {"answer": GATE, "contexts": [GATE]},
        evaluators=[item_evaluator(load_settings({}), metric_names=NAMES)],
        run_evaluators=[run_evaluator],
    )
    client.shutdown()
    stored = httpx.get(
        f"{local_langfuse.base_url}/api/public/v3/scores?limit=100&fields=subject",
        auth=(local_langfuse.public_key, local_langfuse.secret_key),
    ).json()["data"]

    assert {e.name: e.value for e in found.run_evaluations} == {"faithfulness_mean": 1.0, "context_recall_mean": 1.0}
    assert sorted((score["subject"]["kind"], score["name"]) for score in stored) == sorted(
        [("observation", name) for name in (*NAMES, "rag_outcome")] * 10
        + [("experiment", f"{name}_mean") for name in NAMES]
    )
