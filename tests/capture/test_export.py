"""Sending spans over a real connection."""

import logging
import threading

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ragtrace.capture.endpoint import Endpoint
from ragtrace.capture.export import LARGEST_BODY, Patience, Sender, retry_after
from tests.capture.otlp_server import attributes, otlp_server

QUICK = Patience(seconds=2.0, first_delay_seconds=0.002, read_seconds=0.05)
GONE = "http://127.0.0.1:9/v1/traces"


def _spans(*texts: str) -> tuple[ReadableSpan, ...]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    for text in texts:
        provider.get_tracer("t").start_span("s", attributes={"text": text}).end()
    return exporter.get_finished_spans()


def _sender(url: str, *, patience: Patience = QUICK, headers: dict[str, str] | None = None) -> Sender:
    return Sender(Endpoint(url=url, headers=headers or {}, mend="LANGFUSE_SECRET_KEY"), patience=patience)


def _texts(server) -> list[object]:
    return sorted(str(attributes(span)["text"])[:20] for span in server.spans)


@pytest.fixture
def closing() -> threading.Event:
    return threading.Event()


def test_spans_arrive_with_the_headers_given(closing):
    """One request for several spans, with our headers."""
    with otlp_server() as server:
        lost = _sender(server.url, headers={"Authorization": "Basic x"}).send(_spans("a", "b"), closing)

    assert (lost, _texts(server), server.headers[0]["Authorization"], server.headers[0]["Content-Type"]) == (
        0,
        ["a", "b"],
        "Basic x",
        "application/x-protobuf",
    )


def test_nothing_to_send_is_no_request(closing):
    """No spans, no request."""
    assert _sender(GONE).send((), closing) == 0


def test_bodies_are_compressed_on_their_way_to_another_machine(closing):
    """On loopback compression is a waste; elsewhere bodies are gzip."""
    with otlp_server() as server:
        # The same address, written so that it does not look like loopback.
        _sender(server.url.replace("127.0.0.1", "127.1")).send(_spans("a" * 1000), closing)
        _sender(server.url).send(_spans("b" * 1000), closing)

    assert [headers.get("Content-Encoding") for headers in server.headers] == ["gzip", None]
    assert _texts(server) == ["a" * 20, "b" * 20]


def test_no_body_is_larger_than_the_limit(closing):
    """Spans that are too much for one request go in several."""
    with otlp_server(largest_body=LARGEST_BODY) as server:
        lost = _sender(server.url).send(_spans(*["x" * 1_000_000] * 9), closing)

    assert (lost, len(server.spans), max(map(len, server.bodies)) <= LARGEST_BODY) == (0, 9, True)


def test_a_server_with_a_smaller_limit_gets_smaller_bodies(closing):
    """A refusal as too large is answered by halves."""
    with otlp_server(largest_body=3_000) as server:
        lost = _sender(server.url).send(_spans(*["x" * 1_000] * 8), closing)

    assert (lost, len(server.spans)) == (0, 8)


def test_a_span_that_is_refused_alone_is_lost_alone(closing, caplog):
    """One call that the server will not take does not take the others with it."""
    with otlp_server(largest_body=3_000) as server:
        lost = _sender(server.url).send(_spans("a", "x" * 5_000, "b"), closing)

    assert (lost, _texts(server)) == (1, ["a", "b"])
    assert "lower RAGTRACE_CAPTURE_RECORD_BYTES" in caplog.text


def test_a_bad_span_is_found_by_halving(closing):
    """A batch refused as invalid is split, since servers refuse a whole batch for one span."""
    with otlp_server(answers=[(400, {}), (200, {}), (400, {})]) as server:
        lost = _sender(server.url).send(_spans("a", "b"), closing)

    assert (lost, len(server.spans)) == (1, 1)


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_what_may_pass_is_tried_again(closing, status):
    """Overload and outage are waited out."""
    with otlp_server(answers=[(status, {}), (status, {"Retry-After": "0"})]) as server:
        lost = _sender(server.url).send(_spans("a"), closing)

    assert (lost, len(server.bodies), _texts(server)) == (0, 3, ["a"])


def test_wrong_keys_are_not_tried_again_and_told_once(closing, caplog):
    """A refusal of the keys names them, once, and costs one request a batch."""
    with otlp_server(answers=[(401, {})] * 2) as server:
        sender = _sender(server.url)
        lost = [sender.send(_spans("a"), closing) for _ in range(2)]

    assert (lost, len(server.bodies), len(caplog.records)) == ([1, 1], 2, 1)
    assert "keys are wrong, or of another project: check LANGFUSE_SECRET_KEY" in caplog.text


def test_a_redirect_is_not_followed(closing, caplog):
    """Content goes where it was told to go, nowhere else."""
    with otlp_server(answers=[(302, {"Location": GONE})]) as server:
        lost = _sender(server.url).send(_spans("a"), closing)

    assert (lost, "answered 302" in caplog.text) == (1, True)


def test_a_dead_server_costs_a_bounded_time(closing, caplog):
    """Nobody listening: tried again for as long as patience lasts, then lost with a word about it."""
    sender = _sender(GONE, patience=Patience(seconds=0.02, first_delay_seconds=0.005))
    lost = [sender.send(_spans("a", "b"), closing) for _ in range(2)]

    assert (lost, len(caplog.records)) == ([2, 2], 1)
    assert "does not answer (ConnectionError); 2 captured calls lost so far" in caplog.text


def test_a_server_that_never_answers_is_given_up(closing, caplog):
    """Accepting and then silence is an outage like any other."""
    with otlp_server(hang=threading.Event()) as server:
        lost = _sender(server.url, patience=Patience(seconds=0.0, read_seconds=0.02)).send(_spans("a"), closing)

    assert (lost, "does not answer (ReadTimeout)" in caplog.text) == (1, True)


def test_when_closing_nothing_waits_to_be_tried_again(closing):
    """At the end of the program each body gets one attempt."""
    closing.set()
    with otlp_server(answers=[(503, {})]) as server:
        lost = _sender(server.url, patience=Patience()).send(_spans("a"), closing)

    assert (lost, len(server.bodies)) == (1, 1)


def test_closing_ends_a_wait_with_a_last_attempt(closing):
    """Who waits for a server when the program ends tries once more, at once."""
    with otlp_server(answers=[(503, {"Retry-After": "15"})]) as server:
        threading.Timer(0.02, closing.set).start()
        lost = _sender(server.url, patience=Patience()).send(_spans("a"), closing)

    assert (lost, len(server.bodies)) == (0, 2)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [(None, None), ("3", 3.0), ("-1", 0.0), ("900", 15.0), ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0), ("soon", None)],
)
def test_retry_after_is_read_and_bounded(value, seconds):
    """Seconds or a date, never more than our own longest wait."""
    assert retry_after(value) == seconds


def test_no_body_of_a_reply_reaches_the_log(closing, caplog):
    """What a server says about our content stays out of the log, and so do keys in an address."""
    caplog.set_level(logging.DEBUG)
    with otlp_server(answers=[(418, {})]) as server:
        _sender(server.url.replace("http://", "http://user:hunter2@")).send(_spans("secret text"), closing)

    assert ("hunter2" in caplog.text, "secret text" in caplog.text) == (False, False)
