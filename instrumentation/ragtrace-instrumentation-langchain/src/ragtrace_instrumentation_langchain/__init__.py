"""Capture the passages that a LangChain generator received."""

from ragtrace_instrumentation_langchain.handler import RagCallbackHandler
from ragtrace_instrumentation_langchain.instrumentor import LangchainInstrumentor

__all__ = ["LangchainInstrumentor", "RagCallbackHandler"]
