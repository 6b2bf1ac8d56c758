"""Ways in and out through OpenTelemetry: spans of other instrumentations become rag-calls, scores become events."""

from ragtrace.otel.completion_hook import RagCompletionHook
from ragtrace.otel.span_processor import RagSpanProcessor

__all__ = ["RagCompletionHook", "RagSpanProcessor"]
