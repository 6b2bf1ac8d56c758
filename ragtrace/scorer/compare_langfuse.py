"""Read one side of a comparison from Langfuse: the judged calls of a window, a release or a tag."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from ragtrace.errors import ConfigError
from ragtrace.extract import ObservationRow, json_text, read_rag_call
from ragtrace.langfuse import CallQuery, LangfuseApi, ScoreQuery, datasets
from ragtrace.scorer.compare_rows import KIND, Sample
from ragtrace.scorer.moments import parse_moment
from ragtrace.scorer.rows import KIND_TAG
from ragtrace.scorer.state import CallKey
from ragtrace.semconv import META_EXPERIMENT, META_EXPERIMENT_DATASET, META_EXPERIMENT_ITEM
from ragtrace.text import normalise

_ITEMS: Final = ("dataset_item_id", META_EXPERIMENT_ITEM)
"""Metadata keys that say which row of a data set is answered: the application's, and an experiment's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """Which calls of Langfuse make a side."""

    query: CallQuery
    is_wanted: Callable[[ObservationRow], bool] = lambda row: True
    run: str | None = None
    """Only those of an experiment run: its name, or the name of its dataset, a slash, and its name."""


def parse_side(text: str, *, since: datetime, now: datetime) -> Calls | Path:
    """Read `24h..12h`, `release:x`, `tag:x`, `run:x`, or the name of a file.

    Args:
        text: What the user wrote.
        since: Start of the time in which a release, a tag or a run is looked for.
        now: The time.

    Raises:
        ConfigError: it is none of these.
    """
    word, colon, name = text.partition(":")
    if colon and word == "release":
        return Calls(query=CallQuery(since=since), is_wanted=lambda row: row.release == name)
    if colon and word == "tag":
        return Calls(query=CallQuery(since=since), is_wanted=lambda row: name in row.tags)
    if colon and word == "run":
        return Calls(query=CallQuery(since=since), run=name)
    if Path(text).is_file():
        return Path(text)
    start, dots, end = text.partition("..")
    if not dots:
        raise ConfigError(
            f"{text!r}: no such file; expected a file, a window (24h..12h, 2026-03-01..2026-03-08), "
            "release:NAME, tag:NAME or run:DATASET/RUN"
        )
    return Calls(
        query=CallQuery(
            since=parse_moment(start, option="window", now=now),
            until=parse_moment(end, option="window", now=now) if end else None,
        )
    )


async def read_calls(api: LangfuseApi, calls: Calls) -> list[Sample]:
    """Return the judged calls of a side, with their questions: the content of calls without a score is not read."""
    is_wanted = await _of_run(api, calls.run) if calls.run else calls.is_wanted
    listed = {(r.trace_id, r.id): r async for page in api.list_calls(calls.query) for r in page if is_wanted(r)}
    scores = await _scores(api, calls.query, listed)
    samples: list[Sample] = []
    async for batch in api.fetch([listed[key] for key in scores]):
        for row in batch.rows:
            values, probability = scores[row.trace_id, row.id]
            samples.append(_sample(row, values, probability))
    return samples


async def _of_run(api: LangfuseApi, run: str) -> Callable[[ObservationRow], bool]:
    """Return what tells the calls of a run; names of datasets and of runs may hold slashes themselves."""
    ids = await datasets.dataset_ids(api.connection)
    places = [place for place, letter in enumerate(run) if letter == "/"]
    wanted = {(ids[run[:place]], run[place + 1 :]) for place in places if run[:place] in ids}

    def is_wanted(row: ObservationRow) -> bool:
        name, dataset = _text(row, META_EXPERIMENT), _text(row, META_EXPERIMENT_DATASET)
        return name == run or (dataset, name) in wanted

    return is_wanted


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
        item=next((item for key in _ITEMS if (item := _text(row, key))), None),
        question=normalise(question) if question else None,
        kind=_text(row, KIND) or tagged,
        probability=probability,
        cluster=row.trace_id,
    )


def _text(row: ObservationRow, key: str) -> str | None:
    return json_text.as_text(json_text.metadata_value(row.metadata, key))
