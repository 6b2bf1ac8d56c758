"""Put answers beyond a limit, as a rule the worst, into a Langfuse dataset, each once."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from ragtrace import __version__
from ragtrace.errors import ConfigError
from ragtrace.extract import json_text
from ragtrace.langfuse import LangfuseApi, ScoreQuery, datasets, open_langfuse
from ragtrace.langfuse.datasets import DatasetItem
from ragtrace.model import JsonValue, RagCall
from ragtrace.scorer.records import stable_id
from ragtrace.scorer.rereading import read_again
from ragtrace.scorer.state import CallKey
from ragtrace.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """Which numbers of a metric are beyond it; one that is equal to the bound is not."""

    metric: str
    below: float = -math.inf
    above: float = math.inf

    def is_passed_by(self, value: float) -> bool:
        """Tell whether a number is beyond the limit."""
        return value < self.below or value > self.above


@dataclass(frozen=True, slots=True, kw_only=True)
class PromoteRequest:
    """Which calls go into which dataset."""

    limits: tuple[Limit, ...]
    dataset: str
    since: datetime
    until: datetime | None = None
    is_dry_run: bool = False
    """Look, and write nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromoteSummary:
    """What became of the calls beyond a limit."""

    found: int = 0
    added: int = 0
    """In a dry run: what would be added."""
    present: int = 0
    """In the dataset before, and left as people may have changed them."""
    is_dry_run: bool = False

    def as_text(self, dataset: str) -> str:
        """Return one line for people."""
        missing = self.found - self.added - self.present
        gone = f", {missing} no longer in Langfuse" if missing else ""
        verb = "would be added" if self.is_dry_run else "added"
        counts = f"{self.added} {verb} to {dataset!r}, {self.present} already there{gone}"
        return f"{self.found} calls beyond a limit: {counts}."


def parse_limits(below: Sequence[str] = (), above: Sequence[str] = ()) -> tuple[Limit, ...]:
    """Read `METRIC=NUMBER` texts.

    Raises:
        ConfigError: one is none, or there is none.
    """
    limits = [Limit(metric=name, below=number) for name, number in map(_parse_below, below)]
    limits += [Limit(metric=name, above=number) for name, number in map(_parse_above, above)]
    if not limits:
        raise ConfigError("which calls? give --below METRIC=NUMBER or --above METRIC=NUMBER")
    return tuple(limits)


async def run_promote(settings: Settings, request: PromoteRequest) -> PromoteSummary:
    """Add the calls with a score beyond a limit to a dataset; doing it again adds nothing.

    Raises:
        ConfigError: a setting is wrong.
        BackendError: Langfuse did not answer, or refused.
    """
    async with open_langfuse(settings) as api:
        worst = await _worst(api, request)
        if not worst:
            return PromoteSummary(is_dry_run=request.is_dry_run)
        present = await _present(api, request)
        wanted = {key: scores for key, scores in worst.items() if item_id(request.dataset, key) not in present}
        items = await _items(api, wanted, request.dataset)
        if not request.is_dry_run:
            for item in items:
                await datasets.add_item(api.connection, request.dataset, item)
    return PromoteSummary(
        found=len(worst), added=len(items), present=len(worst) - len(wanted), is_dry_run=request.is_dry_run
    )


def item_id(dataset: str, key: CallKey) -> str:
    """Return the id of a call's item in a dataset."""
    return stable_id(dataset, *key)


def _parse_below(text: str) -> tuple[str, float]:
    return _parse_limit(text, option="--below", example="faithfulness=0.5")


def _parse_above(text: str) -> tuple[str, float]:
    return _parse_limit(text, option="--above", example="hallucination_rate=0.2")


def _parse_limit(text: str, *, option: str, example: str) -> tuple[str, float]:
    name, _, number = text.partition("=")
    try:
        return name.strip(), float(number)
    except ValueError:
        raise ConfigError(f"{option} {text!r}: expected METRIC=NUMBER, for example {example}") from None


async def _worst(api: LangfuseApi, request: PromoteRequest) -> dict[CallKey, dict[str, float]]:
    names = tuple(dict.fromkeys(limit.metric for limit in request.limits))
    query = ScoreQuery(names=names, since=request.since, until=request.until)
    found: dict[CallKey, dict[str, float]] = {}
    async for page in api.read_scores(query):
        for score in page:
            if isinstance(score.value, int | float) and score.trace_id and score.observation_id:
                value = float(score.value)
                if any(limit.metric == score.name and limit.is_passed_by(value) for limit in request.limits):
                    found.setdefault((score.trace_id, score.observation_id), {})[score.name] = value
    return found


async def _present(api: LangfuseApi, request: PromoteRequest) -> frozenset[str]:
    """Return the items of the dataset, which is made where it is not there, but not for a look only."""
    if not request.is_dry_run:
        await datasets.ensure_dataset(api.connection, request.dataset)
    elif request.dataset not in await datasets.dataset_ids(api.connection):
        return frozenset()
    return await datasets.item_ids(api.connection, request.dataset)


async def _items(
    api: LangfuseApi, worst: Mapping[CallKey, Mapping[str, float]], dataset: str
) -> tuple[DatasetItem, ...]:
    """Return an item for each call that Langfuse still has."""
    found = [read async for read in read_again(api, worst)]
    return tuple(_item(call, key, scores=worst[key], dataset=dataset) for key, call in found)


def _item(call: RagCall, key: CallKey, *, scores: Mapping[str, float], dataset: str) -> DatasetItem:
    received = [d.received_text for d in call.delivery.passages if d.received_text] if call.delivery else None
    passages: list[JsonValue] | None = None if received is None else [*received]
    trace_id, observation_id = key
    return DatasetItem(
        id=item_id(dataset, key),
        input=json_text.clean_object({"question": call.question, "contexts": passages}),
        expected_output=json_text.without_surrogates(call.reference) if call.reference else None,
        metadata=json_text.clean_object({"answer": call.answer, "scores": {**scores}, "ragtrace": __version__}),
        trace_id=trace_id,
        observation_id=observation_id,
    )
