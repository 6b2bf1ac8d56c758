"""A service in TypeScript emits a rag-call with OpenTelemetry's SDK, and it is scored like any other."""

import json
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from ragtrace.local.in_thread import LocalLangfuse
from tests.examples.environments import KEPT, ROOT, run, variables
from tests.examples.stored import stored
from tests.seed import stored_scores

pytestmark = [
    pytest.mark.environment,
    pytest.mark.skipif(shutil.which("npm") is None, reason="needs Node.js: install nodejs and npm"),
]
SCHEMA = json.loads((files("ragtrace") / "schema" / "rag-call-1.json").read_text(encoding="utf-8"))


@pytest.fixture
def folder() -> Path:
    """The example with its packages, which are fetched when its package.json changes."""
    source, kept = ROOT / "examples" / "typescript", KEPT / "typescript"
    stamp, wanted = kept / "installed", (source / "package.json").read_text(encoding="utf-8")
    is_installed = stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted
    shutil.copytree(source, kept, ignore=shutil.ignore_patterns("node_modules", "dist", "*lock*"), dirs_exist_ok=True)
    if not is_installed:
        quiet = ["--no-package-lock", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"]
        done = subprocess.run(["npm", "install", *quiet], cwd=kept, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        stamp.write_text(wanted, encoding="utf-8")
    return kept


def test_a_rag_call_of_another_language_is_scored(folder: Path, local_langfuse: LocalLangfuse, tmp_path: Path):
    """What Node sent is in the schema; the scorer places its passages in its prompt and judges the answer."""
    *_, answer = run(["npm", "--prefix", folder, "start", "--silent"], variables(local_langfuse))
    (call,) = stored(local_langfuse)
    run(
        [Path(sys.executable).parent / "ragtrace", "score"],
        variables(local_langfuse) | {"RAGTRACE_STATE": str(tmp_path / "state")},
    )
    scores = {str(score["name"]): score["value"] for score in stored_scores(local_langfuse)}

    Draft202012Validator(SCHEMA).validate(
        {
            "input": json.loads(call["input"]),
            "output": call["output"],
            "metadata": {"ragtrace_schema": int(call["metadata"]["ragtrace_schema"])},
        }
    )
    assert (call["output"], scores["faithfulness"], scores["rag_outcome"]) == (answer, 1.0, "scored")
    # Letters and digits of the two passages that were sent, of those of all three.
    assert scores["context_delivery"] == pytest.approx(92 / 138)
