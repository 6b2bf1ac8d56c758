"""Score what your RAG generator actually saw."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragtrace.capture import answered, configure, flush, prompted, rag_call, rag_function, retrieved, shutdown
    from ragtrace.otel import RagSpanProcessor

__version__ = "0.1.0"

__all__ = [
    "RagSpanProcessor",
    "__version__",
    "answered",
    "configure",
    "flush",
    "prompted",
    "rag_call",
    "rag_function",
    "retrieved",
    "shutdown",
]


def __getattr__(name: str) -> object:
    """Load a public name where it is first used: `import ragtrace` alone costs nothing."""
    if name in __all__:
        return getattr(import_module("ragtrace.otel" if name == "RagSpanProcessor" else "ragtrace.capture"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
