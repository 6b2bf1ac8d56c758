"""One reader for each convention in which spans of a RAG application are written."""

from ragtrace.extract.conventions import langfuse, openinference, openllmetry, otel_genai
from ragtrace.extract.span import Span
from ragtrace.extract.step import Step

# OpenLLMetry's spans carry OTel's attributes beside their own, so it is asked first.
_READERS = (openinference, langfuse, openllmetry, otel_genai)


def read_step(span: Span) -> Step:
    """Read a span by the convention that it says it follows; a span of none is `foreign`."""
    reader = next((reader for reader in _READERS if reader.recognises(span)), None)
    return reader.read(span) if reader else Step(span=span, kind="foreign")


__all__ = ["read_step"]
