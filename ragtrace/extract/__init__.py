"""Observations back into calls: what the scorer judges."""

from ragtrace.extract.rag_call import complete_delivery, read_rag_call
from ragtrace.extract.row import ObservationRow

__all__ = ["ObservationRow", "complete_delivery", "read_rag_call"]
