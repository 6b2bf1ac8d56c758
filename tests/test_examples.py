"""Every example runs, unchanged, and what it says it does can be seen."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import httpx
import pytest

from ragtrace.local.in_thread import LocalLangfuse

EXAMPLES = Path(__file__).parent.parent / "examples"


def run(name: str, environment: dict[str, str] | None = None) -> list[str]:
    """Run an example in a process of its own and return the lines that it prints."""
    inherited = {
        k: v for k, v in os.environ.items() if not k.startswith(("LANGFUSE_", "OPENAI_", "RAGTRACE_", "OTEL_"))
    }
    ran = subprocess.run(
        [sys.executable, EXAMPLES / name],
        env=inherited | (environment or {}),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


def variables(server: LocalLangfuse) -> dict[str, str]:
    return {
        "LANGFUSE_BASE_URL": server.base_url,
        "LANGFUSE_PUBLIC_KEY": server.public_key,
        "LANGFUSE_SECRET_KEY": server.secret_key,
    }


def stored(server: LocalLangfuse) -> list[dict[str, str]]:
    """Return what arrived under the name `rag-call`."""
    reply = httpx.get(
        f"{server.base_url}/api/public/v2/observations",
        params={"name": "rag-call", "fields": "core,basic,io"},
        auth=(server.public_key, server.secret_key),
    )
    found: list[dict[str, str]] = reply.json()["data"]
    return found


@pytest.mark.parametrize("name", ["langchain_chain.py", "manual_call.py"])
def test_a_capturing_example_delivers_its_call(name: str, local_langfuse: LocalLangfuse):
    """The example prints its answer, and the rag-call with it is in Langfuse."""
    answer, delivered = run(name, variables(local_langfuse))

    assert delivered == "delivered"
    assert [call["output"] for call in stored(local_langfuse)] == [answer]


def test_judging_rows_prints_scores_and_reasons():
    """One row gets numbers; the row without passages gets reasons, not zeros."""
    lines = run("judge_rows.py")

    assert "context_delivery 1.0" in lines
    assert "faithfulness unscored: no_contexts" in lines


def test_own_metrics_stand_beside_ours():
    """A plain and an async metric have numbers; the one that raises has a reason and spoils nothing."""
    lines = run("own_metric.py")

    assert "says_where 1.0" in lines
    assert "too_clever unscored: metric_failed" in lines
    assert [line.split()[0] for line in lines] == [
        "faithfulness",
        "says_where",
        "unsupported_words",
        "too_clever",
        "rag_outcome",
    ]


@pytest.mark.soak
@pytest.mark.skipif(find_spec("ragas") is None, reason="the example installs RAGAS from its own requirements.txt")
def test_a_ragas_metric_gives_the_number_of_ours():
    """RAGAS, run through the plug-in on the received texts, agrees with ragtrace's own arithmetic."""
    assert run("ragas_metric/ragas_metric.py") == ["string_context_recall 0.5", "ragas_non_llm_context_recall 0.5"]
