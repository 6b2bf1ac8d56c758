"""Run examples, those of other frameworks in environments of their own, kept between runs in `.venv-examples`."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from ragtrace.local.in_thread import LocalLangfuse

ROOT = Path(__file__).parent.parent.parent
KEPT = ROOT / ".venv-examples"
OURS = (
    ROOT,
    ROOT / "instrumentation" / "ragtrace-instrumentation-langchain",
    ROOT / "instrumentation" / "ragtrace-instrumentation-openai",
)
_CONFIGURED = ("LANGFUSE_", "OPENAI_", "RAGTRACE_", "OTEL_", "TRACELOOP_", "PYTHONPATH")


def make_environment(name: str, requirements: Path) -> Path:
    """Return the Python of an environment with ragtrace and what a file requires; made again when the file changes."""
    folder = KEPT / name
    stamp = folder / "installed"
    parts = (requirements, *(package / "pyproject.toml" for package in OURS))
    digest = hashlib.sha256(b"".join(part.read_bytes() for part in parts)).hexdigest()
    python = folder / "bin" / "python"
    if stamp.is_file() and stamp.read_text() == digest:
        return python
    shutil.rmtree(folder, ignore_errors=True)
    editable = [argument for package in (ROOT, *_named(requirements)) for argument in ("-e", str(package))]
    uv = shutil.which("uv", path=Path(sys.executable).parent) or shutil.which("uv")
    assert uv, "uv is in requirements-dev.txt"
    _do([uv, "venv", "-q", "--python", sys.executable, str(folder)])
    _do([uv, "pip", "install", "-q", "--python", str(python), *editable, "-r", str(requirements)])
    stamp.write_text(digest)
    return python


def _named(requirements: Path) -> list[Path]:
    """Return which of our instrumentations a file requires: those of this checkout are installed."""
    lines = requirements.read_text(encoding="utf-8").splitlines()
    return [package for package in OURS[1:] if package.name in lines]


def run(command: Sequence[str | Path], variables: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """Run a program that knows no other tracing than these variables name, and return the lines that it prints."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(_CONFIGURED)}
    ran = subprocess.run(list(command), env=inherited | dict(variables), capture_output=True, text=True, timeout=100)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout.splitlines()


def variables(server: LocalLangfuse) -> dict[str, str]:
    """Return what tells a program of a server."""
    return {
        "LANGFUSE_BASE_URL": server.base_url,
        "LANGFUSE_PUBLIC_KEY": server.public_key,
        "LANGFUSE_SECRET_KEY": server.secret_key,
    }


def _do(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
