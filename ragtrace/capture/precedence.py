"""Let what a handler recorded stand before what was rebuilt from spans of the same trace."""

from collections.abc import Sequence

from opentelemetry.trace import get_current_span

from ragtrace.capture.record import CapturedCall

_MOST_TRACES = 10_000


class Precedence:
    """Remembers the traces that have a record of their own; used by one thread."""

    def __init__(self) -> None:
        self._recorded: dict[int, None] = {}

    def choose(self, calls: Sequence[CapturedCall]) -> list[CapturedCall]:
        """Leave out rebuilt calls of traces that have a record of their own, in this batch or an earlier one."""
        for call in calls:
            trace_id = _trace_id(call)
            if trace_id and not call.is_rebuilt:
                self._recorded[trace_id] = None
        for trace_id in list(self._recorded)[: max(0, len(self._recorded) - _MOST_TRACES)]:
            del self._recorded[trace_id]
        return [call for call in calls if not (call.is_rebuilt and _trace_id(call) in self._recorded)]


def _trace_id(call: CapturedCall) -> int:
    """Return the id of the trace that a call belongs to; 0 for one of its own."""
    return get_current_span(call.context).get_span_context().trace_id if call.context is not None else 0
