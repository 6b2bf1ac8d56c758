"""Run an experiment with Langfuse's SDK and ragtrace's metrics: a score an item and metric, a mean with its interval.

Set LANGFUSE_BASE_URL, LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY first, or run `ragtrace serve`.
"""

from langfuse import Langfuse

from ragtrace.scorer.experiments import item_evaluator, run_evaluator

HANDBOOK = ["The gate opens at 06:00 on workdays.", "Dogs are allowed on a lead."]


def answer(*, item: dict[str, str], **_: object) -> dict[str, object]:
    """Stands for your chain: return the answer and the passages that the model received."""
    opens = "gate" in item["input"]
    passage = HANDBOOK[0 if opens else 1]
    return {"answer": passage if opens else "Dogs are forbidden, and so are cats.", "contexts": [passage]}


items = [
    {"input": f"{question} ({number})", "expected_output": reference}
    for number in range(6)
    for question, reference in (("When does the gate open?", HANDBOOK[0]), ("May I bring a dog?", HANDBOOK[1]))
]

result = Langfuse().run_experiment(
    name="handbook",
    data=items,
    task=answer,
    evaluators=[item_evaluator(metric_names=["faithfulness", "context_recall"])],
    run_evaluators=[run_evaluator],
)

for mean in result.run_evaluations:
    print(mean.name, f"{mean.value:.2f}", mean.comment)
