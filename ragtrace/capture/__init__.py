"""Capture, in the application, what a generator really received; nothing here can slow or break the program."""

from ragtrace.capture.client import Capture, configure, current, flush, shutdown, submit
from ragtrace.capture.decorator import rag_function
from ragtrace.capture.documents import to_passages
from ragtrace.capture.guard import guard
from ragtrace.capture.manual import (
    RagCallScope,
    answered,
    hear_retrieved,
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
    "prompted",
    "rag_call",
    "rag_function",
    "retrieved",
    "shutdown",
    "submit",
    "to_passages",
]
