"""Carry calls from the queue to where they belong: ragtrace's own exporter, or the application's tracer provider."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakSet

from opentelemetry import trace
from opentelemetry.context import _SUPPRESS_INSTRUMENTATION_KEY, attach, detach, set_value
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, ParentBased

from ragtrace import __version__
from ragtrace.capture.emit import Emitter
from ragtrace.capture.endpoint import find_endpoint
from ragtrace.capture.export import LARGEST_BODY, Sender
from ragtrace.capture.guard import guard
from ragtrace.capture.pace import give_way
from ragtrace.capture.record import CapturedCall
from ragtrace.errors import ConfigError
from ragtrace.masking import Mask, apply
from ragtrace.semconv import SCOPE_NAME
from ragtrace.settings import Settings, load_settings

_LARGEST_RECORD = LARGEST_BODY * 9 // 10
_BATCH_BYTES = 1_000_000
"""Encoding a batch holds the interpreter to its end; of a megabyte that is some milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineConfig:
    """What decides where calls go and what may leave."""

    settings: Settings
    mask: Mask | None = None


class Pipeline:
    """Delivers calls for one project; `deliver` is for the background thread only."""

    def __init__(self, config: PipelineConfig | None) -> None:
        self._config = config
        self._route: _OwnRoute | _ApplicationRoute | None = None
        self._problem: str | None = None

    def reconfigure(self, config: PipelineConfig) -> None:
        """Use another configuration for whatever is delivered from now on."""
        self._config, self._problem = config, None

    def deliver(self, calls: Sequence[CapturedCall], closing: threading.Event) -> int:
        """Write and send calls; return how many were lost."""
        # Our own requests must not become spans of an HTTP instrumentation.
        token = attach(set_value(_SUPPRESS_INSTRUMENTATION_KEY, True))
        try:
            return self._find_route().deliver(calls, closing)
        finally:
            detach(token)

    def flush(self, timeout_seconds: float) -> bool:
        """Wait for the application's own exporter, where that is the one used."""
        route = self._route
        return route.flush(timeout_seconds) if isinstance(route, _ApplicationRoute) else True

    def forget_connections(self) -> None:
        """Drop what a forked child must not share with its parent."""
        self._route = None

    def find_config(self) -> PipelineConfig:
        """Return what was configured, else what the environment says.

        Raises:
            ConfigError: the environment is wrong; said again each time, but looked at only once.
        """
        if self._problem is not None:
            raise ConfigError(self._problem)
        try:
            self._config = self._config or PipelineConfig(settings=load_settings())
        except ConfigError as exc:
            self._problem = str(exc)
            raise
        return self._config

    def _find_route(self) -> "_OwnRoute | _ApplicationRoute":
        config = self.find_config()
        if self._route is None or self._route.config is not config:
            uses_application = config.settings.capture_pipeline == "application"
            self._route = _ApplicationRoute(config) if uses_application else _OwnRoute(config)
        return self._route


class _OwnRoute:
    """A private tracer provider and our own sender: nothing that the application configures changes what we send."""

    def __init__(self, config: PipelineConfig) -> None:
        self.config = config
        limit = min(config.settings.capture_record_bytes, _LARGEST_RECORD)
        self._emitter = Emitter(settings=config.settings, mask=config.mask, limit_bytes=limit)
        self._sender = Sender(find_endpoint(config.settings))
        self._ended = _Ended()
        provider = private_provider(config.mask)
        provider.add_span_processor(self._ended)
        self._tracer = provider.get_tracer(SCOPE_NAME, __version__)

    def deliver(self, calls: Sequence[CapturedCall], closing: threading.Event) -> int:
        lost = waiting_bytes = 0
        waiting: list[ReadableSpan] = []
        for call in calls:
            size = _write(self._emitter, call, self._tracer)
            if size is None:
                lost += 1
                continue
            if waiting_bytes + size > _BATCH_BYTES:
                lost += self._sender.send(waiting, closing)
                waiting, waiting_bytes = [], 0
            waiting += self._ended.take()
            waiting_bytes += size
        return lost + self._sender.send(waiting, closing)


class _ApplicationRoute:
    """The tracer provider that the parent span came from, else the global one, with its limits and exporters."""

    def __init__(self, config: PipelineConfig) -> None:
        self.config = config
        limit = config.settings.capture_record_bytes
        self._emitter = Emitter(settings=config.settings, mask=config.mask, limit_bytes=limit)
        self._used: WeakSet[trace.TracerProvider] = WeakSet()

    def deliver(self, calls: Sequence[CapturedCall], closing: threading.Event) -> int:
        return sum(self._deliver_one(call) for call in calls)

    def flush(self, timeout_seconds: float) -> bool:
        """Flush every provider that spans went through."""
        deadline = time.monotonic() + timeout_seconds
        flushed = [
            provider.force_flush(max(0, int((deadline - time.monotonic()) * 1000)))
            for provider in list(self._used)
            if isinstance(provider, TracerProvider)
        ]
        return all(flushed)

    def _deliver_one(self, call: CapturedCall) -> int:
        provider = call.provider or trace.get_tracer_provider()
        if isinstance(provider, trace.ProxyTracerProvider):
            raise ConfigError(
                "RAGTRACE_CAPTURE_PIPELINE='application': the application has no tracer provider; set one, or use 'own'"
            )
        self._used.add(provider)
        return int(_write(self._emitter, call, provider.get_tracer(SCOPE_NAME, __version__)) is None)


class _Ended(SpanProcessor):
    """Keeps ended spans until they are sent."""

    def __init__(self) -> None:
        self._spans: list[ReadableSpan] = []

    def on_end(self, span: ReadableSpan) -> None:
        self._spans.append(span)

    def take(self) -> list[ReadableSpan]:
        spans, self._spans = self._spans, []
        return spans


def private_provider(mask: Mask | None) -> TracerProvider:
    """Return a provider that environment variables cannot make cut, evict or sample our spans."""
    # Not `Resource.create`: it starts threads, which a program that is ending no longer can.
    resource = OTELResourceDetector().detect()
    return TracerProvider(
        sampler=ParentBased(ALWAYS_ON),
        resource=Resource(_masked(resource, mask), resource.schema_url) if mask else resource,
        shutdown_on_exit=False,
        span_limits=SpanLimits(
            max_span_attributes=SpanLimits.UNSET,
            max_attribute_length=SpanLimits.UNSET,
            max_span_attribute_length=SpanLimits.UNSET,
        ),
    )


def _masked(resource: Resource, mask: Mask) -> dict[str, str]:
    return {key: str(apply(mask, str(value))) for key, value in resource.attributes.items()}


def _write(emitter: Emitter, call: CapturedCall, tracer: trace.Tracer) -> int | None:
    """Write one span; None if it could not be written."""
    give_way()
    with guard("writing a rag-call"):
        return emitter.emit(call, tracer)
    return None
