"""The unmodified Langfuse SDK and OTLP exporters as clients."""

from base64 import b64encode
from datetime import UTC, datetime

import pytest
from langfuse import Langfuse
from langfuse.api import CreateScoreRequest, UnauthorizedError
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from ragtrace.local.in_thread import LocalLangfuse


@pytest.fixture
def sdk(local_langfuse: LocalLangfuse) -> Langfuse:
    return Langfuse(
        public_key=local_langfuse.public_key,
        secret_key=local_langfuse.secret_key,
        base_url=local_langfuse.base_url,
        tracer_provider=TracerProvider(),
    )


def test_the_sdk_writes_and_reads(sdk: Langfuse) -> None:
    """Observations and scores that the SDK sent come back through its typed client."""
    at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    with sdk.start_as_current_observation(name="rag", as_type="chain", input={"q": "why?"}) as root:
        with sdk.start_as_current_observation(
            name="search", as_type="retriever", input="why?", output=[{"page_content": "d"}], metadata={"k": {"n": 1}}
        ):
            pass
        root.update(output="because")
        sdk.create_score(name="faithfulness", value=0.5, trace_id=root.trace_id, score_id="s1", timestamp=at)
    sdk.flush()

    listed = sdk.api.observations.get_many(fields="core,basic,io,metadata", trace_id=root.trace_id).data
    rows = {row.name: row for row in listed}
    [score] = sdk.api.scores.get_many(trace_id=root.trace_id, fields="core,subject").data
    assert sdk.auth_check()
    assert (rows["rag"].type, rows["rag"].input, rows["rag"].output, rows["rag"].is_root_observation) == (
        "CHAIN",
        '{"q": "why?"}',
        "because",
        True,
    )
    assert (rows["search"].type, rows["search"].parent_observation_id) == ("RETRIEVER", rows["rag"].id)
    assert (rows["search"].metadata or {})["k"] == {"n": 1}
    assert (score.id, score.value, score.timestamp) == ("s1", 0.5, at)


def test_the_sdk_reads_both_answers_to_an_array(sdk: Langfuse) -> None:
    """202 and 207 are what the SDK's union expects."""
    good = CreateScoreRequest(name="a", value=1, trace_id="t")
    bad = CreateScoreRequest(name="a", value=1)

    whole, partial = (sdk.api.scores.create(request=batch) for batch in ([good], [good, bad]))

    assert whole.dict() == {"message": "Accepted"}
    assert (partial.dict()["accepted"], partial.dict()["rejected"]) == (1, 1)


def test_the_sdk_makes_configs_queues_datasets_and_comments(sdk: Langfuse) -> None:
    """The objects around scores can be made and read through the SDK."""
    with sdk.start_as_current_observation(name="rag") as root:
        pass
    sdk.flush()
    config = sdk.api.score_configs.create(name="faithfulness", data_type="NUMERIC", min_value=0, max_value=1)
    queue = sdk.api.annotation_queues.create_queue(name="review", score_config_ids=[config.id])
    item = sdk.api.annotation_queues.create_queue_item(queue.id, object_id=root.trace_id, object_type="TRACE")
    sdk.create_dataset(name="folder/set")
    sdk.create_dataset_item(dataset_name="folder/set", id="i1", input={"q": 1}, source_trace_id=root.trace_id)
    comment = sdk.api.comments.create(
        project_id="local-project", object_type="TRACE", object_id=root.trace_id, content="look"
    )

    assert [found.name for found in sdk.api.score_configs.get().data] == ["faithfulness"]
    assert [found.id for found in sdk.api.annotation_queues.list_queue_items(queue.id).data] == [item.id]
    assert [found.id for found in sdk.get_dataset("folder/set").items] == ["i1"]
    assert [found.id for found in sdk.api.comments.get(object_type="TRACE", object_id=root.trace_id).data] == [
        comment.id
    ]


def test_an_experiment_of_the_sdk(sdk: Langfuse) -> None:
    """`run_experiment` records its spans and item scores here."""
    result = sdk.run_experiment(name="try", data=[{"input": 1}], task=lambda **_: "out")
    sdk.flush()

    assert [item.output for item in result.item_results] == ["out"]
    assert len(sdk.api.observations.get_many(environment="sdk-experiment").data) >= 1


def test_wrong_keys_are_told(local_langfuse: LocalLangfuse, sdk: Langfuse) -> None:
    """The SDK raises its own error for a wrong secret."""
    wrong = Langfuse(
        public_key=f"{local_langfuse.public_key}-other",
        secret_key="wrong",
        base_url=local_langfuse.base_url,
        tracer_provider=TracerProvider(),
    )

    with pytest.raises(UnauthorizedError):
        wrong.auth_check()


@pytest.mark.parametrize("compression", [Compression.Gzip, Compression.NoCompression])
def test_a_plain_otlp_exporter(local_langfuse: LocalLangfuse, compression: Compression) -> None:
    """OpenTelemetry's own exporter needs the endpoint and the keys, nothing else."""
    keys = f"{local_langfuse.public_key}:{local_langfuse.secret_key}"
    exporter = OTLPSpanExporter(
        endpoint=f"{local_langfuse.base_url}/api/public/otel/v1/traces",
        headers={"authorization": "Basic " + b64encode(keys.encode()).decode()},
        compression=compression,
    )
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))

    with provider.get_tracer("ragtrace").start_as_current_span("rag-call", attributes={"input.value": "q"}):
        pass
    provider.shutdown()

    assert [(row.name, row.input) for row in local_langfuse.store.observations.list(limit=9)] == [("rag-call", "q")]
