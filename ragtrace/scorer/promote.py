"""Put the worst answers into a Langfuse dataset, each once."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from ragtrace import __version__
from ragtrace.errors import ConfigError
from ragtrace.extract import complete_delivery, json_text, read_rag_call
from ragtrace.langfuse import LangfuseApi, ScoreQuery, datasets, open_langfuse
from ragtrace.langfuse.datasets import DatasetItem
from ragtrace.model import JsonValue, RagCall
from ragtrace.scorer.state import CallKey
from ragtrace.settings import Settings

_TRACES_AT_ONCE = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class PromoteSummary:
    """What became of the calls below a limit."""

    found: int = 0
    added: int = 0
    present: int = 0
    """In the dataset before, and left as people may have changed them."""

    def as_text(self, dataset: str) -> str:
        """Return one line for people."""
        missing = self.found - self.added - self.present
        gone = f", {missing} no longer in Langfuse" if missing else ""
        return f"{self.found} calls below: {self.added} added to {dataset!r}, {self.present} already there{gone}."


def parse_limits(texts: Sequence[str]) -> dict[str, float]:
    """Read `METRIC=NUMBER` texts.

    Raises:
        ConfigError: one is none, or there is none.
    """
    limits: dict[str, float] = {}
    for text in texts or ("",):
        name, _, number = text.partition("=")
        try:
            limits[name.strip()] = float(number)
        except ValueError:
            raise ConfigError(f"--below {text!r}: expected METRIC=NUMBER, for example faithfulness=0.5") from None
    return limits


async def run_promote(
    settings: Settings, limits: Mapping[str, float], *, dataset: str, since: datetime, until: datetime | None = None
) -> PromoteSummary:
    """Add the calls with a score below its limit to a dataset; doing it again adds nothing.

    Raises:
        ConfigError: a setting is wrong.
        BackendError: Langfuse did not answer, or refused.
    """
    async with open_langfuse(settings) as api:
        query = ScoreQuery(names=tuple(limits), since=since, until=until)
        worst = await _worst(api, query, limits)
        if not worst:
            return PromoteSummary()
        await datasets.ensure_dataset(api.connection, dataset)
        present = await datasets.item_ids(api.connection, dataset)
        wanted = {key: scores for key, scores in worst.items() if item_id(dataset, key) not in present}
        added = await _add(api, wanted, dataset)
    return PromoteSummary(found=len(worst), added=added, present=len(worst) - len(wanted))


def item_id(dataset: str, key: CallKey) -> str:
    """Return the id of a call's item in a dataset."""
    return "rt-" + hashlib.sha256("\x1f".join((dataset, *key)).encode()).hexdigest()[:32]


async def _worst(api: LangfuseApi, query: ScoreQuery, limits: Mapping[str, float]) -> dict[CallKey, dict[str, float]]:
    found: dict[CallKey, dict[str, float]] = {}
    async for page in api.read_scores(query):
        for score in page:
            is_low = isinstance(score.value, int | float) and score.value < limits[score.name]
            if is_low and score.trace_id and score.observation_id:
                found.setdefault((score.trace_id, score.observation_id), {})[score.name] = float(score.value)
    return found


async def _add(api: LangfuseApi, worst: Mapping[CallKey, Mapping[str, float]], dataset: str) -> int:
    traces = sorted({trace_id for trace_id, _ in worst})
    added: set[CallKey] = set()
    for start in range(0, len(traces), _TRACES_AT_ONCE):
        for row in await api.fetch_traces(traces[start : start + _TRACES_AT_ONCE]):
            key = (row.trace_id, row.id)
            if key in worst and key not in added:
                item = _item(complete_delivery(read_rag_call(row)), key, scores=worst[key], dataset=dataset)
                await datasets.add_item(api.connection, dataset, item)
                added.add(key)
    return len(added)


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
