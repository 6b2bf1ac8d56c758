"""Runs of `langfuse.run_experiment`, with the real SDK, held against each other item by item."""

from datetime import UTC, datetime, timedelta

import pytest
from langfuse import Langfuse
from opentelemetry.context import get_current
from opentelemetry.sdk.trace import TracerProvider

from ragtrace.capture.client import Capture
from ragtrace.langfuse import CallQuery, Connection, LangfuseApi, OutgoingScore, ScoreRecord
from ragtrace.scorer.compare import parse_gate
from ragtrace.scorer.compare_command import CompareRequest, run_compare
from ragtrace.semconv import META_EXPERIMENT
from ragtrace.settings import load_settings
from tests.capture.calls import TEXT, call, config

ITEMS = 12


def api_of(server) -> LangfuseApi:
    return LangfuseApi(Connection(server.base_url, public_key=server.public_key, secret_key=server.secret_key))


@pytest.fixture
def langfuse(local_langfuse):
    client = Langfuse(
        public_key=local_langfuse.public_key,
        secret_key=local_langfuse.secret_key,
        base_url=local_langfuse.base_url,
        tracer_provider=TracerProvider(shutdown_on_exit=False),
    )
    client.create_dataset(name="eval/rag")
    for number in range(ITEMS):
        client.create_dataset_item(dataset_name="eval/rag", id=f"i{number}", input="What is the fee?")
    yield client
    client.shutdown()


def run(langfuse: Langfuse, server, name: str) -> None:
    """Answer each item of the dataset with a captured call."""
    capture = Capture(
        config(
            langfuse_base_url=server.base_url,
            langfuse_public_key=server.public_key,
            langfuse_secret_key=server.secret_key,
        )
    )
    now = int(datetime.now(UTC).timestamp() * 1e9)

    def task(*, item, **_):
        capture.submit(call(TEXT, context=get_current(), start_ns=now, end_ns=now + 1))
        return "Three euros."

    langfuse.run_experiment(name="fees", run_name=name, data=langfuse.get_dataset("eval/rag").items, task=task)
    assert capture.flush(10)
    capture.shutdown(10)


async def score(server, name: str, value: float) -> None:
    async with api_of(server) as api:
        rows = [row async for page in api.list_calls(CallQuery()) for row in page]
        records = [
            ScoreRecord(
                id=f"{name}-{row.id}",
                trace_id=row.trace_id,
                observation_id=row.id,
                name="faithfulness",
                value=value,
                data_type="NUMERIC",
                timestamp=row.start_time,
                metadata={"inclusion_probability": 1.0},
            )
            for row in rows
            if row.metadata[META_EXPERIMENT] == name
        ]
        assert len(records) == ITEMS
        async for _ in api.write_scores([OutgoingScore(id=r.id, body=r.body()) for r in records]):
            pass


async def test_runs_pair_by_item(langfuse, local_langfuse):
    """A rag-call knows its run, dataset and item, and is in the run's environment; both ways to name a run find it."""
    for name, value in (("main/1", 0.0), ("branch/2", 1.0)):
        run(langfuse, local_langfuse, name)
        await score(local_langfuse, name, value)
    settings = load_settings(
        {
            "LANGFUSE_BASE_URL": local_langfuse.base_url,
            "LANGFUSE_PUBLIC_KEY": local_langfuse.public_key,
            "LANGFUSE_SECRET_KEY": local_langfuse.secret_key,
        }
    )
    now = datetime.now(UTC)
    request = CompareRequest(
        baseline="run:eval/rag/main/1",
        candidate="run:branch/2",
        gate=parse_gate("faithfulness", None),
        since=now - timedelta(hours=1),
    )
    found = await run_compare(settings, request, now=now)
    async with api_of(local_langfuse) as api:
        environments = {row.environment async for page in api.list_calls(CallQuery()) for row in page}

    assert (found.baseline_rows, found.candidate_rows, found.pairs, found.passes) == (ITEMS, ITEMS, ITEMS, True)
    assert found.changes[0].difference.value == 1.0
    assert environments == {"sdk-experiment"}
