"""`opentelemetry-instrument` captures an application that does not mention ragtrace, unless it is told not to."""

from pathlib import Path

import pytest

from ragtrace.local.in_thread import LocalLangfuse
from tests.examples.environments import run, variables
from tests.examples.same_app.app import BUDGET, PASSAGES
from tests.examples.stored import question_passages_answer, stored

pytestmark = pytest.mark.environment
FOLDER = Path(__file__).parent / "same_app"
ANSWER = "The gate opens at 06:00 on working days."
EXPECTED = (
    "When does the gate open on working days?",
    [(text, "full" if rank < BUDGET else "absent") for rank, text in enumerate(PASSAGES.values())],
    ANSWER,
)


@pytest.fixture
def instrumented(pythons) -> list[Path]:
    """Starts a program with what is installed beside ragtrace: its LangChain instrumentation and nothing else."""
    python = pythons("ragtrace")
    return [python.parent / "opentelemetry-instrument", python]


def test_it_is_switched_off_by_its_own_name(instrumented, local_langfuse: LocalLangfuse):
    """With `ragtrace_langchain` among the disabled instrumentations the program runs as it would alone."""
    disabled = {"OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": "ragtrace_langchain"}
    lines = run([*instrumented, FOLDER / "app.py"], variables(local_langfuse) | disabled)

    assert (lines, stored(local_langfuse)) == ([ANSWER], [])


def test_what_is_suppressed_is_not_captured(instrumented, local_langfuse: LocalLangfuse):
    """A call under OpenTelemetry's `suppress_instrumentation` leaves no record; the next one does, asked for nowhere."""
    lines = run([*instrumented, FOLDER / "suppressed.py"], variables(local_langfuse))

    assert not [name for name in ("app.py", "suppressed.py") if "ragtrace" in (FOLDER / name).read_text("utf-8")]
    assert (lines, [question_passages_answer(row) for row in stored(local_langfuse)]) == ([ANSWER] * 2, [EXPECTED])
