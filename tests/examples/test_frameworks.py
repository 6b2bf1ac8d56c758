"""The manual API in applications of other frameworks, each in an environment of its own."""

import pytest

from ragtrace.local.in_thread import LocalLangfuse
from tests.examples.environments import ROOT, run, variables
from tests.examples.stored import question_passages_answer, stored

pytestmark = pytest.mark.environment
GATE = "The gate opens at 06:00 on working days and at 08:00 on Saturdays."
DEPOT = "The gate of the old depot was closed in 1998."
DOGS = "Dogs are allowed on the whole site, except in the canteen."
ANSWER = "The gate opens at 06:00 on working days."
RECEIVED = [(GATE, "full"), (DEPOT, "full"), (DOGS, "absent")]


def test_llama_index(pythons, local_langfuse: LocalLangfuse):
    """Both forms capture what was asked, which passages the prompt held, and the answer."""
    lines = run([pythons("llama_index"), ROOT / "examples" / "llama_index" / "rag.py"], variables(local_langfuse))

    assert lines == [ANSWER, ANSWER, "delivered"]
    assert [question_passages_answer(row) for row in stored(local_langfuse)] == [
        ("When does the gate open on working days?", RECEIVED, ANSWER),
        ("At what hour does the gate open on working days?", RECEIVED, ANSWER),
    ]


def test_haystack(pythons, local_langfuse: LocalLangfuse):
    """Four lines around a pipeline capture what its retriever found and what its prompt took of it."""
    command = [pythons("haystack"), ROOT / "examples" / "haystack" / "rag.py"]
    lines = run(command, variables(local_langfuse) | {"HAYSTACK_TELEMETRY_ENABLED": "False"})

    assert lines == [ANSWER, "delivered"]
    assert [question_passages_answer(row) for row in stored(local_langfuse)] == [
        ("When does the gate open on working days?", RECEIVED, ANSWER)
    ]
