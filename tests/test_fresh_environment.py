"""The application side installs and works alone, at the lowest and at the newest versions that its ranges allow."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CHAIN = Path(__file__).parent / "fresh_chain.py"
PACKAGES = (ROOT, ROOT / "instrumentation" / "ragtrace-instrumentation-langchain")


@pytest.mark.fresh_environment
@pytest.mark.parametrize("resolution", ["lowest-direct", "highest"])
def test_the_application_side_works_alone(resolution: str, tmp_path: Path):
    """A chain with the callback delivers its rag-call with neither langfuse nor openai installed."""
    uv = shutil.which("uv", path=Path(sys.executable).parent) or shutil.which("uv")
    assert uv, "uv is in requirements-dev.txt"
    sources = [tmp_path / package.name for package in PACKAGES]
    for package, copy in zip(PACKAGES, sources, strict=True):
        shutil.copytree(
            package, copy, ignore=shutil.ignore_patterns(".*", "tests", "docs", "benchmarks", "instrumentation")
        )
    python = tmp_path / "env" / "bin" / "python"
    subprocess.run([uv, "venv", "-q", "--python", sys.executable, tmp_path / "env"], check=True)
    install = [uv, "pip", "install", "-q", "--python", python, "--resolution", resolution]
    subprocess.run([*install, *sources], check=True)

    ran = subprocess.run(
        [python, "-P", "-W", "error::DeprecationWarning:ragtrace", CHAIN], capture_output=True, text=True
    )

    assert (ran.returncode, ran.stdout.splitlines()) == (
        0,
        ["answer: The pump weighs 14 kg.", "delivered: 1", "scorer side: ModuleNotFoundError, ModuleNotFoundError"],
    ), ran.stderr
