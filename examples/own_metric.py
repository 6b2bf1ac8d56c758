"""Add metrics of your own beside ragtrace's: one function each, plain or async.

Passed in here; an installed package registers them instead, under the entry point group `ragtrace.metrics`, and
`ragtrace score` and `ragtrace judge` then compute them too.
"""

from ragtrace.model import RagCall, Score, Unscored, Verdicts
from ragtrace.scorer import judge_calls


def says_where(call: RagCall, verdicts: Verdicts | None) -> Score | Unscored:
    """Return 1 if the answer names the passage of the handbook that it rests on."""
    return Score(name="says_where", value=float("§" in call.answer), comment="Looks for a § sign.")


async def unsupported_words(call: RagCall, verdicts: Verdicts | None) -> Score | Unscored:
    """Return the share of the answer's words that stand in sentences which no passage supports."""
    if verdicts is None:
        return Unscored(name="unsupported_words", reason="no_contexts")
    words = {s.sentence.number: len(s.sentence.text.split()) for s in verdicts.answer}
    loose = sum(words[s.sentence.number] for s in verdicts.answer if any(c.verdict != "supported" for c in s.claims))
    return Score(name="unsupported_words", value=loose / sum(words.values()))


def too_clever(call: RagCall, verdicts: Verdicts | None) -> Score | Unscored:
    """Fail: the others are computed all the same, and this one has a reason instead of a number."""
    raise KeyError("tone")


row = {
    "question": "How long is the notice period?",
    "contexts": ["§ 4: The notice period is three months to the end of a quarter."],
    "answer": "The notice period is three months (§ 4). Lunch is free on Fridays.",
}
own = {"says_where": says_where, "unsupported_words": unsupported_words, "too_clever": too_clever}

for output in judge_calls([row], metric_names=["faithfulness"], own_metrics=own):
    for name, score in output["scores"].items():
        print(name, score["value"] if score["value"] is not None else f"unscored: {score['reason']}")
