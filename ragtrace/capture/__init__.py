"""Capture, in the application, what a generator really received; nothing here can slow or break the program."""

from ragtrace.capture.around import is_in_block
from ragtrace.capture.client import Capture, configure, current, flush, shutdown, submit
from ragtrace.capture.decorator import rag_function
from ragtrace.capture.documents import to_passages
from ragtrace.capture.evidence import shows
from ragtrace.capture.guard import guard
from ragtrace.capture.instrumentors import (
    hear_retrieved,
    hears_retrieved,
    is_followed,
    note_follower,
    stop_hearing,
    tell_retrieved,
)
from ragtrace.capture.manual import (
    RagCallScope,
    answered,
    prompted,
    rag_call,
    retrieved,
)
from ragtrace.capture.record import CapturedCall, UnwrittenCall

__all__ = [
    "Capture",
    "CapturedCall",
    "RagCallScope",
    "UnwrittenCall",
    "answered",
    "configure",
    "current",
    "flush",
    "guard",
    "hear_retrieved",
    "hears_retrieved",
    "is_followed",
    "is_in_block",
    "note_follower",
    "prompted",
    "rag_call",
    "rag_function",
    "retrieved",
    "shows",
    "shutdown",
    "stop_hearing",
    "submit",
    "tell_retrieved",
    "to_passages",
]
