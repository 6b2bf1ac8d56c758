"""Pytest fixtures for users of ragtrace and for its own tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ragtrace.capture.in_memory import CapturedCalls
    from ragtrace.local.in_thread import LocalLangfuse


@pytest.fixture
def captured_calls() -> Iterator[CapturedCalls]:
    """The rag-calls of a test, in memory; a failure of capture fails the test instead of being logged."""
    # Imported here: pytest loads this plugin in every run, also where nobody captures anything.
    from ragtrace.capture.in_memory import capture_in_memory
    from ragtrace.capture.pipeline import PipelineConfig
    from ragtrace.settings import load_settings

    with capture_in_memory(PipelineConfig(settings=load_settings({}))) as calls:
        yield calls


@pytest.fixture
def local_langfuse(tmp_path: Path) -> Iterator[LocalLangfuse]:
    """A real Langfuse-compatible server on loopback, empty at the start of each test."""
    # Imported here: it needs the extra `serve`, and pytest loads this plugin in every run.
    from ragtrace.local.in_thread import local_langfuse as serve_locally

    with serve_locally(tmp_path / "langfuse.sqlite") as server:
        yield server
