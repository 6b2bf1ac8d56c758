"""What capture writes, read back: through the record alone, and through a whole server."""

from datetime import UTC, datetime

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langfuse import Langfuse, is_default_export_span
from opentelemetry.context import get_current
from opentelemetry.sdk.trace import TracerProvider

from ragtrace import align, capture
from ragtrace.capture import CapturedCall
from ragtrace.capture.client import Capture
from ragtrace.capture.place import make_record
from ragtrace.extract import ObservationRow, complete_delivery, read_rag_call
from ragtrace.model import PIECE_SEPARATOR, Delivery, RagCall
from tests.capture.calls import TEXT, call, config

OTHER = "The lamp draws nine watts and weighs two kilograms, said the sheet that came with it."
AFTER = "Pets are welcome in the annex after five o'clock, provided that they are on a lead."
SENTENCES = (
    TEXT,
    OTHER,
    AFTER,
    "Breakfast ends at ten. 朝食は十時までです。",
    "Odd \ud83d half, and \0 nothing at all.",
)


def _read(captured: CapturedCall, *, align_in_app: bool) -> RagCall:
    record = make_record(captured, mask=None, align_in_app=align_in_app, limit_bytes=4_000_000)
    row = ObservationRow(
        id="o",
        trace_id="t",
        name="rag-call",
        type="CHAIN",
        start_time=datetime(2026, 3, 1, tzinfo=UTC),
        input=record.input,
        output=record.output,
    )
    return complete_delivery(read_rag_call(row))


def _received(delivery: Delivery | None) -> list[tuple[str, str]]:
    assert delivery is not None
    return [(d.status, d.received_text.replace(PIECE_SEPARATOR, " ").strip()) for d in delivery.passages]


@given(
    kept=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 60), st.integers(20, 90)), max_size=5),
    align_in_app=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_what_is_read_is_what_was_placed(kept, align_in_app):
    """However passages were cut and ordered, the reader finds the statuses and the received text that `align` found."""
    prompt = ["Answer:", *(SENTENCES[number][start : start + length] for number, start, length in kept)]
    captured = call(*SENTENCES, prompt=prompt)
    cleaned = [text.replace("\ud83d", "\ufffd").replace("\0", "\ufffd") for text in SENTENCES]
    clean_prompt = [text.replace("\ud83d", "\ufffd").replace("\0", "\ufffd") for text in prompt]
    clean = call(*cleaned, prompt=clean_prompt)
    read = _read(captured, align_in_app=align_in_app)

    assert [d.passage.text for d in read.delivery.passages] == cleaned
    if align_in_app:
        assert _received(read.delivery) == _received(align.align(clean.passages, clean.prompt_parts))


@pytest.fixture
def client(local_langfuse):
    client = Capture(
        config(
            langfuse_base_url=local_langfuse.base_url,
            langfuse_public_key=local_langfuse.public_key,
            langfuse_secret_key=local_langfuse.secret_key,
        )
    )
    yield client
    client.shutdown(10)


def test_a_call_is_one_row_in_langfuse(client, local_langfuse):
    """Question, passages and answer of a captured call are read back from the server in one observation."""
    client.submit(call(TEXT, OTHER, prompt=[TEXT], session="s", user="u", tags=("t",), model="gpt"))

    assert client.flush(10)
    reply = httpx.get(
        f"{local_langfuse.base_url}/api/public/v2/observations",
        params={"name": "rag-call", "fields": "core,basic,time,io,metadata,trace_context"},
        auth=(local_langfuse.public_key, local_langfuse.secret_key),
    )
    (row,) = reply.json()["data"]
    assert {key: row[key] for key in ("name", "type", "output", "sessionId", "userId", "tags")} == {
        "name": "rag-call",
        "type": "CHAIN",
        "output": "Three euros for each night.",
        "sessionId": "s",
        "userId": "u",
        "tags": ["t"],
    }
    assert TEXT in row["input"]


def test_langfuses_own_exporter_lets_the_span_through(captured_calls):
    """Where the application's pipeline is used, Langfuse's default filter exports the rag-call."""
    capture.submit(call(TEXT))

    assert is_default_export_span(captured_calls.spans[0])


def test_the_span_goes_through_langfuses_own_pipeline(local_langfuse):
    """With `pipeline="application"` and Langfuse's provider, the rag-call arrives under the span that was current."""
    provider = TracerProvider()
    langfuse = Langfuse(
        public_key=local_langfuse.public_key,
        secret_key=local_langfuse.secret_key,
        base_url=local_langfuse.base_url,
        tracer_provider=provider,
    )
    client = Capture(config(capture_pipeline="application"))
    with langfuse.start_as_current_observation(name="request", as_type="chain"):
        client.submit(call(TEXT, context=get_current(), provider=provider))
    assert client.flush(10)
    langfuse.flush()
    reply = httpx.get(
        f"{local_langfuse.base_url}/api/public/v2/observations",
        params={"fields": "core,basic,io"},
        auth=(local_langfuse.public_key, local_langfuse.secret_key),
    )
    rows = {row["name"]: row for row in reply.json()["data"]}

    assert rows["rag-call"]["parentObservationId"] == rows["request"]["id"]
    assert TEXT in rows["rag-call"]["input"]
    langfuse.shutdown()
