"""What `ragtrace review push` does: put calls into an annotation queue, each once."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from ragtrace import __version__
from ragtrace.errors import BackendRejected, ConfigError
from ragtrace.langfuse import LangfuseApi, OutgoingScore, ScoreRecord, StoredScore, open_langfuse, queues
from ragtrace.langfuse.configs import ScoreConfig, ScoreShape
from ragtrace.langfuse.queues import Queue
from ragtrace.metrics.diagnosis import all_thresholds
from ragtrace.scorer.records import score_id
from ragtrace.scorer.review import BANDS, Chosen, choose
from ragtrace.scorer.review_scores import Reviews, read_reviews
from ragtrace.scorer.state import CallKey
from ragtrace.semconv import HUMAN_SUPPORTED, RAG_REVIEW
from ragtrace.settings import Settings

QUEUE: Final = "ragtrace review"
_ASKED = "Is everything that the answer states supported by the passages that the model received?"
_SHAPE = ScoreShape(name=HUMAN_SUPPORTED, description=_ASKED, data_type="BOOLEAN")


@dataclass(frozen=True, slots=True, kw_only=True)
class PushRequest:
    """Which calls go into which queue."""

    since: datetime
    queue: str = QUEUE
    share: float = 0.15
    """Of high and of low scores."""
    is_dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PushSummary:
    """What became of the calls."""

    judged: int
    chosen: Mapping[str, int]
    """By band."""
    added: int
    """In a dry run: what would be added."""
    is_dry_run: bool = False
    lacks_question: bool = False
    """The queue was made by somebody else and does not ask what is to be answered."""

    def as_text(self, queue: str) -> str:
        """Return a line for people, or two."""
        bands = ", ".join(f"{self.chosen.get(band, 0)} {band}" for band in BANDS)
        verb = "would be added" if self.is_dry_run else "added"
        present = sum(self.chosen.values()) - self.added
        text = f"{self.judged} judged calls: {bands}; {self.added} {verb} to {queue!r}, {present} already there."
        hint = f"The queue does not ask for {HUMAN_SUPPORTED!r}: add this score config to it in Langfuse."
        return f"{text}\n{hint}" if self.lacks_question else text


async def push(settings: Settings, request: PushRequest) -> PushSummary:
    """Choose calls and put those that are not there into the queue; doing it again adds nothing.

    Raises:
        ConfigError: a setting or the share is wrong.
        BackendError: Langfuse did not answer, or refused.
    """
    if not 0 < request.share <= 1:
        raise ConfigError(f"--share {request.share:g}: expected a number above 0, at most 1; 0.1 to 0.2 is usual")
    async with open_langfuse(settings) as api:
        reviews = await read_reviews(api, since=request.since)
        chosen = choose(
            reviews.judged.values(),
            share=request.share,
            salt=settings.sampling_salt,
            thresholds=all_thresholds(settings.thresholds),
        )
        bands = Counter[str](call.band for call in chosen)
        if request.is_dry_run:
            new = [call for call in chosen if call.key not in reviews.chosen]
            return PushSummary(judged=len(reviews.judged), chosen=bands, added=len(new), is_dry_run=True)
        config = await _config(api)
        queue = await queues.ensure_queue(api.connection, request.queue, description=_ASKED, config_id=config.id)
        added = await _add(api, queue, chosen, reviews)
    lacks_question = config.id not in queue.config_ids
    return PushSummary(judged=len(reviews.judged), chosen=bands, added=added, lacks_question=lacks_question)


async def _config(api: LangfuseApi) -> ScoreConfig:
    config = (await api.ensure_configs([_SHAPE]))[HUMAN_SUPPORTED]
    if config.is_archived or config.data_type != "BOOLEAN":
        raise BackendRejected(
            f"score config {HUMAN_SUPPORTED!r} is archived or not BOOLEAN, so people cannot answer with it: mend it in "
            "Langfuse"
        )
    return config


async def _add(api: LangfuseApi, queue: Queue, chosen: tuple[Chosen, ...], reviews: Reviews) -> int:
    """Record what is chosen, then add it: a call in the queue without a record would count for nothing."""
    present = await queues.queued_observations(api.connection, queue)
    records = [_record(call, reviews.outcomes[call.key]) for call in chosen if _is_news(call, reviews.chosen)]
    async for receipt in api.write_scores([OutgoingScore(id=record.id, body=record.body()) for record in records]):
        if receipt.rejected:
            raise BackendRejected(f"`{RAG_REVIEW}` was not written: {receipt.rejected[0][1]}")
    missing = [call for call in chosen if call.key[1] not in present]
    for call in missing:
        await queues.add_observation(api.connection, queue, call.key[1])
    return len(missing)


def _is_news(call: Chosen, recorded: Mapping[CallKey, Chosen]) -> bool:
    """Tell whether a record is to be written: there is none, or the call has become more likely to be chosen.

    Calls of a smaller share are among those of a larger one, so the largest share is what holds for all of them.
    """
    known = recorded.get(call.key)
    return known is None or call.probability > known.probability


def _record(call: Chosen, outcome: StoredScore) -> ScoreRecord:
    trace_id, observation_id = call.key
    return ScoreRecord(
        id=score_id(trace_id, observation_id, RAG_REVIEW),
        trace_id=trace_id,
        observation_id=observation_id,
        name=RAG_REVIEW,
        value=call.band,
        data_type="CATEGORICAL",
        timestamp=outcome.timestamp,
        environment=outcome.environment,
        metadata={"inclusion_probability": call.probability, "ragtrace": __version__},
    )
