"""Compute our metrics inside `Langfuse.run_experiment`: one evaluator for its items, one for the whole run."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Final, Protocol

from ragtrace import stats
from ragtrace.errors import ConfigError
from ragtrace.extract import json_text
from ragtrace.judge import make_judge
from ragtrace.metrics.own import OwnMetric
from ragtrace.model import JsonValue, Score, Unscored
from ragtrace.scorer.judging import JudgedCall, choose_metrics, closing_judge, judge_call, untraced
from ragtrace.scorer.records import describe_judge
from ragtrace.scorer.rows import BadRow, read_row
from ragtrace.semconv import RAG_OUTCOME
from ragtrace.settings import Settings, load_settings

Evaluation = dict[str, object]
"""What the SDK takes for an `Evaluation`: its fields by name."""
ItemEvaluator = Callable[..., Awaitable[list[Evaluation]]]
_QUESTION: Final = ("question", "user_input", "query", "input")
_REFERENCE: Final = ("reference", "ground_truth", "answer", "expected_output")


class _Evaluated(Protocol):
    """What is read of the SDK's `Evaluation`."""

    name: str
    value: object


class _ItemResult(Protocol):
    """What is read of the SDK's `ExperimentItemResult`."""

    @property
    def evaluations(self) -> Sequence[_Evaluated]: ...


def item_evaluator(
    settings: Settings | None = None,
    *,
    metric_names: Iterable[str] | None = None,
    own_metrics: Mapping[str, OwnMetric] | None = None,
) -> ItemEvaluator:
    """Return an evaluator that judges one item of an experiment, for `run_experiment(evaluators=[…])`.

    The item's `input` is the question, or an object with `question`; its expected output is the reference, or an object
    with `reference` or `answer`. The task returns an object with `answer` and `contexts`, what the generator received
    (and `retrieved`, if that was more), as a row of `ragtrace judge` has them. A metric without a number yields no
    evaluation; `rag_outcome`'s metadata says why.

    Args:
        settings: The judge and its limits; read from the environment and `ragtrace.toml` by default. `max_concurrency`
            of the experiment, not the settings, says how many items are judged at one time.
        metric_names: Which metrics to compute; by default what one judge call yields, and all installed ones.
        own_metrics: Metrics of your own beside those, by score name.

    Raises:
        ConfigError: a setting or a metric's name is wrong; from the evaluator: the task's output cannot be read.
    """
    chosen = settings or load_settings()
    choice = choose_metrics(chosen, metric_names, own=own_metrics)

    async def ragtrace_metrics(
        *, input: object, output: object, expected_output: object = None, **_: object
    ) -> list[Evaluation]:
        call = read_row(_row(input, output, expected_output), 1)
        if isinstance(call, BadRow):
            raise ConfigError(f"the task's output cannot be judged: {call.problem}")
        # The SDK runs in an event loop of its own, which may end before anybody could close a judge shared by items.
        async with closing_judge(make_judge(chosen, metrics=choice.names)) as judge:
            with untraced():
                return _evaluations(await judge_call(call, judge, choice))

    return ragtrace_metrics


def run_evaluator(*, item_results: Sequence[_ItemResult], **_: object) -> list[Evaluation]:
    """Return the mean of each numeric evaluation over the items, for `run_experiment(run_evaluators=[…])`.

    Its interval is in comment and metadata. Fewer than ten items with a number have no mean.
    """
    values: dict[str, list[float]] = {}
    for evaluation in (evaluation for result in item_results for evaluation in result.evaluations):
        if isinstance(evaluation.value, int | float) and not isinstance(evaluation.value, bool):
            values.setdefault(evaluation.name, []).append(float(evaluation.value))
    found = {name: stats.mean(numbers) for name, numbers in values.items()}
    return [_mean(name, estimate) for name, estimate in found.items() if estimate.value is not None]


def _row(input: object, output: object, expected_output: object) -> dict[str, JsonValue]:
    """Return an item as a row; a task that returns only text says nothing of passages."""
    answered = dict(output) if isinstance(output, Mapping) else {"answer": output}
    row = {"question": _named(input, _QUESTION), "reference": _named(expected_output, _REFERENCE)} | answered
    if "contexts" not in row and "passages" in row:
        row["contexts"] = row["passages"]
    return json_text.clean_object(row)


def _named(value: object, names: Sequence[str]) -> object:
    if isinstance(value, Mapping):
        return next((value[name] for name in names if name in value), None)
    return value


def _evaluations(judged: JudgedCall) -> list[Evaluation]:
    unscored: dict[str, JsonValue] = {r.name: r.reason for r in judged.results if isinstance(r, Unscored)}
    judge = describe_judge(judged.verdicts)
    return [
        {
            "name": score.name,
            "value": score.value,
            "comment": score.comment,
            "data_type": score.data_type,
            "metadata": {"judge": judge} | ({"unscored": unscored} if score.name == RAG_OUTCOME else {}),
        }
        for score in judged.results
        if isinstance(score, Score)
    ]


def _mean(name: str, found: stats.Estimate) -> Evaluation:
    return {
        "name": f"{name}_mean",
        "value": found.value,
        "comment": f"95 % interval {found.low:.3f} to {found.high:.3f}, {found.n} items ({found.quality}).",
        "data_type": "NUMERIC",
        "metadata": {"low": found.low, "high": found.high, "items": found.n, "method": found.method},
    }
