"""Observations and spans back into calls: what the scorer judges."""

from ragtrace.extract.assemble import Assembled, assemble, assemble_steps
from ragtrace.extract.gather import DocumentLookup
from ragtrace.extract.rag_call import complete_delivery, read_rag_call
from ragtrace.extract.row import ObservationRow
from ragtrace.extract.trace import read_trace

__all__ = [
    "Assembled",
    "DocumentLookup",
    "ObservationRow",
    "assemble",
    "assemble_steps",
    "complete_delivery",
    "read_rag_call",
    "read_trace",
]
