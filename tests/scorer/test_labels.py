"""Labels of rows and of production calls reach the rank metrics and the metrics by id and text."""

import json
from dataclasses import replace

from ragtrace.extract import ObservationRow, read_rag_call
from ragtrace.metrics import compute, needs_judge
from ragtrace.model import Score, Unscored
from ragtrace.scorer import ajudge_calls
from ragtrace.settings import load_settings
from tests.build import STARTED_AT, call, received

NAMES = ("hit_at_k", "mrr", "ndcg_at_k", "id_context_recall", "id_context_precision", "string_context_recall")
CONTEXTS = [{"text": "It is red.", "id": "d1"}, {"text": "It is blue.", "id": "d2"}]


async def test_rows_carry_labels():
    """`relevant_ids` and `reference_contexts` of a row are all that ranks need: no judge, no answer."""
    row = {
        "question": "Which colour?",
        "contexts": CONTEXTS,
        "relevant_ids": ["d2", "d9"],
        "reference_contexts": ["It is blue.", "Nothing like it at all."],
    }

    [output] = await ajudge_calls([row], settings=load_settings({}), metric_names=NAMES)

    assert output["judge"] is None
    assert {name: round(score["value"], 4) for name, score in output["scores"].items() if name in NAMES} == {
        "hit_at_k": 1.0,
        "mrr": 0.5,
        "ndcg_at_k": 0.3869,
        "id_context_recall": 0.5,
        "id_context_precision": 0.5,
        "string_context_recall": 0.5,
    }


def test_production_calls_carry_labels():
    """`ragtrace_relevant_ids` of a run stands on the rag-call as `relevant_ids`, and ranks are taken from it."""
    content = {
        "question": "Which colour?",
        "passages": [
            {"id": p["id"], "rank": n, "text": p["text"], "received": "full", "coverage": 1.0}
            for n, p in enumerate(CONTEXTS)
        ],
        "relevant_ids": ["d2"],
    }
    row = ObservationRow(
        id="o", trace_id="t", name="rag-call", type="CHAIN", start_time=STARTED_AT, input=json.dumps(content)
    )

    results = compute(read_rag_call(row), None, names=["mrr", "id_context_recall"])

    assert [(r.name, r.value, r.metadata) for r in results[:2] if isinstance(r, Score)] == [
        ("mrr", 0.5, {"labels": "ids", "passages": 2}),
        ("id_context_recall", 1.0, {"relevant": 1, "received": 2, "both": 1}),
    ]


def test_the_judge_is_asked_for_ranks_only_without_labels():
    """Labels save the judge's call; without any, ranks wait for a judge that is down."""
    asked = call(delivery=received("a", "b"))
    labelled = replace(asked, relevant_ids=("d1",))

    assert [needs_judge(c, names=["mrr"]) for c in (asked, labelled)] == [True, False]
    assert needs_judge(labelled, names=["mrr", "faithfulness"])
    assert compute(asked, Unscored(name="rag_outcome", reason="judge_unavailable"), names=["mrr"]) == (
        Unscored(name="mrr", reason="judge_unavailable"),
        Unscored(name="rag_outcome", reason="judge_unavailable"),
    )
