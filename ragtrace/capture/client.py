"""One project's capture, and the default one behind `ragtrace.configure`, `flush` and `shutdown`."""

import atexit
import logging
import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal
from weakref import WeakSet

from opentelemetry.context import _SUPPRESS_INSTRUMENTATION_KEY, get_current

from ragtrace.capture.around import AROUND, is_taken
from ragtrace.capture.collector import Collector
from ragtrace.capture.guard import guard
from ragtrace.capture.pipeline import Pipeline, PipelineConfig
from ragtrace.capture.precedence import Precedence
from ragtrace.capture.record import CapturedCall, UnwrittenCall
from ragtrace.errors import ConfigError
from ragtrace.masking import Mask
from ragtrace.settings import load_settings

logger = logging.getLogger(__name__)
_capturing = guard("capturing a call")

_EXIT_SECONDS = 5.0
_QUEUE_BYTES = 64_000_000
"""Until settings are read, which happens on the background thread unless `configure` is called."""


class Capture:
    """Captured calls on their way to one project; made by `configure`."""

    def __init__(self, config: PipelineConfig | None = None) -> None:
        self._pipeline = Pipeline(config)
        self._precedence = Precedence()
        self._collector = Collector(
            self._deliver,
            limit_bytes=config.settings.capture_queue_bytes if config else _QUEUE_BYTES,
        )
        _alive.add(self)

    def submit(self, call: CapturedCall | UnwrittenCall) -> None:
        """Take over a finished call. Never waits and never raises; costs microseconds."""
        with _capturing:
            self._take(call)

    def _take(self, call: CapturedCall | UnwrittenCall) -> None:
        if get_current().get(_SUPPRESS_INSTRUMENTATION_KEY) or (AROUND.get() is not None and is_taken(call, self)):
            return
        self.accept(call)

    def accept(self, call: CapturedCall | UnwrittenCall) -> None:
        """Take over a finished call, whatever block is around it."""
        self._collector.put(call)

    def flush(self, timeout_seconds: float = 5.0) -> bool:
        """Wait until every call captured so far is delivered; False if some are not, or were lost."""
        deadline = time.monotonic() + timeout_seconds
        is_delivered = self._collector.flush(timeout_seconds)
        return self._pipeline.flush(max(0.0, deadline - time.monotonic())) and is_delivered

    def shutdown(self, timeout_seconds: float = 5.0) -> None:
        """Deliver what waits, for at most this long, say how many calls are lost, and take no more."""
        deadline = time.monotonic() + timeout_seconds
        lost = self._collector.close(timeout_seconds)
        self._pipeline.flush(max(0.0, deadline - time.monotonic()))
        if lost:
            logger.warning("ragtrace: %d captured calls were not delivered", lost)

    def begin_shutdown(self) -> None:
        """Take no more calls and hurry with those that wait; `shutdown` then waits for them."""
        self._collector.begin_closing()

    def reconfigure(self, config: PipelineConfig) -> None:
        """Use another configuration from now on, also for calls that wait already."""
        self._collector.limit_bytes = config.settings.capture_queue_bytes
        self._pipeline.reconfigure(config)

    def after_fork_in_child(self) -> None:
        """Start afresh in a forked child; the parent delivers what it had."""
        self._collector.after_fork_in_child()
        self._pipeline.forget_connections()

    def _deliver(self, calls: Sequence[CapturedCall], closing: threading.Event) -> int:
        self._collector.limit_bytes = self._pipeline.find_config().settings.capture_queue_bytes
        return self._pipeline.deliver(self._precedence.choose(calls), closing)


_alive: WeakSet[Capture] = WeakSet()
_configured: dict[tuple[str | None, str | None], Capture] = {}
_default = Capture()
_override: Capture | None = None


def configure(
    *,
    base_url: str | None = None,
    public_key: str | None = None,
    secret_key: str | None = None,
    mask: Mask | None = None,
    rate: float | None = None,
    pipeline: Literal["own", "application"] | None = None,
    environment: str | None = None,
    release: str | None = None,
) -> Capture:
    """Set up capture for a project; what is not given comes from the environment and `ragtrace.toml`.

    The same project again changes its settings. Several projects in one process: keep what this returns and give
    it to the handler or to `rag_call` (`client=`); a call that names none of them is then refused.

    Raises:
        ConfigError: a value is out of its range, or Langfuse is named only in part.
    """
    overrides = {
        "langfuse_base_url": base_url,
        "langfuse_public_key": public_key,
        "langfuse_secret_key": secret_key,
        "capture_rate": rate,
        "capture_pipeline": pipeline,
        "environment": environment,
        "release": release,
    }
    settings = load_settings(overrides=overrides)
    if base_url or public_key or secret_key:
        settings.require_langfuse()
    config = PipelineConfig(settings=settings, mask=mask)
    project = (settings.langfuse_base_url, settings.langfuse_public_key)
    capture = _configured.get(project)
    if capture is None:
        capture = _configured[project] = Capture(config)
    else:
        capture.reconfigure(config)
    return capture


def submit(call: CapturedCall | UnwrittenCall) -> None:
    """Take over a finished call for the one project there is. Never waits and never raises."""
    with _capturing:
        current()._take(call)


def flush(timeout_seconds: float = 5.0) -> bool:
    """Wait until every call captured so far is delivered; False if some are not, or were lost."""
    deadline = time.monotonic() + timeout_seconds
    delivered = [capture.flush(max(0.0, deadline - time.monotonic())) for capture in list(_alive)]
    return all(delivered)


def shutdown(timeout_seconds: float = 5.0) -> None:
    """Deliver what waits, for at most this long, and stop capturing."""
    deadline = time.monotonic() + timeout_seconds
    # All at once, so that one that hangs does not use up the others' time.
    for capture in list(_alive):
        capture.begin_shutdown()
    for capture in list(_alive):
        capture.shutdown(max(0.0, deadline - time.monotonic()))
    _configured.clear()


def reset() -> None:
    """Forget every project at once, as if nothing had ever been configured; what waits is lost. For tests."""
    global _default
    shutdown(0.0)
    _default = Capture()


def current() -> Capture:
    """Return the one project there is: the configured one, else the environment's.

    Raises:
        ConfigError: several are configured, so that a call must name its own.
    """
    if _override is not None:
        return _override
    if len(_configured) > 1:
        raise ConfigError(
            f"{len(_configured)} projects are configured and this call names none, so it is not sent: "
            "give the handler or `rag_call` its `client=`"
        )
    return next(iter(_configured.values()), _default)


@contextmanager
def using(capture: Capture) -> Iterator[None]:
    """Give calls that name no project to this capture, whatever is configured."""
    global _override
    outer, _override = _override, capture
    try:
        yield
    finally:
        _override = outer


# Both run only where a process ends or forks; tests start such processes, in which nothing is measured.
def _at_exit() -> None:  # pragma: no cover
    try:
        shutdown(_EXIT_SECONDS)
    except KeyboardInterrupt:
        shutdown(0.0)


def _after_fork_in_child() -> None:  # pragma: no cover
    for capture in list(_alive):
        capture.after_fork_in_child()


atexit.register(_at_exit)
# Windows has no fork, and no tests of ours.
if sys.platform != "win32":  # pragma: no branch
    os.register_at_fork(after_in_child=_after_fork_in_child)
