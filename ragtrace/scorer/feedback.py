"""Score calls that users gave feedback on, at rates of their own: a second pass, some time after the calls.

Both passes draw from the same hash of the trace id. A call with feedback is therefore chosen in one of them exactly
when the higher of its two rates takes it, and that rate is its probability: the second pass writes it on what it scores
and on what the first pass has scored already.
"""

import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ragtrace.extract import ObservationRow
from ragtrace.judge import Judge
from ragtrace.langfuse import (
    CallQuery,
    FetchedBatch,
    LangfuseApi,
    OutgoingScore,
    ScoreQuery,
    ScoreRecord,
    StoredScore,
)
from ragtrace.model import JsonValue
from ragtrace.sampling import position
from ragtrace.sampling.strata import Stratum
from ragtrace.scorer.moments import utc_now
from ragtrace.scorer.pauses import pause_after
from ragtrace.scorer.reading import key_of
from ragtrace.scorer.records import score_id
from ragtrace.scorer.selection import Sampling, is_own_row
from ragtrace.scorer.slots import with_thresholds
from ragtrace.scorer.state import CallKey, StateFile
from ragtrace.scorer.tally import Tally
from ragtrace.scorer.window import ScoringOptions, read_recorded, score_rebuilt
from ragtrace.settings import Settings

_POSITION = "feedback"
_TRACES_AT_ONCE = 50
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackKind:
    """Feedback of users that makes calls worth judging."""

    name: str
    rate: float
    score: str
    """Name of the score that users give."""
    values: tuple[str, ...] = ()
    """Any of these categories."""
    below: float | None = None
    above: float | None = None

    def holds(self, score: StoredScore) -> bool:
        """Tell whether a score is feedback of this kind; every condition that is set must hold."""
        value = score.value
        number = None if isinstance(value, str) else float(value)
        return (
            score.name == self.score
            and (not self.values or value in self.values)
            and (self.below is None or (number is not None and number < self.below))
            and (self.above is None or (number is not None and number > self.above))
        )

    def sampling(self, salt: str) -> Sampling:
        """Return the sampling of the second pass: every call has this kind's rate."""
        return Sampling(salt=salt, strata=(Stratum(name=self.name, rate=self.rate),))


class FeedbackPass:
    """Looks for feedback that is new and old enough, and scores what it chooses."""

    def __init__(
        self,
        api: LangfuseApi,
        judge: Judge,
        state: StateFile,
        *,
        options: ScoringOptions,
        kinds: Sequence[FeedbackKind],
        delay: timedelta,
        first_since: datetime,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        """Take the second pass over one project.

        Args:
            options: Of the first pass.
            delay: Age that feedback must have: the first pass is through with its call by then.
            first_since: From where feedback is read when none was read before.
        """
        self._api = api
        self._judge = judge
        self._state = state
        # A call that fails is found again by its feedback; put on the list of retries it would have the first rate.
        self._options = replace(options, postpone=lambda row, reason: None)
        self._kinds = sorted(kinds, key=lambda kind: kind.rate)
        self._delay = delay
        self._first_since = first_since
        self._now = now
        self._misses = 0
        self._not_before = first_since

    async def look(self, query: CallQuery, tally: Tally) -> None:
        """Score calls with feedback that the first pass left out; feedback has a window of its own.

        Raises:
            BackendError: Langfuse could not be read or written; the next look starts where this one did.
        """
        now = self._now()
        until = now - self._delay
        since = self._state.position(_POSITION) or self._first_since
        if since >= until or now < self._not_before:
            return
        chosen = await self._chosen(ScoreQuery(names=tuple({k.score for k in self._kinds}), since=since, until=until))
        pending = tally.pending.total()
        for kind in self._kinds:
            await self._take([trace for trace, its_kind in chosen.items() if its_kind is kind], kind, tally)
        if not tally.stopped_by and tally.pending.total() == pending:
            self._state.move_position(_POSITION, until)
            self._misses = 0
        else:
            # All of it is read again: a call that stays pending must not cost that at every look.
            self._misses += 1
            self._not_before = now + pause_after(self._misses)

    async def _chosen(self, query: ScoreQuery) -> Mapping[str, FeedbackKind]:
        """Return the kind with the highest rate of each trace whose hash is in reach of it."""
        found: dict[str, FeedbackKind] = {}
        async for page in self._api.read_scores(query):
            for score in page:
                trace_id = score.trace_id
                best = max((k for k in self._kinds if k.holds(score)), key=lambda k: k.rate, default=None)
                if trace_id is None or best is None or position(trace_id, self._options.sampling.salt) >= best.rate:
                    continue
                found[trace_id] = max(best, found.get(trace_id, best), key=lambda k: k.rate)
        return found

    async def _take(self, trace_ids: Sequence[str], kind: FeedbackKind, tally: Tally) -> None:
        sampling = kind.sampling(self._options.sampling.salt)
        for start in range(0, len(trace_ids), _TRACES_AT_ONCE):
            some = trace_ids[start : start + _TRACES_AT_ONCE]
            rows = {key_of(row): row for trace_id in some for row in await self._calls(trace_id, sampling)}
            done = set(self._state.known(rows)) | (await self._api.marks(some) & rows.keys())
            await self._correct({key: rows[key] for key in done}, sampling)
            await self._score([row for key, row in rows.items() if key not in done], sampling, tally)

    async def _calls(self, trace_id: str, sampling: Sampling) -> list[ObservationRow]:
        """Return the calls of a trace that this pass takes at a higher rate than the first did."""
        listed = [row async for page in self._api.list_calls(CallQuery(trace_id=trace_id)) for row in page]
        return [
            row
            for row in listed
            if not is_own_row(row)
            and sampling.holds(row)
            and sampling.draw(row).probability > self._first_probability(row)
        ]

    def _first_probability(self, row: ObservationRow) -> float:
        return with_thresholds(self._state, self._options.sampling, row.start_time).draw(row).probability

    async def _score(self, rows: Sequence[ObservationRow], sampling: Sampling, tally: Tally) -> None:
        if not rows:
            return
        tally.listed += len(rows)
        tally.sampled += len(rows)
        await score_rebuilt(
            self._api,
            self._judge,
            self._state,
            batches=self._fetched(rows),
            read_call=read_recorded,
            options=replace(self._options, sampling=sampling),
            tally=tally,
        )

    async def _fetched(self, rows: Sequence[ObservationRow]) -> AsyncIterator[FetchedBatch]:
        async for batch in self._api.fetch(rows):
            yield batch

    async def _correct(self, rows: Mapping[CallKey, ObservationRow], sampling: Sampling) -> None:
        """Write the probability of both passes together on the scores of calls that the first pass took."""
        if not rows:
            return
        outgoing: list[OutgoingScore] = []
        async for page in self._api.read_scores(ScoreQuery(trace_ids=tuple({trace_id for trace_id, _ in rows}))):
            outgoing += _corrected(page, rows, sampling)
        async for receipt in self._api.write_scores(outgoing):
            for refused, reason in receipt.rejected:
                _logger.error("Langfuse refused the corrected score %s: %s", refused, reason)


def _corrected(
    scores: Iterable[StoredScore], rows: Mapping[CallKey, ObservationRow], sampling: Sampling
) -> Iterable[OutgoingScore]:
    for score in scores:
        key = (score.trace_id or "", score.observation_id or "")
        row = rows.get(key)
        if row is None or score.id != score_id(*key, score.name):
            continue
        draw = sampling.draw(row)
        changed: dict[str, JsonValue] = {"inclusion_probability": draw.probability, "stratum": draw.stratum}
        if changed.items() <= score.metadata.items():
            continue
        record = ScoreRecord(
            id=score.id,
            trace_id=key[0],
            observation_id=key[1],
            name=score.name,
            value=score.value,
            data_type="CATEGORICAL" if isinstance(score.value, str) else "NUMERIC",
            timestamp=score.timestamp,
            environment=score.environment,
            comment=score.comment,
            metadata={**score.metadata, **changed},
        )
        yield OutgoingScore(id=record.id, body=record.body())


def make_feedback_pass(
    settings: Settings,
    api: LangfuseApi,
    judge: Judge,
    state: StateFile,
    *,
    options: ScoringOptions,
    first_since: datetime,
) -> FeedbackPass | None:
    """Return the second pass; None where the settings name no feedback."""
    if not settings.feedback:
        return None
    return FeedbackPass(
        api,
        judge,
        state,
        options=options,
        kinds=[FeedbackKind(name=name, **dict(kind)) for name, kind in settings.feedback.items()],
        delay=timedelta(seconds=settings.scorer_feedback_delay_seconds),
        first_since=first_since,
    )
