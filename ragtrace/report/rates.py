"""Sum a window up: means, counts, reasons, and how the numbers came about."""

from collections import Counter
from collections.abc import Mapping, Sequence

from ragtrace import semconv
from ragtrace.judge import embedded
from ragtrace.metrics import diagnosis
from ragtrace.metrics.pooling import UNITS
from ragtrace.report import estimates, words
from ragtrace.report.content import JudgingCost, MetricRates
from ragtrace.report.records import CallRecord
from ragtrace.report.words import plural

_BY_WORDING = (
    "It goes by wording and is no language model: it finds what is invented, and misses part of what is swapped or "
    "contradicted in the passages’ own words."
)


def summarise(
    records: Sequence[CallRecord], thresholds: Mapping[str, float] = diagnosis.DEFAULT_THRESHOLDS
) -> tuple[MetricRates, ...]:
    """Return the rates of each metric that any call has a number or a reason for; headline metrics first."""
    present = {name for record in records for name in _names(record)}
    ordered = [*words.HEADLINE_METRICS, *(name for name in words.LABELS if name in present), *sorted(present)]
    return tuple(_rates(name, records, thresholds) for name in dict.fromkeys(ordered))


def weighted_mean(name: str, records: Sequence[CallRecord]) -> float | None:
    """Return Hájek's mean, also of calls that are too few for an estimate; None without numbers."""
    scored = [(record.weight, record.scores[name]) for record in records if name in record.scores]
    weights = sum(weight for weight, _ in scored)
    return sum(weight * value for weight, value in scored) / weights if scored else None


def headline(records: Sequence[CallRecord]) -> str:
    """Say the one thing that matters most."""
    judged = [r.scores[semconv.HALLUCINATION_RATE] for r in records if semconv.HALLUCINATION_RATE in r.scores]
    if not judged:
        return "No answer has been judged yet." if records else "Nothing was captured in this window."
    wrong = sum(rate > 0 for rate in judged)
    if not wrong:
        return f"All {plural(len(judged), 'judged answer')} kept to what the generator was sent."
    say = "says" if wrong == 1 else "say"
    return f"{wrong:,} of {plural(len(judged), 'judged answer')} {say} more than the generator was told."


def obtained(records: Sequence[CallRecord]) -> tuple[str, ...]:
    """Say how the numbers came about: sample, judge, calibration."""
    seen = [record for record in records if record.outcome]
    if not seen:
        return ("No scorer has looked at these answers: run `ragtrace score`.",)
    return (_sample(records, seen), _judges(seen), _trust(seen))


def judging_cost(records: Sequence[CallRecord]) -> JudgingCost:
    """Sum up what the judges of the window reported; calls outside the sample cost nothing and are not scaled up."""
    outcomes = [record.outcome for record in records if record.outcome and record.outcome.judge_calls]
    priced = [outcome.cost for outcome in outcomes if outcome.cost is not None]
    return JudgingCost(
        calls=sum(outcome.judge_calls for outcome in outcomes),
        prompt_tokens=sum(outcome.prompt_tokens for outcome in outcomes),
        completion_tokens=sum(outcome.completion_tokens for outcome in outcomes),
        money=sum(priced) if priced else None,
        unpriced=sum(outcome.judge_calls for outcome in outcomes if outcome.cost is None),
    )


def _rates(name: str, records: Sequence[CallRecord], thresholds: Mapping[str, float]) -> MetricRates:
    reasons = Counter(
        record.outcome.unscored[name]
        for record in records
        if record.outcome and name in record.outcome.unscored and name not in record.scores
    )
    mean = weighted_mean(name, records)
    return MetricRates(
        name=name,
        label=words.label(name),
        meaning=words.meaning(name),
        mean=mean,
        scored=sum(name in record.scores for record in records),
        unscored=dict(reasons.most_common()),
        is_headline=name in words.HEADLINE_METRICS,
        estimate=estimates.mean_of(name, records),
        pooled=estimates.pooled(name, records),
        unit=UNITS.get(name),
        pass_mark=thresholds.get(name),
        has_passed=None if mean is None else diagnosis.passes(name, mean, thresholds),
        is_lower_better=name in diagnosis.LOWER_IS_BETTER,
    )


def _names(record: CallRecord) -> Sequence[str]:
    return (*record.scores, *(record.outcome.unscored if record.outcome else ()))


def _sample(records: Sequence[CallRecord], seen: Sequence[CallRecord]) -> str:
    if len(seen) == len(records) and all(record.weight == 1.0 for record in seen):
        return f"Sample: none was drawn, all {plural(len(records), 'captured answer')} went to the scorer."
    return (
        f"Sample: {len(seen):,} of {plural(len(records), 'captured answer')} went to the scorer, chosen by a hash of "
        "the trace id; in the means each weighs one over its probability of being chosen."
    )


def _judges(seen: Sequence[CallRecord]) -> str:
    counts = Counter(_judge(record) for record in seen if record.outcome and record.outcome.judge_model)
    if not counts:
        return "Judge: none was needed; no answer could be judged."
    if len(counts) == 1:
        said = f"Judge: {next(iter(counts))} compared each sentence with the text that the generator was really sent."
        is_embedded = any(record.outcome and record.outcome.judge_model == embedded.MODEL for record in seen)
        return f"{said} {_BY_WORDING}" if is_embedded else said
    spoken = "; ".join(f"{name} ({plural(count, 'answer')})" for name, count in counts.most_common())
    return f"Judges: {spoken}. Their numbers do not mix: compare only answers of one judge."


def _judge(record: CallRecord) -> str:
    outcome = record.outcome
    fingerprint = outcome.judge_fingerprint if outcome else None
    return f"{outcome.judge_model if outcome else None}" + (f" (fingerprint {fingerprint[:8]})" if fingerprint else "")


def _trust(seen: Sequence[CallRecord]) -> str:
    asked = [r for r in seen if r.human_supported is not None and semconv.FAITHFULNESS in r.scores]
    if asked:
        agreed = sum(r.human_supported == (r.scores[semconv.FAITHFULNESS] == 1.0) for r in asked)
        return (
            f"Calibration: people looked at {len(asked):,} of these answers, doubtful ones first, and agreed with the "
            f"judge on {agreed:,}; `ragtrace review` says more."
        )
    return (
        "Calibration: nobody has compared this judge with people on these answers. Take the rates for comparing one "
        "week with another and for finding answers to read, not as the truth."
    )


def outcome_counts(records: Sequence[CallRecord]) -> Mapping[str, int]:
    """Count outcomes: `scored`, or the first reason why not."""
    return Counter(record.outcome.value for record in records if record.outcome)
