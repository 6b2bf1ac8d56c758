"""What is written about a call."""

import json
from dataclasses import replace

import pytest

from ragtrace import __version__, metrics
from ragtrace.model import JudgeInfo, RagCall, Score, Unscored, Verdicts
from ragtrace.scorer.records import MARK_BYTES, CallScores, make_scores, score_id, worst_verdict
from ragtrace.scorer.selection import Draw
from tests.build import STARTED_AT, call, claim, received, sentence, verdicts


def written(call_: RagCall, found: Verdicts | None, results: list[Score | Unscored] | None = None) -> CallScores:
    if results is None:
        results = list(metrics.compute(call_, found))
    scores = make_scores(call_, results, verdicts=found, draw=Draw(probability=0.25, stratum=None))
    assert scores is not None
    return scores


def bodies(scores: CallScores) -> dict[str, dict]:
    return {b["name"]: b for b in (json.loads(s.body) for s in (*scores.scores, scores.mark))}


def test_a_score_says_what_it_is_about():
    """Each score has the call's ids and time, its type, its probability, its judge and the version that made it."""
    found = replace(
        verdicts([sentence(claim())]),
        judge=JudgeInfo(fingerprint="f1", model="m", calls=1, prompt_tokens=7, completion_tokens=3, cost=0.5),
    )
    one = Score(name="faithfulness", value=0.5, comment="c", metadata={"claims": 2})
    mark = Score(name="rag_outcome", value="scored", data_type="CATEGORICAL", metadata={"unscored": {}})

    body = bodies(written(replace(call(), environment="prod"), found, [one, mark]))["faithfulness"]

    assert body == {
        "id": score_id("0" * 31 + "1", "0" * 15 + "2", "faithfulness"),
        "traceId": "0" * 31 + "1",
        "observationId": "0" * 15 + "2",
        "name": "faithfulness",
        "value": 0.5,
        "dataType": "NUMERIC",
        "timestamp": "2026-03-01T12:00:00.000Z",
        "environment": "prod",
        "comment": "c",
        "metadata": {
            "claims": 2,
            "inclusion_probability": 0.25,
            "ragtrace": __version__,
            "judge": {
                "fingerprint": "f1",
                "model": "m",
                "calls": 1,
                "prompt_tokens": 7,
                "completion_tokens": 3,
                "cached": False,
                "cost": 0.5,
            },
        },
    }


def test_ids_do_not_change():
    """Trace, observation and name make the id, so that writing again replaces; nothing else does."""
    same = {score_id("t", "o", "n"), score_id("t", "o", "n")}
    others = {score_id("t", "on", ""), score_id("to", "", "n"), score_id("t", "o", "m"), score_id("\ud800", "o", "n")}

    assert len(same) == 1
    assert len(others) == 4
    assert same.isdisjoint(others)
    assert all(len(one) == 35 and one.startswith("rt-") for one in same | others)


def test_a_zero_is_a_number_and_a_missing_number_is_not():
    """0 is written as 0.0, a third as it is, and a metric without a number writes nothing at all."""
    results = [
        Score(name="faithfulness", value=0),
        Score(name="hallucination_rate", value=0.0),
        Score(name="context_recall", value=0.3333333333333333),
        Score(name="has_contexts", value=False, data_type="BOOLEAN"),
        Unscored(name="answer_relevancy", reason="no_embeddings"),
        Score(name="rag_outcome", value="scored", data_type="CATEGORICAL"),
    ]

    found = bodies(written(call(), None, results))

    assert {name: (repr(b["value"]), b["dataType"]) for name, b in found.items()} == {
        "faithfulness": ("0.0", "NUMERIC"),
        "hallucination_rate": ("0.0", "NUMERIC"),
        "context_recall": ("0.3333333333333333", "NUMERIC"),
        "has_contexts": ("0.0", "BOOLEAN"),
        "rag_outcome": ("'scored'", "CATEGORICAL"),
    }


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_value_that_is_no_number_is_not_written(value, caplog):
    """A metric of anybody's that gives NaN is left out and logged."""
    results = [Score(name="own", value=value), Score(name="rag_outcome", value="scored", data_type="CATEGORICAL")]

    found = written(call(), None, results)

    assert found.scores == ()
    assert "metric own gave" in caplog.text


def test_a_pending_call_writes_nothing():
    """While the judge is away there is no score and no mark, so that the call is tried again."""
    away = Unscored(name="judge", reason="judge_unavailable")
    one = call(delivery=received("This is."))

    assert make_scores(one, metrics.compute(one, away), verdicts=None, draw=Draw(probability=1.0, stratum=None)) is None


def test_the_mark_holds_what_a_report_needs():
    """`rag_outcome` has the reasons of what is unscored, and every sentence with its verdict and claims."""
    one = call(answer="It is so. It is not.", delivery=received("It is so."), reference="It is so.")
    found = verdicts(
        [
            sentence(claim(), text="It is so."),
            sentence(
                claim("contradicted", evidence=(0,), reason="says otherwise"), claim(), text="It is not.", start=10
            ),
            sentence(text="Hello.", start=20),
        ],
        [sentence(claim("unsupported", withheld=(0,)), text="It is so.")],
        useful=(0,),
    )

    scores = written(one, found)
    metadata = bodies(scores)["rag_outcome"]["metadata"]

    assert scores.outcome == "scored"
    assert metadata["sentences"] == [
        {
            "text": "It is so.",
            "start": 0,
            "end": 9,
            "kind": "statement",
            "verdict": "supported",
            "claims": [{"text": "It is so.", "verdict": "supported", "evidence": [0]}],
        },
        {
            "text": "It is not.",
            "start": 10,
            "end": 20,
            "kind": "statement",
            "verdict": "contradicted",
            "claims": [
                {"text": "It is so.", "verdict": "contradicted", "evidence": [0], "reason": "says otherwise"},
                {"text": "It is so.", "verdict": "supported", "evidence": [0]},
            ],
        },
        {"text": "Hello.", "start": 20, "end": 26, "kind": "statement", "verdict": None, "claims": []},
    ]
    assert metadata["reference_sentences"][0]["claims"] == [
        {"text": "It is so.", "verdict": "unsupported", "evidence": [], "withheld_evidence": [0]}
    ]
    assert metadata["inclusion_probability"] == 0.25
    assert metadata["judge"]["model"] == "scripted"


@pytest.mark.parametrize(("sentences", "length", "kept"), [(40, 4_000, 40), (20_000, 10, 1)])
def test_the_mark_is_bounded(sentences, length, kept):
    """A long answer loses texts of its sentences in the mark, then the last sentences, never its verdicts' places."""
    found = verdicts([sentence(claim(reason="r" * 900), text="x" * length, start=n * length) for n in range(sentences)])

    mark = written(call(delivery=received("x")), found).mark
    metadata = json.loads(mark.body)["metadata"]

    assert len(mark.body) < MARK_BYTES + 2_000
    assert metadata["is_shortened"] is True
    assert len(metadata["sentences"]) >= kept
    assert metadata["sentences"][0] == {
        "text": "",
        "start": 0,
        "end": length,
        "kind": "statement",
        "verdict": "supported",
        "claims": [],
    }


def test_a_mark_without_room_has_no_sentences():
    """Where the rest of the metadata fills the mark, the sentences give way."""
    big = Score(name="rag_outcome", value="scored", data_type="CATEGORICAL", metadata={"x": "y" * MARK_BYTES})

    metadata = json.loads(written(call(), verdicts([sentence(claim())]), [big]).mark.body)["metadata"]

    assert "sentences" not in metadata
    assert metadata["is_shortened"] is True


def test_no_lone_surrogate_leaves():
    """Broken UTF-16 anywhere in a score is replaced: one such character makes Langfuse lose others' data too."""
    bad = Score(name="own", value=0.5, comment="a\ud83d", metadata={"k\udc00": ["\ud83d", {"x": "\udfff"}]})
    mark = Score(name="rag_outcome", value="scored", data_type="CATEGORICAL")

    body = bodies(written(call(), None, [bad, mark]))["own"]

    assert body["comment"] == "a\ufffd"
    assert body["metadata"]["k\ufffd"] == ["\ufffd", {"x": "\ufffd"}]


def test_a_sentence_is_as_bad_as_its_worst_claim():
    """Contradicted before unsupported before undecided before supported; no claims, no verdict."""
    kinds = [
        ("contradicted", "supported"),
        ("unsupported", "undecided"),
        ("undecided", "supported"),
        ("supported",),
        (),
    ]

    assert [worst_verdict([claim(kind) for kind in some]) for some in kinds] == [
        "contradicted",
        "unsupported",
        "undecided",
        "supported",
        None,
    ]


def test_timestamps_are_the_calls_own():
    """Scoring a call again after midnight sends the same time again: the call's."""
    first = written(call(), None, [Score(name="rag_outcome", value="x", data_type="CATEGORICAL")]).mark
    again = written(call(), None, [Score(name="rag_outcome", value="x", data_type="CATEGORICAL")]).mark

    assert first == again
    assert json.loads(first.body)["timestamp"] == STARTED_AT.isoformat(timespec="milliseconds").replace("+00:00", "Z")
