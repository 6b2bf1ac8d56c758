"""Capture every LangChain call of a process."""

from collections.abc import Collection
from contextvars import ContextVar
from typing import Any

from langchain_core.tracers.context import _configure_hooks, register_configure_hook
from opentelemetry.instrumentation.instrumentor import (  # type: ignore[attr-defined]  # it names no exports
    BaseInstrumentor,
)

from ragtrace_instrumentation_langchain.handler import RagCallbackHandler


class LangchainInstrumentor(BaseInstrumentor):  # type: ignore[misc]  # untyped, see above
    """Gives every chain a `RagCallbackHandler`, by LangChain's own hook: nothing is patched.

    `instrument()` takes the handler's arguments `client` and `tracer_provider`.
    """

    _hook: ContextVar[Any | None]

    def instrumentation_dependencies(self) -> Collection[str]:
        return ("langchain-core >= 1.0",)

    def _instrument(self, **kwargs: Any) -> None:
        handler = RagCallbackHandler(client=kwargs.get("client"), tracer_provider=kwargs.get("tracer_provider"))
        # A default holds in every thread, where a value would hold in this one only.
        self._hook = ContextVar("ragtrace_langchain_handler", default=handler)
        register_configure_hook(self._hook, inheritable=True)

    def _uninstrument(self, **kwargs: Any) -> None:
        _configure_hooks[:] = [hook for hook in _configure_hooks if hook[0] is not self._hook]
