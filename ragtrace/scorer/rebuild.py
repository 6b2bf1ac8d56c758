"""Score traces that carry no rag-call: found by their retrievals, rebuilt by `ragtrace.extract` once they are whole."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import groupby

from ragtrace.extract import ObservationRow
from ragtrace.judge import Judge
from ragtrace.langfuse import CallQuery, FetchedBatch, LangfuseApi, TooLarge
from ragtrace.model import RagCall
from ragtrace.scorer.reading import key_of
from ragtrace.scorer.rebuild_rules import Rules, read
from ragtrace.scorer.selection import Sampling, is_own_row
from ragtrace.scorer.slots import with_thresholds
from ragtrace.scorer.state import CallKey, StateFile
from ragtrace.scorer.tally import Tally
from ragtrace.scorer.window import ScoringOptions, score_rebuilt
from ragtrace.settings import Settings

SECTION = "traces"
"""Where the state file keeps what was done with such traces."""
_WHOLE_TRACE = "trace"
"""Stands for an observation id where a whole trace is meant."""
_TRACES_AT_ONCE = 20
_RETRIES_A_PASS = 200
_GIVEN_UP_AFTER = timedelta(days=7)
_NOTHING = FetchedBatch(rows=(), missing=(), too_large=())
# Langfuse knows no type for the retrieval spans of OpenLLMetry and OTel: it shows them as plain spans.
_RETRIEVALS = (
    CallQuery(name=None, type="RETRIEVER"),
    CallQuery(name_prefix="vector_db_retrieve"),
    CallQuery(name_prefix="retrieval"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """A trace in which something was retrieved."""

    trace_id: str
    started: datetime
    """When the first retrieval that we know of began: decides the sample, as a rag-call's start does."""
    ended: datetime
    retrieval_id: str = _WHOLE_TRACE
    """An observation of it, if it was listed just now."""

    @property
    def key(self) -> CallKey:
        return (self.trace_id, _WHOLE_TRACE)


class TraceRebuilder:
    """Looks for traces of other instrumentations. What is not whole is put off; nothing else waits for it.

    A trace with a rag-call is left to `score_calls`, which has to come first. Strata do not apply: what they ask
    about is known of rag-calls only.
    """

    def __init__(
        self, api: LangfuseApi, judge: Judge, state: StateFile, *, options: ScoringOptions, rules: Rules
    ) -> None:
        self._api = api
        self._judge = judge
        self._recorded = state
        self._state = state.section(SECTION)
        self._rules = rules
        self._options = options

    async def look(self, query: CallQuery, tally: Tally) -> None:
        """Score what a window of retrievals holds, and what was put off and is due again.

        Args:
            query: The window; which names it asks for does not matter.
            tally: Counts a trace as the calls that it holds, and as one while that is not known.

        Raises:
            BackendError: Langfuse could not be read or written.
        """
        now = self._options.now()
        self._state.expire(now - _GIVEN_UP_AFTER)
        retries = self._state.due(now, limit=_RETRIES_A_PASS)
        due = [_Candidate(trace_id=r.key[0], started=r.started_at, ended=r.started_at) for r in retries]
        tally.listed += len(due)
        tally.sampled += len(due)
        await self._score(due, tally)
        async for listed in self._list(query):
            if tally.stopped_by:
                return
            await self._score([c for c in listed if self._is_wanted(c, tally)], tally)

    async def _list(self, query: CallQuery) -> AsyncIterator[list[_Candidate]]:
        """Yield the traces in which something was retrieved, page by page."""
        for kind in _RETRIEVALS:
            previous: set[str] = set()
            window = replace(query, name=kind.name, name_prefix=kind.name_prefix, type=kind.type)
            async for page in self._api.list_calls(window):
                rows = sorted((r for r in page if not is_own_row(r)), key=lambda row: row.trace_id)
                groups = groupby(rows, key=lambda row: row.trace_id)
                found = [_candidate(trace_id, list(group)) for trace_id, group in groups if trace_id not in previous]
                previous = {row.trace_id for row in rows}
                yield found

    def _is_wanted(self, candidate: _Candidate, tally: Tally) -> bool:
        """Leave out traces that have a rag-call, are done, are put off, or are not in the sample."""
        key = candidate.key
        if self._recorded.has_trace(candidate.trace_id):
            return False
        tally.listed += 1
        if not self._sampling([candidate]).holds(_stand_in(candidate)):
            tally.not_sampled += 1
            return False
        tally.sampled += 1
        if key in self._state.known([key]) and not self._options.is_rescore:
            tally.already_scored += 1
            return False
        if key in self._state.postponed([key]):
            tally.put_off += 1
            return False
        return True

    def _sampling(self, candidates: Sequence[_Candidate]) -> Sampling:
        oldest = min((c.started for c in candidates), default=self._options.now())
        return replace(with_thresholds(self._recorded, self._options.sampling, oldest), strata=())

    async def _score(self, wanted: Sequence[_Candidate], tally: Tally) -> None:
        if not wanted and not self._state.outbox_bytes():
            return
        by_trace = {candidate.trace_id: candidate for candidate in wanted}

        def postpone(row: ObservationRow, reason: str) -> None:
            candidate = by_trace[row.trace_id]
            self._state.postpone(candidate.key, started_at=candidate.started, reason=reason, now=self._options.now())
            waiting.add(candidate.key)

        waiting: set[CallKey] = set()
        calls: dict[CallKey, RagCall] = {}
        await score_rebuilt(
            self._api,
            self._judge,
            self._state,
            batches=self._batches(wanted, calls, tally),
            read_call=lambda row: calls.pop(key_of(row)),
            options=replace(self._options, sampling=self._sampling(wanted), postpone=postpone),
            tally=tally,
        )
        if not tally.stopped_by:
            self._state.remember_done(c.key for c in wanted if c.key not in waiting)

    async def _batches(
        self, wanted: Sequence[_Candidate], calls: dict[CallKey, RagCall], tally: Tally
    ) -> AsyncIterator[FetchedBatch]:
        """Yield the observations that the calls of some traces are scored on, and put the calls into `calls`."""
        now = self._options.now()
        fresh = [c for c in wanted if now - c.ended < self._rules.settle]
        yield replace(_NOTHING, missing=tuple(map(_stand_in, fresh)))
        settled = [candidate for candidate in wanted if candidate not in fresh]
        for start in range(0, len(settled), _TRACES_AT_ONCE):
            async for candidate, rows in self._fetch(settled[start : start + _TRACES_AT_ONCE]):
                if rows is not None:
                    yield await self._decide(candidate, rows, calls, tally)
                elif candidate.retrieval_id == _WHOLE_TRACE:
                    yield replace(_NOTHING, missing=(_stand_in(candidate),))
                else:
                    yield replace(_NOTHING, too_large=(_stand_in(candidate),))

    async def _fetch(self, some: Sequence[_Candidate]) -> AsyncIterator[tuple[_Candidate, list[ObservationRow] | None]]:
        """Yield traces with all their observations; None where Langfuse cannot answer even one trace alone."""
        try:
            rows = await self._api.fetch_traces([candidate.trace_id for candidate in some])
        except TooLarge:
            if len(some) == 1:
                yield some[0], None
                return
            for candidate in some:
                async for fetched in self._fetch([candidate]):
                    yield fetched
            return
        for candidate in some:
            yield candidate, [row for row in rows if row.trace_id == candidate.trace_id]

    async def _decide(
        self, candidate: _Candidate, rows: list[ObservationRow], calls: dict[CallKey, RagCall], tally: Tally
    ) -> FetchedBatch:
        reading = read(rows, listed_end=candidate.ended, rules=self._rules, now=self._options.now())
        if reading.state == "waiting":
            return replace(_NOTHING, missing=(_stand_in(candidate),))
        if reading.state == "given_up" and rows:
            return replace(_NOTHING, given_up=(_retrieval(rows),))
        # A trace with a rag-call is counted as such, a judge's own never; so only calls of a whole trace remain.
        found = {(call.trace_id or "", call.observation_id or ""): call for call in reading.calls}
        done = set() if self._options.is_rescore else await self._done(candidate, found)
        tally.listed += len(found) - 1
        tally.sampled += len(found) - 1
        tally.already_scored += len(done)
        calls |= {key: call for key, call in found.items() if key not in done}
        # Drawn by the start of the retrieval: the same sample, and the same probability, as when it was listed.
        return replace(
            _NOTHING, rows=tuple(replace(r, start_time=candidate.started) for r in rows if key_of(r) in calls)
        )

    async def _done(self, candidate: _Candidate, calls: dict[CallKey, RagCall]) -> set[CallKey]:
        if not calls:
            return set()
        known = set(self._state.known(calls))
        return known | ((await self._api.marks([candidate.trace_id])) & calls.keys())


def _candidate(trace_id: str, rows: Sequence[ObservationRow]) -> _Candidate:
    return _Candidate(
        trace_id=trace_id,
        retrieval_id=rows[0].id,
        started=min(row.start_time for row in rows),
        ended=max(row.end_time or row.start_time for row in rows),
    )


def _stand_in(candidate: _Candidate) -> ObservationRow:
    """Return a row for a trace that was not read."""
    return ObservationRow(
        id=candidate.retrieval_id,
        trace_id=candidate.trace_id,
        name="",
        type="",
        start_time=candidate.started,
        end_time=candidate.ended,
    )


def _retrieval(rows: Sequence[ObservationRow]) -> ObservationRow:
    """Return the observation that the mark of an incomplete trace belongs on."""
    return next((row for row in rows if row.type == "RETRIEVER"), rows[0])


def make_rebuilder(
    settings: Settings, api: LangfuseApi, judge: Judge, state: StateFile, options: ScoringOptions
) -> TraceRebuilder | None:
    """Return what scores traces without a rag-call; None where the settings do not ask for it."""
    if not settings.scorer_rebuild:
        return None
    rules = Rules(
        settle=timedelta(seconds=settings.scorer_settle_seconds),
        deadline=timedelta(seconds=settings.scorer_incomplete_seconds),
    )
    return TraceRebuilder(api, judge, state, options=options, rules=rules)
