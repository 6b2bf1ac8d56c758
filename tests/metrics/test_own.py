"""Metrics of the user's own."""

import asyncio
import sys
from pathlib import Path

import pytest

from ragtrace.errors import ConfigError
from ragtrace.metrics.own import check_own_name, compute_own, load_own_metrics
from ragtrace.model import RagCall, Score, Unscored, Verdicts
from tests.build import call, verdicts


def answer_length(asked: RagCall, found: Verdicts | None) -> Score | Unscored:
    return Score(name="answer_length", value=len(asked.answer))


async def judged(asked: RagCall, found: Verdicts | None) -> Score | Unscored:
    return Score(name="judged", value=1.0) if found else Unscored(name="judged", reason="judge_unavailable")


def broken(asked: RagCall, found: Verdicts | None) -> Score | Unscored:
    raise ValueError("no such column")


def infinite(asked: RagCall, found: Verdicts | None) -> Score | Unscored:
    return Score(name="infinite", value=float("nan"))


def misnamed(asked: RagCall, found: Verdicts | None) -> Score | Unscored:
    return Score(name="other", value=1.0)


def untyped(asked: RagCall, found: Verdicts | None) -> Score | Unscored:
    return 0.5  # type: ignore[return-value]  # what a user without a type checker may return


async def test_a_broken_metric_does_not_spoil_the_others():
    """Sync and async functions run; one that raises or returns nonsense is unscored with what it did."""
    own = {f.__name__: f for f in (answer_length, judged, broken, infinite, misnamed, untyped)}

    results = await compute_own(call(answer="This."), verdicts(), own)

    assert results == (
        Score(name="answer_length", value=5),
        Score(name="judged", value=1.0),
        Unscored(name="broken", reason="metric_failed", detail="ValueError: no such column"),
        Unscored(name="infinite", reason="metric_failed", detail="returned nan"),
        Unscored(name="misnamed", reason="metric_failed", detail="returned a score named 'other'"),
        Unscored(name="untyped", reason="metric_failed", detail="returned float, not a Score"),
    )


@pytest.mark.parametrize("name", ["faithfulness", "rag_outcome"])
def test_our_names_are_taken(name: str):
    """A metric of the user's own cannot overwrite one of ours."""
    with pytest.raises(ConfigError, match="this name is ragtrace's own"):
        check_own_name(name)


def _install(folder: Path, value: str) -> None:
    info = folder / "some_metrics-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: some-metrics\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[ragtrace.metrics]\nanswer_length = {value}\n")


@pytest.mark.parametrize("value", ["tests.metrics.test_own:answer_length"])
def test_installed_metrics_are_found(tmp_path: Path, value: str, monkeypatch: pytest.MonkeyPatch):
    """A package that registers `ragtrace.metrics` is picked up by name."""
    _install(tmp_path, value)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    assert list(load_own_metrics()) == ["answer_length"]


def test_a_metric_that_cannot_be_imported_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A broken registration is one clear error."""
    _install(tmp_path, "no_such_module:metric")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    with pytest.raises(ConfigError, match=r"metric 'answer_length' \(no_such_module:metric\) cannot be loaded"):
        load_own_metrics()


async def test_a_metric_that_hangs_is_given_up():
    """A metric that does not end in time is unscored; the next one runs."""

    async def endless(asked: RagCall, found: Verdicts | None) -> Score | Unscored:
        await asyncio.Event().wait()
        raise AssertionError

    async def prompt(asked: RagCall, found: Verdicts | None) -> Score | Unscored:
        return Score(name="prompt", value=5)

    results = await compute_own(call(), None, {"endless": endless, "prompt": prompt}, timeout_seconds=0.01)

    assert results == (
        Unscored(name="endless", reason="metric_failed", detail="TimeoutError: "),
        Score(name="prompt", value=5),
    )


async def test_a_plain_function_may_start_a_loop_of_its_own():
    """Libraries whose synchronous calls run an event loop work as they are, and so do lambdas around async ones."""

    def blocking(asked: RagCall, found: Verdicts | None) -> Score | Unscored:
        return asyncio.run(judged(asked, found))  # type: ignore[arg-type]  # an async function gives a coroutine

    own = {"judged": blocking}
    assert await compute_own(call(), verdicts(), own) == (Score(name="judged", value=1.0),)
    assert await compute_own(call(), verdicts(), {"judged": lambda asked, found: judged(asked, found)}) == (
        Score(name="judged", value=1.0),
    )
