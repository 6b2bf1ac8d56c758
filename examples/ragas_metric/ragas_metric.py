"""Run a RAGAS metric through ragtrace's plug-in, on what the generator received rather than on what was retrieved.

Needs `pip install -r requirements.txt`; ragtrace itself does not depend on RAGAS. See README.md.
"""

from ragas import SingleTurnSample
from ragas.metrics import NonLLMContextRecall

from ragtrace.model import RagCall, Score, Unscored, Verdicts
from ragtrace.scorer import judge_calls

NAME = "ragas_non_llm_context_recall"
_metric = NonLLMContextRecall()


async def ragas_non_llm_context_recall(call: RagCall, verdicts: Verdicts | None) -> Score | Unscored:
    """Return RAGAS's own NonLLMContextRecall of the received texts."""
    received = [d.received_text for d in call.delivery.passages if d.received_text] if call.delivery else []
    if not (received and call.reference_passages):
        return Unscored(name=NAME, reason="no_labels" if received else "no_contexts")
    sample = SingleTurnSample(retrieved_contexts=received, reference_contexts=list(call.reference_passages))
    return Score(name=NAME, value=await _metric.single_turn_ascore(sample), comment="Computed by RAGAS.")


if __name__ == "__main__":
    row = {
        "question": "What is the capital of France?",
        "contexts": ["Paris is the capital of France."],
        "answer": "Paris is the capital of France.",
        "reference_contexts": [
            "Paris is the capital of France.",
            "The Eiffel Tower is one of the most famous landmarks in Paris.",
        ],
    }
    [output] = judge_calls(
        [row], metric_names=["string_context_recall"], own_metrics={NAME: ragas_non_llm_context_recall}
    )
    for name in ("string_context_recall", NAME):
        print(name, output["scores"][name]["value"])
