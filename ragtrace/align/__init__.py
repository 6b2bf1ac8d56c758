"""Hold retrieved passages against the prompt: which text of which passage was received."""

from ragtrace.align.quick import PART_SEPARATOR, quick

__all__ = ["PART_SEPARATOR", "quick"]
