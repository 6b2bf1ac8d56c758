"""Decide whether a trace without a rag-call is whole, and what is scored of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from ragtrace.extract import ObservationRow, read_trace
from ragtrace.model import RagCall
from ragtrace.scorer.selection import is_own_row
from ragtrace.semconv import SPAN_NAME

TraceState = Literal["recorded", "own", "waiting", "given_up", "whole"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """When a trace counts as whole."""

    settle: timedelta = timedelta(minutes=1)
    """Nothing of it ended for so long."""
    deadline: timedelta = timedelta(minutes=30)
    """So long after its last end, nothing more is waited for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a trace turned out to be."""

    state: TraceState
    calls: tuple[RagCall, ...] = ()
    """Where the state is `whole`."""


def read(rows: Sequence[ObservationRow], *, listed_end: datetime, rules: Rules, now: datetime) -> Reading:
    """Read all that Langfuse has of a trace.

    Args:
        rows: The trace's observations; none where Langfuse does not show them yet.
        listed_end: When the retrieval ended by which the trace was found.
        rules: How long to wait.
        now: The time.
    """
    if any(row.name == SPAN_NAME for row in rows):
        return Reading(state="recorded")
    if any(map(is_own_row, rows)):
        return Reading(state="own")
    last_end = max([row.end_time or row.start_time for row in rows] or [listed_end])
    is_late = now - last_end >= rules.deadline
    if not is_late and (now - last_end < rules.settle or not _hangs_together(rows)):
        return Reading(state="waiting")
    calls = read_trace(rows)
    if calls:
        return Reading(state="whole", calls=calls)
    return Reading(state="given_up" if is_late else "waiting")


def _hangs_together(rows: Sequence[ObservationRow]) -> bool:
    """Tell whether all observations are ended and under one root.

    Observations are sent when they end, the root last. A parent that never comes is usual, since exporters leave out
    the spans of web servers; two of them mean that something is still under way.
    """
    ids = {row.id for row in rows}
    roots = {row.parent_id or row.id for row in rows if row.parent_id not in ids}
    return len(roots) == 1 and all(row.end_time is not None for row in rows)
