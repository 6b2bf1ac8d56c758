"""Send spans to one OTLP/HTTP endpoint: bounded bodies, bounded retries, nothing raised."""

import logging
import random
import threading
import time
import zlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

import requests
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan

from ragtrace.capture.endpoint import Endpoint
from ragtrace.capture.pace import give_way

logger = logging.getLogger(__name__)

LARGEST_BODY = 4_500_000
_LARGE = 1_000
"""Characters from which on a value is not left to be copied."""
_CONNECT_SECONDS = 5.0
_READ_SECONDS = 10.0
_RETRY_FOR_SECONDS = 45.0
_LONGEST_DELAY_SECONDS = 15.0
_FASTEST_COMPRESSION = 1
_GZIP = 31
_REPEAT_SECONDS = 600.0
_RETRYABLE = (408, 429, 500, 502, 503, 504)
_TOO_LARGE = 413
_DIVISIBLE = (400, _TOO_LARGE)
_CREDENTIALS = (401, 403)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long to keep trying."""

    seconds: float = _RETRY_FOR_SECONDS
    """Time after which a body is given up."""
    first_delay_seconds: float = 0.5
    read_seconds: float = _READ_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reply:
    status: int | None
    """None: no answer."""
    problem: str
    retry_after_seconds: float | None = None


class Sender:
    """Posts spans to one endpoint; used from one thread."""

    def __init__(self, endpoint: Endpoint, *, patience: Patience | None = None) -> None:
        self._endpoint = endpoint
        self._patience = patience or Patience()
        self._session = _open_session(endpoint.url)
        self._told: dict[str, float] = {}
        self._lost = 0

    def send(self, spans: Sequence[ReadableSpan], closing: threading.Event) -> int:
        """Deliver spans, trying again where that may help, and return how many were lost.

        Args:
            spans: Ended spans.
            closing: Once set, nothing waits to be tried again.
        """
        if not spans:
            return 0
        give_way()
        body = encode(spans)
        give_way()
        if len(body) > LARGEST_BODY and len(spans) > 1:
            return self._send_halves(spans, closing)
        reply = self._persist(body, closing)
        if reply.status is not None and reply.status < 300:
            return 0
        if reply.status in _DIVISIBLE and len(spans) > 1:
            return self._send_halves(spans, closing)
        self._complain(reply, size=len(body), lost=len(spans))
        return len(spans)

    def _send_halves(self, spans: Sequence[ReadableSpan], closing: threading.Event) -> int:
        middle = len(spans) // 2
        return self.send(spans[:middle], closing) + self.send(spans[middle:], closing)

    def _persist(self, body: bytes, closing: threading.Event) -> _Reply:
        give_up_at = time.monotonic() + self._patience.seconds
        delay = self._patience.first_delay_seconds
        while True:
            was_closing = closing.is_set()
            reply = self._post(body)
            if reply.status is not None and reply.status not in _RETRYABLE:
                return reply
            pause = reply.retry_after_seconds or delay * random.uniform(0.5, 1.0)
            if was_closing or time.monotonic() + pause > give_up_at:
                return reply
            closing.wait(pause)
            delay = min(delay * 2, _LONGEST_DELAY_SECONDS)

    def _post(self, body: bytes) -> _Reply:
        headers = {**self._endpoint.headers, "Content-Type": "application/x-protobuf"}
        if self._endpoint.is_compressed:
            packer = zlib.compressobj(_FASTEST_COMPRESSION, wbits=_GZIP)
            body, headers["Content-Encoding"] = packer.compress(body) + packer.flush(), "gzip"
        try:
            response = self._session.post(
                self._endpoint.url,
                data=body,
                headers=headers,
                timeout=(_CONNECT_SECONDS, self._patience.read_seconds),
                allow_redirects=False,
            )
        except requests.RequestException as exc:
            return _Reply(status=None, problem=f"does not answer ({type(exc).__name__})")
        return _Reply(
            status=response.status_code,
            problem=f"answered {response.status_code}",
            retry_after_seconds=retry_after(response.headers.get("Retry-After")),
        )

    def _complain(self, reply: _Reply, *, size: int, lost: int) -> None:
        """Log why spans were lost: a refusal once, an outage now and then with what it cost so far."""
        self._lost += lost
        now = time.monotonic()
        may_pass = reply.status is None or reply.status in _RETRYABLE
        told_at = self._told.get(reply.problem)
        if told_at is not None and not (may_pass and now - told_at >= _REPEAT_SECONDS):
            return
        self._told[reply.problem] = now
        logger.error(
            "ragtrace: %s %s; %d captured calls lost so far; %s",
            self._endpoint.shown,
            reply.problem,
            self._lost,
            self._mend(reply.status, size),
        )

    def _mend(self, status: int | None, size: int) -> str:
        if status == _TOO_LARGE:
            return f"it takes no call of {size} bytes: lower RAGTRACE_CAPTURE_RECORD_BYTES"
        if status in _CREDENTIALS:
            return f"the keys are wrong, or of another project: check {self._endpoint.mend}"
        return f"check {self._endpoint.mend}"


def encode(spans: Sequence[ReadableSpan]) -> bytes:
    """Write spans of one provider and scope as the body of an OTLP request.

    OpenTelemetry's encoder copies each value five times on its way into the request, so large ones are put in after it.
    """
    large = [{key: v for key, v in _attributes(span) if isinstance(v, str) and len(v) >= _LARGE} for span in spans]
    request = encode_spans([_without(span, texts) for span, texts in zip(spans, large, strict=True)])
    encoded = [span for resource in request.resource_spans for scope in resource.scope_spans for span in scope.spans]
    for span, texts in zip(encoded, large, strict=True):
        for key, text in texts.items():
            span.attributes.add(key=key).value.string_value = text
    return request.SerializeToString()


def _attributes(span: ReadableSpan) -> Iterable[tuple[str, object]]:
    return (span.attributes or {}).items()


def _without(span: ReadableSpan, keys: Collection[str]) -> ReadableSpan:
    return ReadableSpan(
        name=span.name,
        context=span.context,
        parent=span.parent,
        resource=span.resource,
        attributes={key: value for key, value in (span.attributes or {}).items() if key not in keys},
        kind=span.kind,
        instrumentation_scope=span.instrumentation_scope,
        status=span.status,
        start_time=span.start_time,
        end_time=span.end_time,
    )


def _open_session(url: str) -> requests.Session:
    """Return a session that knows the environment's proxies and certificates, and looks for them no more.

    Nor for a `.netrc`, an entry of which would replace our header.
    """
    session = requests.Session()
    found = session.merge_environment_settings(url, {}, None, None, None)
    session.proxies, session.verify, session.trust_env = dict(found["proxies"]), found["verify"], False
    return session


def retry_after(value: str | None) -> float | None:
    """Return the seconds that a `Retry-After` header asks for, bounded; None if it says nothing."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except ValueError:
            return None
    return min(max(seconds, 0.0), _LONGEST_DELAY_SECONDS)
