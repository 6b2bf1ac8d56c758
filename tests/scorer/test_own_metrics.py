"""Metrics of the user's own in the scorer: beside ours, and unable to spoil them."""

import json
import sys
from pathlib import Path

import pytest

from ragtrace.errors import ConfigError, JudgeUnavailable
from ragtrace.metrics import METRICS
from ragtrace.model import RagCall, Score, Unscored, Verdicts
from ragtrace.scorer import ajudge_calls
from ragtrace.scorer.judge_file import run_judge_file
from ragtrace.scorer.judging import MetricChoice, choose_metrics, judge_call
from ragtrace.settings import load_settings
from tests.build import call, received
from tests.scorer.judges import ExactJudge
from tests.scorer.test_window import many, run, seed, values

SETTINGS = load_settings({})
ROW = {"question": "Where?", "contexts": ["The tower is in Paris."], "answer": "The tower is in Paris."}


def answer_length(asked: RagCall, found: Verdicts | None) -> Score | Unscored:
    """Count characters."""
    return Score(name="answer_length", value=len(asked.answer))


async def claims(asked: RagCall, found: Verdicts | None) -> Score | Unscored:
    """Count claims."""
    if found is None:
        return Unscored(name="claims", reason="no_contexts")
    return Score(name="claims", value=sum(len(s.claims) for s in found.answer), comment="Claims.")


def broken(asked: RagCall, found: Verdicts | None) -> Score | Unscored:
    """Fail."""
    raise KeyError("tone")


OWN = {"answer_length": answer_length, "claims": claims, "broken": broken}


class NoJudge(ExactJudge):
    """A judge that is down."""

    async def judge(self, call: RagCall) -> Verdicts:
        raise JudgeUnavailable("down")


async def test_rows_get_them_beside_ours():
    """Passed in from Python they stand in the output, a broken one with its reason."""
    [output] = await ajudge_calls([ROW], settings=SETTINGS, metric_names=["faithfulness"], own_metrics=OWN)

    assert output["scores"] == {
        "faithfulness": {"value": 1.0, "reason": None},
        "answer_length": {"value": 22, "reason": None},
        "claims": {"value": 1, "reason": None},
        "broken": {"value": None, "reason": "metric_failed"},
        "rag_outcome": {"value": "scored", "reason": None},
    }


async def test_langfuse_gets_them_beside_ours(local_langfuse, tmp_path: Path):
    """They are stored on the call like any other score; the failure is in the mark and costs nothing else."""
    seed(local_langfuse, many(1))

    await run(local_langfuse, tmp_path / "state.sqlite", metrics=MetricChoice(names=("faithfulness",), own=OWN))

    found = values(local_langfuse, 0)
    assert set(found) == {"faithfulness", "answer_length", "claims", "rag_outcome"}
    assert (found["rag_outcome"], found["claims"]) == ("scored", 1)


async def test_the_mark_says_which_failed():
    """The outcome is that of our metrics, and names the user's own that have no number."""
    judged = await judge_call(
        call(delivery=received("a")), ExactJudge(), MetricChoice(names=(), own={"broken": broken})
    )
    beside = await judge_call(
        call(delivery=received()),
        ExactJudge(),
        MetricChoice(names=("faithfulness",), own={"answer_length": answer_length}),
    )

    assert judged.results == (
        Unscored(name="broken", reason="metric_failed", detail="KeyError: 'tone'"),
        Score(
            name="rag_outcome",
            value="metric_failed",
            data_type="CATEGORICAL",
            metadata={"unscored": {"broken": "metric_failed"}},
        ),
    )
    assert beside.results == (
        Unscored(name="faithfulness", reason="no_contexts"),
        Score(name="answer_length", value=5),
        Score(
            name="rag_outcome",
            value="no_contexts",
            data_type="CATEGORICAL",
            metadata={"unscored": {"faithfulness": "no_contexts"}},
        ),
    )


async def test_they_wait_for_the_judge_as_ours_do():
    """With the judge down the call keeps no mark, so that it is tried again."""
    judged = await judge_call(
        call(delivery=received("a")), NoJudge(), MetricChoice(names=("context_delivery",), own={"claims": claims})
    )

    assert judged.results[-1] == Unscored(name="rag_outcome", reason="judge_unavailable", detail="down")


def install(folder: Path, target: str = "tests.scorer.test_own_metrics:answer_length") -> None:
    """Install a package that registers one metric."""
    info = folder / "some_metrics-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: some-metrics\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[ragtrace.metrics]\nanswer_length = {target}\n")


async def test_installed_ones_come_by_default_and_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """`ragtrace judge --metrics` may name an installed metric; without names all installed ones are computed."""
    install(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    rows, out = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    rows.write_text(json.dumps(ROW))

    await run_judge_file(SETTINGS, str(rows), out=str(out), metric_names=["answer_length"])

    assert json.loads(out.read_text())["scores"] == {
        "answer_length": {"value": 22, "reason": None},
        "rag_outcome": {"value": "scored", "reason": None},
    }
    assert choose_metrics(SETTINGS, None).own == {"answer_length": answer_length}
    assert choose_metrics(SETTINGS, ["mrr"]).all_names == ("mrr",)


def test_a_broken_installation_is_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A metric that cannot be imported is named, and metrics chosen by name do without it."""
    install(tmp_path, "no_such_module:metric")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    assert choose_metrics(SETTINGS, METRICS).own == {}
    with pytest.raises(ConfigError, match=r"metric 'answer_length' .* cannot be loaded"):
        choose_metrics(SETTINGS, None)


def test_our_names_are_taken():
    """A metric passed in cannot replace one of ours."""
    with pytest.raises(ConfigError, match="this name is ragtrace's own"):
        choose_metrics(SETTINGS, None, own={"faithfulness": answer_length})
