"""Capture the passages that a model behind the openai client received."""

from ragtrace_instrumentation_openai.instrumentor import OpenaiInstrumentor

__all__ = ["OpenaiInstrumentor"]
