"""Compare two sides metric by metric, in pairs where they pair, and decide whether the candidate may go on. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final, Literal

from ragtrace import semconv, stats
from ragtrace.errors import ConfigError
from ragtrace.metrics.diagnosis import LOWER_IS_BETTER
from ragtrace.scorer.compare_rows import Sample
from ragtrace.stats import Estimate

FEWEST_ROWS: Final = 50
"""Rows below which a comparison is a rough screening."""
DEFAULT_MARGIN: Final = 0.02
"""What a guard may lose where no margin is given."""
_FEWEST_PAIRS: Final = 10
Layer = Literal["retrieval", "delivery", "generation", "other"]
Effect = Literal["better", "worse", "unclear", "too few"]
_LAYERS: Final[Mapping[str, Layer]] = {
    **dict.fromkeys(
        (
            semconv.RETRIEVAL_RECALL,
            semconv.CONTEXT_PRECISION,
            semconv.ID_CONTEXT_RECALL,
            semconv.ID_CONTEXT_PRECISION,
            semconv.STRING_CONTEXT_RECALL,
            semconv.HIT_AT_K,
            semconv.MRR,
            semconv.NDCG_AT_K,
        ),
        "retrieval",
    ),
    **dict.fromkeys((semconv.CONTEXT_DELIVERY, semconv.CONTEXT_RECALL, semconv.SUFFICIENCY), "delivery"),
    **dict.fromkeys(
        (
            semconv.FAITHFULNESS,
            semconv.HALLUCINATION_RATE,
            semconv.CONTRADICTION_RATE,
            semconv.CITATION_ACCURACY,
            semconv.CITATION_COVERAGE,
            semconv.ANSWER_RELEVANCY,
            semconv.GRADE_CORRECTNESS,
            semconv.GRADE_COMPLETENESS,
            semconv.GRADE_RELEVANCE,
            semconv.GRADE_OVERALL,
        ),
        "generation",
    ),
}
_ORDER: Final[tuple[Layer, ...]] = ("retrieval", "delivery", "generation", "other")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What became of one metric."""

    metric: str
    kind: str | None
    """Only questions of this kind; None: all of them."""
    baseline: Estimate
    candidate: Estimate
    difference: Estimate
    """Candidate minus baseline."""
    pairs: int
    """Questions answered on both sides; 0 where the sides were compared as independent samples."""

    @property
    def layer(self) -> Layer:
        """Return which part of the program the metric is about."""
        return _LAYERS.get(self.metric, "other")

    @property
    def gain(self) -> float | None:
        """Return the difference, above 0 where the candidate is better; None where nothing can be said."""
        value = self.difference.value
        return value if value is None else -value if self.metric in LOWER_IS_BETTER else value

    @property
    def effect(self) -> Effect:
        """Return what the interval says."""
        low, high = self.difference.low, self.difference.high
        if low is None or high is None:
            return "too few"
        if self.metric in LOWER_IS_BETTER:
            low, high = -high, -low
        return "better" if low > 0 else "worse" if high < 0 else "unclear"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """What the candidate must and must not do."""

    target: str | None = None
    """Metric that must be better, by its whole interval."""
    guards: Mapping[str, float]
    """Metrics that must not lose as much as their margin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """Whether one condition of the gate holds."""

    metric: str
    is_target: bool
    holds: bool
    margin: float | None
    change: Change | None
    """None: the metric is on neither side, or on one only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two sides held against each other."""

    baseline_rows: int
    candidate_rows: int
    pairs: int
    changes: tuple[Change, ...]
    rulings: tuple[Ruling, ...]

    @property
    def is_rough(self) -> bool:
        """Tell whether there are too few rows to decide anything by."""
        return min(self.baseline_rows, self.candidate_rows) < FEWEST_ROWS

    @property
    def passes(self) -> bool:
        """Tell whether every condition holds."""
        return all(ruling.holds for ruling in self.rulings)


def parse_gate(target: str | None, guard: str | None) -> Gate:
    """Read a metric, and `faithfulness=0.02,hallucination_rate`.

    Raises:
        ConfigError: a margin is no number from 0 up.
    """
    guards: dict[str, float] = {}
    for part in (part.strip() for part in (guard or "").split(",")):
        name, equals, margin = part.partition("=")
        if not part:
            continue
        try:
            guards[name.strip()] = float(margin) if equals else DEFAULT_MARGIN
        except ValueError:
            raise ConfigError(
                f"--guard {part!r}: expected METRIC or METRIC=MARGIN, for example faithfulness=0.02"
            ) from None
        if not 0 <= guards[name.strip()] < float("inf"):
            raise ConfigError(f"--guard {part!r}: a margin is a number from 0 up")
    return Gate(target=target, guards=guards)


def compare(baseline: Sequence[Sample], candidate: Sequence[Sample], gate: Gate) -> Comparison:
    """Compare every metric that is on both sides, over all rows and by kind of question."""
    kinds = sorted({s.kind for s in (*baseline, *candidate) if s.kind})
    changes = [*_changes(baseline, candidate, None)]
    for kind in kinds:
        changes += _changes(_of_kind(baseline, kind), _of_kind(candidate, kind), kind)
    overall = {change.metric: change for change in changes if change.kind is None}
    return Comparison(
        baseline_rows=len(baseline),
        candidate_rows=len(candidate),
        pairs=len(_pair(baseline, candidate)),
        changes=tuple(changes),
        rulings=tuple(_rulings(overall, gate)),
    )


def _rulings(changes: Mapping[str, Change], gate: Gate) -> Iterable[Ruling]:
    if gate.target:
        change = changes.get(gate.target)
        holds = change is not None and change.effect == "better"
        yield Ruling(metric=gate.target, is_target=True, holds=holds, margin=None, change=change)
    for metric, margin in gate.guards.items():
        change = changes.get(metric)
        gain = change.gain if change else None
        # A guard without a margin may lose nothing, and one that loses nothing holds.
        holds = gain is not None and (gain >= 0 or gain > -margin)
        yield Ruling(metric=metric, is_target=False, holds=holds, margin=margin, change=change)


def _of_kind(samples: Sequence[Sample], kind: str) -> list[Sample]:
    return [sample for sample in samples if sample.kind == kind]


def _changes(baseline: Sequence[Sample], candidate: Sequence[Sample], kind: str | None) -> list[Change]:
    both = {name for s in baseline for name in s.values} & {name for s in candidate for name in s.values}
    order = sorted(both, key=lambda name: (_ORDER.index(_LAYERS.get(name, "other")), name))
    return [_change(name, baseline, candidate, kind) for name in order]


def _change(metric: str, baseline: Sequence[Sample], candidate: Sequence[Sample], kind: str | None) -> Change:
    before = [sample for sample in baseline if metric in sample.values]
    after = [sample for sample in candidate if metric in sample.values]
    means = _mean(metric, before), _mean(metric, after)
    pairs = [(_average(metric, b), _average(metric, c)) for b, c in _pair(before, after)]
    # A few questions that happen to be on both sides say less than all the others together.
    is_paired = len(pairs) >= _FEWEST_PAIRS and 2 * len(pairs) >= min(len(before), len(after))
    if is_paired:
        difference = stats.paired_difference([b for b, _ in pairs], [c for _, c in pairs])
    else:
        difference = stats.difference(means[1], means[0])
    return Change(
        metric=metric,
        kind=kind,
        baseline=means[0],
        candidate=means[1],
        difference=difference,
        pairs=len(pairs) if is_paired else 0,
    )


def _mean(metric: str, samples: Sequence[Sample]) -> Estimate:
    return stats.mean(
        [sample.values[metric] for sample in samples],
        [sample.probability for sample in samples],
        clusters=[sample.cluster or number for number, sample in enumerate(samples)],
    )


def _average(metric: str, samples: Sequence[Sample]) -> float:
    """Return the mean of the answers to one question."""
    return fmean(sample.values[metric] for sample in samples)


def _pair(baseline: Sequence[Sample], candidate: Sequence[Sample]) -> list[tuple[list[Sample], list[Sample]]]:
    """Return the answers of both sides to the same rows of a data set, or to the same questions if that pairs more."""
    by_item = _matched(_grouped(baseline, _item), _grouped(candidate, _item))
    by_question = _matched(_grouped(baseline, _question), _grouped(candidate, _question))
    return by_item if len(by_item) >= len(by_question) else by_question


def _item(sample: Sample) -> str | None:
    return sample.item


def _question(sample: Sample) -> str | None:
    return sample.question


def _grouped(samples: Iterable[Sample], key_of: Callable[[Sample], str | None]) -> dict[str, list[Sample]]:
    groups: dict[str, list[Sample]] = {}
    for sample in samples:
        if key := key_of(sample):
            groups.setdefault(key, []).append(sample)
    return groups


def _matched(
    before: Mapping[str, list[Sample]], after: Mapping[str, list[Sample]]
) -> list[tuple[list[Sample], list[Sample]]]:
    return [(samples, after[key]) for key, samples in before.items() if key in after]
