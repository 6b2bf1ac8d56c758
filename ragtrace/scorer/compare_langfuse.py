"""Read one side of a comparison from Langfuse: the judged calls of a window, a release or a tag."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from ragtrace.errors import ConfigError
from ragtrace.extract import ObservationRow, json_text, read_rag_call
from ragtrace.langfuse import CallQuery, LangfuseApi, ScoreQuery
from ragtrace.scorer.compare_rows import KIND, Sample
from ragtrace.scorer.moments import parse_moment
from ragtrace.scorer.rows import KIND_TAG
from ragtrace.scorer.state import CallKey
from ragtrace.text import normalise

ITEM: Final = "dataset_item_id"
"""Metadata key by which an application says which row of a data set it answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """Which calls of Langfuse make a side."""

    query: CallQuery
    is_wanted: Callable[[ObservationRow], bool] = lambda row: True


def parse_side(text: str, *, since: datetime, now: datetime) -> Calls | Path:
    """Read `24h..12h`, `release:x`, `tag:x`, or the name of a file.

    Args:
        text: What the user wrote.
        since: Start of the time in which a release or a tag is looked for.
        now: The time.

    Raises:
        ConfigError: it is none of these.
    """
    word, colon, name = text.partition(":")
    if colon and word == "release":
        return Calls(query=CallQuery(since=since), is_wanted=lambda row: row.release == name)
    if colon and word == "tag":
        return Calls(query=CallQuery(since=since), is_wanted=lambda row: name in row.tags)
    if Path(text).is_file():
        return Path(text)
    start, dots, end = text.partition("..")
    if not dots:
        raise ConfigError(
            f"{text!r}: no such file; expected a file, a window (24h..12h, 2026-03-01..2026-03-08), release:NAME or "
            "tag:NAME"
        )
    return Calls(
        query=CallQuery(
            since=parse_moment(start, option="window", now=now),
            until=parse_moment(end, option="window", now=now) if end else None,
        )
    )


async def read_calls(api: LangfuseApi, calls: Calls) -> list[Sample]:
    """Return the judged calls of a side, with their questions: the content of calls without a score is not read."""
    listed = {(r.trace_id, r.id): r async for page in api.list_calls(calls.query) for r in page if calls.is_wanted(r)}
    scores = await _scores(api, calls.query, listed)
    samples: list[Sample] = []
    async for batch in api.fetch([listed[key] for key in scores]):
        for row in batch.rows:
            values, probability = scores[row.trace_id, row.id]
            samples.append(_sample(row, values, probability))
    return samples


async def _scores(
    api: LangfuseApi, query: CallQuery, listed: Mapping[CallKey, ObservationRow]
) -> dict[CallKey, tuple[dict[str, float], float]]:
    found: dict[CallKey, tuple[dict[str, float], float]] = {}
    async for page in api.read_scores(ScoreQuery(since=query.since, until=query.until)):
        for score in page:
            key = (score.trace_id or "", score.observation_id or "")
            probability = json_text.as_number(score.metadata.get("inclusion_probability"))
            is_ours = probability is not None and score.source == "API"
            if is_ours and probability and key in listed and isinstance(score.value, int | float):
                found.setdefault(key, ({}, probability))[0][score.name] = float(score.value)
    return found


def _sample(row: ObservationRow, values: Mapping[str, float], probability: float) -> Sample:
    question = read_rag_call(row).question
    tagged = next((tag.removeprefix(KIND_TAG) for tag in row.tags if tag.startswith(KIND_TAG)), None)
    return Sample(
        values=values,
        item=json_text.as_text(json_text.metadata_value(row.metadata, ITEM)),
        question=normalise(question) if question else None,
        kind=json_text.as_text(json_text.metadata_value(row.metadata, KIND)) or tagged,
        probability=probability,
        cluster=row.trace_id,
    )
