"""A small OTLP/HTTP server on loopback that keeps what it receives and can misbehave on purpose."""

import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

_GZIP = 31


@dataclass(slots=True)
class OtlpServer:
    """What arrived, and what to answer next."""

    port: int = 0
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    """Every body that came in, refused ones included, decompressed."""
    accepted: list[bytes] = field(default_factory=list)
    answers: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    """Answers to give first, before everything is accepted."""
    largest_body: int | None = None
    """Refuse larger bodies with 413."""
    hang: threading.Event | None = None
    """Answer nothing before this is set."""

    keeps_bodies: bool = True
    """Whether bodies are kept, or spans only counted."""
    span_count: int = 0
    refused: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def spans(self) -> list[Span]:
        return [span for body in self.accepted for span in _spans(body)]

    def take(self, body: bytes, *, is_accepted: bool) -> None:
        if not is_accepted:
            self.refused += 1
        elif self.keeps_bodies:
            self.accepted.append(body)
        else:
            self.span_count += len(_spans(body))

    def attributes(self, index: int = 0) -> dict[str, object]:
        return attributes(self.spans[index])


def _spans(body: bytes) -> list[Span]:
    request = ExportTraceServiceRequest.FromString(body)
    return [span for resource in request.resource_spans for scope in resource.scope_spans for span in scope.spans]


def attributes(span: Span) -> dict[str, object]:
    """Return a span's attributes as Python values."""
    found: dict[str, object] = {}
    for attribute in span.attributes:
        kind = attribute.value.WhichOneof("value")
        if kind == "array_value":
            found[attribute.key] = [item.string_value for item in attribute.value.array_value.values]
        else:
            found[attribute.key] = getattr(attribute.value, str(kind))
    return found


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, state: OtlpServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.state = state
        state.port = self.server_port

    def handle_error(self, *_args: object) -> None:
        """A client that gave up is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        state = self.server.state
        body = self.rfile.read(int(self.headers["Content-Length"]))
        is_too_large = state.largest_body is not None and len(body) > state.largest_body
        if self.headers.get("Content-Encoding") == "gzip":
            body = zlib.decompress(body, wbits=_GZIP)
        state.headers.append(dict(self.headers))
        if state.keeps_bodies:
            state.bodies.append(body)
        if state.hang is not None:
            state.hang.wait()
        status, headers = state.answers.pop(0) if state.answers else (413 if is_too_large else 200, {})
        state.take(body, is_accepted=status == 200)
        self._answer(status, headers)

    def log_message(self, *_args: object) -> None:
        """Tests read what arrived instead."""

    def _answer(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": "2"}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(b"{}")


@contextmanager
def otlp_server(**options: Any) -> Iterator[OtlpServer]:
    """Run a server for the length of a block."""
    state = OtlpServer(**options)
    server = _Server(state)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        if state.hang is not None:
            state.hang.set()
        server.shutdown()
        thread.join()
        server.server_close()
