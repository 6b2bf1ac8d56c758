"""What the tests of the LangChain instrumentation share."""

from collections.abc import Iterator

import pytest
from langchain_kit import Records, make_handler

from ragtrace.capture.guard import raising
from ragtrace_instrumentation_langchain import RagCallbackHandler


@pytest.fixture
def records() -> Records:
    """Keep what was captured."""
    return Records()


@pytest.fixture
def handler(records: Records) -> Iterator[RagCallbackHandler]:
    """Capture into `records`; our own failures show, and nothing may be left open."""
    with raising():
        made = make_handler(records)
        yield made
        assert made.open_runs == 0
