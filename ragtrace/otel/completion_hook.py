"""Take full prompts and answers from OpenTelemetry's GenAI instrumentations, with their content capture off.

Chosen with `OTEL_INSTRUMENTATION_GENAI_COMPLETION_HOOK=ragtrace`; works together with `RagSpanProcessor`.
"""

import logging

from opentelemetry.sdk.trace import Span

from ragtrace.capture import guard
from ragtrace.otel.open_traces import Content
from ragtrace.otel.span_processor import live_processors

_logger = logging.getLogger(__name__)


class RagCompletionHook:
    """Keeps the contents of model calls for the span processor; nothing is written on any span."""

    def __init__(self) -> None:
        self._is_told = False

    def on_completion(
        self,
        *,
        inputs: object,
        outputs: object,
        system_instruction: object,
        tool_definitions: object = None,
        span: object = None,
        log_record: object = None,
    ) -> None:
        """Keep references to what a model was sent and answered; called just before the span ends."""
        with guard("keeping a prompt"):
            processors = live_processors()
            if not processors and not self._is_told:
                self._is_told = True
                _logger.warning(
                    "ragtrace: the completion hook needs a `ragtrace.RagSpanProcessor` on the tracer provider"
                )
            if isinstance(span, Span):
                for processor in processors:
                    processor.note_content(span, Content(inputs, outputs, system_instruction))
