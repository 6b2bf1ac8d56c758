"""Read scored calls again, as they were read for scoring: recorded ones, and ones rebuilt from a trace's spans."""

from collections.abc import AsyncIterator, Collection, Sequence

from ragtrace.extract import ObservationRow, complete_delivery, read_rag_call, read_trace
from ragtrace.langfuse import LangfuseApi
from ragtrace.model import RagCall
from ragtrace.scorer.reading import key_of
from ragtrace.scorer.state import CallKey
from ragtrace.semconv import SPAN_NAME

_TRACES_AT_ONCE = 10


async def read_again(api: LangfuseApi, keys: Collection[CallKey]) -> AsyncIterator[tuple[CallKey, RagCall]]:
    """Yield each call once; those that Langfuse has no more, or that can be read no more, are left out.

    Raises:
        BackendError: Langfuse could not be read.
    """
    traces = sorted({trace_id for trace_id, _ in keys})
    for start in range(0, len(traces), _TRACES_AT_ONCE):
        some = traces[start : start + _TRACES_AT_ONCE]
        rows = await api.fetch_traces(some)
        for trace_id in some:
            calls = _calls([row for row in rows if row.trace_id == trace_id], keys)
            for key in sorted(calls.keys() & set(keys)):
                yield key, calls[key]


def _calls(rows: Sequence[ObservationRow], keys: Collection[CallKey]) -> dict[CallKey, RagCall]:
    recorded = {key_of(row): row for row in rows if row.name == SPAN_NAME and key_of(row) in keys}
    calls = {key: complete_delivery(read_rag_call(row)) for key, row in recorded.items()}
    if all(key in calls for key in map(key_of, rows) if key in keys):
        return calls
    rebuilt = {(call.trace_id or "", call.observation_id or ""): call for call in read_trace(rows)}
    return rebuilt | calls
