"""Configuring capture, for one project and for several."""

import json
import logging
import os
import threading

import pytest
from opentelemetry.context import _SUPPRESS_INSTRUMENTATION_KEY, Context, attach, detach, set_value
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ragtrace import capture
from ragtrace.capture.client import Capture, reset
from ragtrace.errors import ConfigError
from tests.capture.calls import TEXT, call, config
from tests.capture.otlp_server import OtlpServer, attributes, otlp_server


@pytest.fixture(autouse=True)
def _fresh():
    """Each test starts, and leaves the others, with nothing configured."""
    reset()
    yield
    reset()


@pytest.fixture
def server():
    with otlp_server() as server:
        yield server


def _configure(server: OtlpServer, key: str = "a", **options):
    return capture.configure(base_url=server.url, public_key=f"pk-{key}", secret_key=f"sk-{key}", **options)


def _texts(server: OtlpServer) -> list[str]:
    inputs = [json.loads(str(attributes(span)["langfuse.observation.input"])) for span in server.spans]
    return [record["passages"][0]["text"] for record in inputs]


def test_a_submitted_call_arrives(server):
    """From `submit` to the server, in one piece."""
    _configure(server, environment="test", release="1")
    capture.submit(call(TEXT))

    assert (capture.flush(10), _texts(server)) == (True, [TEXT])
    found = server.attributes()
    assert (found["langfuse.environment"], found["langfuse.release"]) == ("test", "1")
    assert server.headers[0]["x-langfuse-ingestion-version"] == "4"


def test_each_project_gets_its_own_calls_only(server):
    """With two projects in one process, nothing of one is sent with the other's key."""
    clients = {key: _configure(server, key) for key in "ab"}
    for number in range(6):
        for key, client in clients.items():
            client.submit(call(f"TENANT-{key}-ONLY price list number {number}"))
    capture.flush(10)
    sent = {headers["Authorization"]: body for headers, body in zip(server.headers, server.bodies, strict=True)}

    assert {key: [t in body for t in (b"TENANT-a-ONLY", b"TENANT-b-ONLY")] for key, body in sent.items()} == {
        "Basic cGstYTpzay1h": [True, False],
        "Basic cGstYjpzay1i": [False, True],
    }


def test_a_call_without_a_project_is_refused_where_there_are_several(server, caplog):
    """With two projects configured, a call that names none is sent to neither, and the log says what to do."""
    _configure(server, "a")
    _configure(server, "b")
    capture.submit(call(TEXT))
    capture.flush(10)

    assert (server.bodies, "this call names none, so it is not sent: give the handler" in caplog.text) == ([], True)


def test_the_same_project_again_changes_its_settings(server):
    """Configuring twice is one client, with the newer settings and mask."""
    first = _configure(server)
    second = _configure(server, mask=lambda text: text.replace("three", "***"))
    capture.submit(call(TEXT))
    capture.flush(10)

    assert (first is second, _texts(server)) == (True, [TEXT.replace("three", "***")])


def test_wrong_values_are_refused_at_once():
    """`configure` checks what it is given."""
    with pytest.raises(ConfigError, match="capture-rate"):
        capture.configure(rate=2)
    with pytest.raises(ConfigError, match="LANGFUSE_SECRET_KEY"):
        capture.configure(base_url="http://x", public_key="pk")


def test_nothing_configured_costs_a_line_and_no_more(caplog):
    """Without an address calls are dropped and counted, and the log says once what to set."""
    client = Capture(config())
    for _ in range(3):
        client.submit(call())
        assert client.flush(10) is False
    client.shutdown(1)

    assert [r.getMessage() for r in caplog.records] == [
        "ragtrace: delivering captured calls: captured calls go nowhere and are dropped: set LANGFUSE_BASE_URL, "
        "LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY, or OTEL_EXPORTER_OTLP_ENDPOINT",
        "ragtrace: 3 captured calls were not delivered",
    ]


def test_the_environment_is_read_when_a_call_needs_it(monkeypatch, server, tmp_path):
    """Without `configure`, the variables decide, at the time of the first call."""
    monkeypatch.chdir(tmp_path)
    for name, value in {"BASE_URL": server.url, "PUBLIC_KEY": "pk", "SECRET_KEY": "sk"}.items():
        monkeypatch.setenv(f"LANGFUSE_{name}", value)
    capture.submit(call(TEXT))

    assert (capture.flush(10), _texts(server)) == (True, [TEXT])

    capture.configure(mask=str.upper)
    capture.submit(call(TEXT))

    assert (capture.flush(10), _texts(server)) == (True, [TEXT, TEXT.upper()])


def test_a_wrong_environment_is_told_once(monkeypatch, caplog):
    """A variable that is out of its range costs the calls, not the program, and one line."""
    monkeypatch.setenv("RAGTRACE_CAPTURE_RATE", "2")
    for _ in range(3):
        capture.submit(call())
        capture.flush(10)

    assert [r.getMessage() for r in caplog.records] == [
        "ragtrace: delivering captured calls: RAGTRACE_CAPTURE_RATE='2': expected a number from 0 to 1"
    ]


def test_one_call_that_cannot_be_written_costs_only_itself(server):
    """A call that breaks us is lost; those beside it arrive."""
    client = _configure(server)
    for broken in (call("good one"), call(prompt_parts=(3,)), call("good two")):
        client.submit(broken)

    assert (client.flush(10), _texts(server)) == (False, ["good one", "good two"])


def test_ten_healthy_calls_and_one_with_half_an_emoji_arrive(server):
    """Text that is no valid Unicode fails neither itself nor its batch."""
    client = _configure(server)
    for number in range(10):
        client.submit(call(f"healthy {number}"))
    client.submit(call("Rated 5/5 \ud83d by testers", metadata={"note\udc80": "x"}))
    client.flush(10)
    odd = attributes(server.spans[-1])

    assert (len(server.spans), _texts(server)[-1], odd["langfuse.observation.metadata.note\ufffd"]) == (
        11,
        "Rated 5/5 \ufffd by testers",
        "x",
    )


def test_limits_in_the_environment_do_not_cut_our_json(monkeypatch, server):
    """The application's OpenTelemetry limits and samplers are not ours."""
    for name, value in {
        "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "20",
        "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "2",
        "OTEL_TRACES_SAMPLER": "always_off",
    }.items():
        monkeypatch.setenv(name, value)
    _configure(server)
    capture.submit(call(TEXT))
    capture.flush(10)

    assert _texts(server) == [TEXT]


def test_the_mask_covers_the_resource(monkeypatch, server):
    """Also the resource of the spans is masked."""
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "owner=a.sample@example.org")
    _configure(server, mask=lambda text: text.replace("a.sample@example.org", "***"))
    capture.submit(call(TEXT))
    capture.flush(10)

    assert (b"a.sample" in server.bodies[0], b"***" in server.bodies[0]) == (False, True)


def test_the_queue_bound_is_the_settings(server, monkeypatch):
    """Also without `configure`, the bound of the environment holds, once the environment was read."""
    for name, value in {"BASE_URL": server.url, "PUBLIC_KEY": "pk", "SECRET_KEY": "sk"}.items():
        monkeypatch.setenv(f"LANGFUSE_{name}", value)
    monkeypatch.setenv("RAGTRACE_CAPTURE_QUEUE_BYTES", "1000000")
    capture.submit(call("first"))
    capture.flush(10)
    capture.submit(call("x" * 2_000_000))

    assert (capture.flush(10), _texts(server)) == (True, ["first"])


def test_large_calls_all_arrive_in_bounded_bodies():
    """500 calls of 200 KB each arrive at a server that refuses bodies over 4.5 MB."""
    with otlp_server(largest_body=4_500_000, keeps_bodies=False) as server:
        client = _configure(server)
        client.reconfigure(
            config(
                langfuse_base_url=server.url,
                langfuse_public_key="pk",
                langfuse_secret_key="sk",
                capture_queue_bytes=300_000_000,
            )
        )
        texts = [f"passage {n} " * 4_200 for n in range(5)]
        for number in range(500):
            client.submit(call(*texts, question=f"q{number}"))

        assert (client.flush(120), server.refused, server.span_count) == (True, 0, 500)


def test_after_shutdown_calls_are_refused_until_configured_again(server, caplog):
    """The end is the end, said loudly; configuring starts anew."""
    _configure(server)
    capture.shutdown(10)
    capture.submit(call("late"))
    refused = [r.levelno for r in caplog.records]
    _configure(server)
    capture.submit(call("new"))
    capture.flush(10)

    assert (refused, _texts(server)) == ([logging.ERROR], ["new"])


def test_a_client_that_hangs_does_not_use_up_the_others_time(server, caplog):
    """At shutdown all projects are hurried together."""
    with otlp_server(hang=threading.Event()) as hanging:
        stuck = _configure(hanging, "stuck")
        _configure(server, "well").submit(call("well"))
        stuck.submit(call("stuck"))
        capture.shutdown(1.0)

    assert (_texts(server), "1 captured calls were not delivered" in caplog.text) == (["well"], True)


@pytest.fixture
def application():
    """An application's own tracer provider and what it exports."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(resource=Resource({}))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    yield provider, exporter
    provider.shutdown()


def test_the_applications_pipeline_can_be_used(application, server):
    """With `pipeline="application"`, spans go through the provider that the parent came from, and nowhere else."""
    provider, exporter = application
    client = _configure(server, pipeline="application")
    client.submit(call(TEXT, provider=provider))
    done = client.flush(10)

    assert (done, [s.name for s in exporter.get_finished_spans()], server.bodies) == (True, ["rag-call"], [])


def test_the_applications_pipeline_needs_a_provider(server, caplog):
    """Without any provider in the application, calls are lost, and the log says why."""
    client = _configure(server, pipeline="application")
    client.submit(call(TEXT, context=Context()))

    assert (client.flush(10), "the application has no tracer provider" in caplog.text) == (False, True)


def test_a_child_forgets_what_the_parent_delivers(server):
    """After a fork nothing is sent twice, and the child starts with a queue and connections of its own."""
    client = _configure(server)
    client.submit(call("one"))
    client.flush(10)
    client.after_fork_in_child()
    client.submit(call("two"))

    assert (client.flush(10), _texts(server)) == (True, ["one", "two"])


def test_suppressed_code_is_not_captured(server):
    """Under OpenTelemetry's suppression, as judges run, nothing is captured."""
    client = _configure(server)
    token = attach(set_value(_SUPPRESS_INSTRUMENTATION_KEY, True))
    client.submit(call(TEXT))
    detach(token)

    assert (client.flush(10), server.bodies) == (True, [])


def test_a_forked_client_opens_its_own_connections(server):
    """After a fork both processes deliver, each over its own connection."""
    client = _configure(server)
    client.submit(call("parent one"))
    client.flush(10)
    child = os.fork()
    if child == 0:
        client.submit(call("child"))
        os._exit(0 if client.flush(10) else 1)
    _, status = os.waitpid(child, 0)
    client.submit(call("parent two"))
    client.flush(10)

    assert (status, sorted(_texts(server))) == (0, ["child", "parent one", "parent two"])
