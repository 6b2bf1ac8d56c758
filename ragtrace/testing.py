"""Pytest fixtures for users of ragtrace and for its own tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ragtrace.capture.in_memory import CapturedCalls


@pytest.fixture
def captured_calls() -> Iterator[CapturedCalls]:
    """The rag-calls of a test, in memory; a failure of capture fails the test instead of being logged."""
    # Imported here: pytest loads this plugin in every run, also where nobody captures anything.
    from ragtrace.capture.in_memory import capture_in_memory
    from ragtrace.capture.pipeline import PipelineConfig
    from ragtrace.settings import load_settings

    with capture_in_memory(PipelineConfig(settings=load_settings({}))) as calls:
        yield calls
