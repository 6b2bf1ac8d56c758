"""One application through every instrumentation: what each way of capturing knows of the same answer."""

import re
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from ragtrace.extract import complete_delivery, read_rag_call, read_trace
from ragtrace.langfuse import Connection, LangfuseApi
from ragtrace.local.in_thread import LocalLangfuse
from ragtrace.model import RagCall
from ragtrace.semconv import SPAN_NAME
from tests.examples.environments import ROOT, run, variables
from tests.examples.same_app.app import BUDGET, PASSAGES

pytestmark = pytest.mark.environment
FOLDER = Path(__file__).parent / "same_app"
DOCUMENTED = ROOT / "docs" / "other-instrumentations.md"
QUESTION = "When does the gate open on working days?"
QUERY = "gate opening hours"
ANSWER = "The gate opens at 06:00 on working days."
RECEIVED = [(text, "full" if rank < BUDGET else "absent") for rank, text in enumerate(PASSAGES.values())]


@dataclass(frozen=True, kw_only=True)
class Way:
    """A way of capturing, by its name in the documentation."""

    name: str
    environment: str
    program: str
    variables: dict[str, str]


WAYS = (
    Way(name="ragtrace, zero code", environment="ragtrace", program="app.py", variables={}),
    Way(name="Langfuse's handler, rebuilt", environment="langfuse", program="with_langfuse.py", variables={}),
    Way(name="OpenInference", environment="openinference", program="with_openinference.py", variables={}),
    Way(name="OpenLLMetry", environment="openllmetry", program="with_openllmetry.py", variables={}),
    Way(
        name="OpenTelemetry GenAI, completion hook",
        environment="otel_genai",
        program="with_otel_genai.py",
        variables={"OTEL_INSTRUMENTATION_GENAI_COMPLETION_HOOK": "ragtrace"},
    ),
    Way(
        name="OpenTelemetry GenAI, content capture and `document_lookup`",
        environment="otel_genai",
        program="with_lookup.py",
        variables={"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY"},
    ),
)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.program)
async def test_each_way_knows_what_the_documentation_says(way: Way, pythons, local_langfuse: LocalLangfuse):
    """Question, answer and generator are the same each way; passages are equal or unknown, never less or other."""
    python = pythons(way.environment)
    launcher = [python.parent / "opentelemetry-instrument"] if way.program == "app.py" else []
    lines = run([*launcher, python, FOLDER / way.program], variables(local_langfuse) | way.variables)
    (call,) = await captured(local_langfuse)

    assert (lines, call.answer) == ([ANSWER], ANSWER)
    assert known(call) == documented()[way.name]


def known(call: RagCall) -> list[str]:
    """Return what a call tells, in the words of the documentation."""
    question = {QUESTION: "as asked", QUERY: "the search query"}[call.question]
    model = "yes" if call.model == "fake-1" else "no"
    if call.delivery is None:
        return [question, "unknown", "unknown", model]
    found = call.delivery.passages
    assert [(d.passage.text, d.status) for d in found] == RECEIVED
    ids = {True: "yes", False: "none"}[[d.passage.id for d in found] == list(PASSAGES)]
    return [question, "the same", ids, model]


def documented() -> dict[str, list[str]]:
    """Return the table of the documentation by its first column."""
    _, _, section = DOCUMENTED.read_text(encoding="utf-8").partition("## One application through each")
    rows = [re.split(r"\s*\|\s*", line.strip("| ")) for line in section.splitlines() if line.startswith("|")]
    return {name: cells for name, *cells in rows}


async def captured(server: LocalLangfuse) -> tuple[RagCall, ...]:
    """Return the calls at the server as the scorer sees them: recorded ones, else those rebuilt from their traces."""
    reply = httpx.get(f"{server.base_url}/api/public/v2/observations", auth=(server.public_key, server.secret_key))
    traces = sorted({row["traceId"] for row in reply.json()["data"]})
    connection = Connection(server.base_url, public_key=server.public_key, secret_key=server.secret_key)
    async with LangfuseApi(connection) as api:
        rows = await api.fetch_traces(traces)
    recorded = tuple(complete_delivery(read_rag_call(row)) for row in rows if row.name == SPAN_NAME)
    return recorded or read_trace(rows)
