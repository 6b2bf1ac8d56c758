"""Find the calls that are to be judged: listed without content, sampled, not done; then their content."""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence

from ragtrace.extract import ObservationRow
from ragtrace.langfuse import CallQuery, FetchedBatch, LangfuseApi
from ragtrace.scorer.selection import Sampling, is_own_row
from ragtrace.scorer.state import CallKey, Retry, StateFile
from ragtrace.scorer.tally import Tally
from ragtrace.semconv import SPAN_NAME


def key_of(row: ObservationRow) -> CallKey:
    """Return what identifies a call."""
    return (row.trace_id, row.id)


class CallReader:
    """Reads open calls and counts the others; a call that was handed out and not released is not handed out again."""

    def __init__(
        self,
        api: LangfuseApi,
        state: StateFile,
        *,
        sampling: Sampling,
        tally: Tally,
        is_rescore: bool,
        put_off: Callable[[Iterable[CallKey]], set[CallKey]] = lambda keys: set(),
    ) -> None:
        """Read one project's calls.

        Args:
            put_off: Returns those of some calls whose time has not come yet.
        """
        self._api = api
        self._state = state
        self._sampling = sampling
        self._tally = tally
        self._is_rescore = is_rescore
        self._put_off = put_off
        self._in_flight: set[CallKey] = set()

    async def open_calls(self, query: CallQuery) -> AsyncIterator[list[ObservationRow]]:
        """Yield, page by page, the calls to be judged, without content."""
        previous: set[CallKey] = set()
        async for page in self._api.list_calls(query):
            # A span that was sent twice is listed twice, one row after the other, perhaps over the end of a page.
            rows = {key_of(row): row for row in page if key_of(row) not in previous}
            previous = set(rows)
            wanted = await self._open(rows)
            self._in_flight |= {key_of(row) for row in wanted}
            yield wanted

    async def with_content(self, query: CallQuery) -> AsyncIterator[FetchedBatch]:
        """Yield the calls to be judged, with content, in batches bounded in bytes."""
        async for wanted in self.open_calls(query):
            async for batch in self._api.fetch(wanted):
                yield batch

    async def again(self, retries: Sequence[Retry]) -> AsyncIterator[FetchedBatch]:
        """Yield calls that were put off, with content."""
        rows = [
            ObservationRow(id=r.key[1], trace_id=r.key[0], name=SPAN_NAME, type="", start_time=r.started_at)
            for r in retries
        ]
        self._tally.listed += len(rows)
        self._tally.sampled += len(rows)
        self._in_flight |= {key_of(row) for row in rows}
        async for batch in self._api.fetch(rows):
            yield batch

    def release(self, key: CallKey) -> None:
        """Say that a call is through, or will be tried another time."""
        self._in_flight.discard(key)

    async def _open(self, rows: dict[CallKey, ObservationRow]) -> list[ObservationRow]:
        tally = self._tally
        foreign = {key: row for key, row in rows.items() if not is_own_row(row)}
        sampled = {key: row for key, row in foreign.items() if self._sampling.holds(row)}
        tally.listed += len(rows)
        tally.own_traffic += len(rows) - len(foreign)
        tally.not_sampled += len(foreign) - len(sampled)
        tally.sampled += len(sampled)
        done = set() if self._is_rescore else await self._done(sampled)
        put_off = self._put_off(sampled.keys() - done)
        tally.already_scored += len(done)
        tally.put_off += len(put_off)
        return [row for key, row in sampled.items() if key not in done | put_off]

    async def _done(self, rows: dict[CallKey, ObservationRow]) -> set[CallKey]:
        known = set(self._state.known(rows)) | (self._in_flight & rows.keys())
        unknown = [key for key in rows if key not in known]
        marked = (await self._api.marks(trace_id for trace_id, _ in unknown)) & set(unknown)
        self._state.remember_done(marked)
        return known | marked
