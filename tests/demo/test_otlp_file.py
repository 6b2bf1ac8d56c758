"""The demo without a server."""

import json

import httpx
from rich.console import Console
from typer.testing import CliRunner

from ragtrace.cli import app
from ragtrace.demo.corpus import load_questions
from ragtrace.demo.otlp_file import run_file_demo
from ragtrace.errors import ConfigError


async def test_spans_and_scores_are_written_as_otlp(tmp_path, local_langfuse):
    """One file holds the rag-call spans, in a form that an OTLP server takes, and an event for each score of theirs."""
    file = tmp_path / "demo.jsonl"
    written = await run_file_demo(file, model_name=None, progress=Console(quiet=True), questions=load_questions()[:2])

    first, second = file.read_text(encoding="utf-8").splitlines()
    reply = httpx.post(
        f"{local_langfuse.base_url}/api/public/otel/v1/traces",
        content=first,
        headers={"content-type": "application/json"},
        auth=(local_langfuse.public_key, local_langfuse.secret_key),
    )
    spans = json.loads(first)["resourceSpans"][0]["scopeSpans"][0]["spans"]
    events = json.loads(second)["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    assert (reply.status_code, written.spans, written.events) == (200, 2, len(events))
    assert {event["spanId"] for event in events} == {span["spanId"] for span in spans}


def test_a_file_that_cannot_be_written_is_said_by_the_command(tmp_path):
    """`ragtrace demo --otlp-file` with a folder in place of a file is an error before any question is asked."""
    done = CliRunner().invoke(app, ["demo", "--otlp-file", str(tmp_path)])

    assert isinstance(done.exception, ConfigError)
    assert "cannot be written" in str(done.exception)
