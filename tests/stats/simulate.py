"""Worlds whose truth is known, and how often an interval holds it there."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from scipy import stats as oracle

from ragtrace import stats
from ragtrace.stats.agreement import spearman
from ragtrace.stats.alpha import alpha_of_categories, alpha_of_numbers
from ragtrace.stats.correction import Audit, AuditedCall, JudgedCall, corrected_mean
from ragtrace.stats.sequences import strict_sequence, weighted_sequence

Interval = tuple[float, float] | None
Drawn = tuple[Interval, Callable[[], Interval] | None]
"""Our interval, None where it was refused, and how to get another one to set beside it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A population, a way to draw from it, and an estimator."""

    name: str
    truth: float
    draw: Callable[[Generator], Drawn]
    most: float = 1.0
    """Coverage that it must not exceed: an interval that always covers is no use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """What many runs showed."""

    share: float
    """Of the intervals, those that held the truth."""
    width: float
    other_width: float | None
    """Mean width of the other library's intervals."""
    refused: int


def cover(world: World, *, runs: int, compared: int = 0, seed: int = 1) -> Coverage:
    """Draw many times and count; in the first `compared` runs, get the other library's interval, too."""
    generator = np.random.default_rng(seed)
    drawn = [world.draw(generator) for _ in range(runs)]
    ours = [ours for ours, _ in drawn if ours]
    others = [interval for _, other in drawn[:compared] if other and (interval := other())]
    return Coverage(
        share=float(np.mean([low <= world.truth <= high for low, high in ours])),
        width=float(np.mean([high - low for low, high in ours])),
        other_width=float(np.mean([high - low for low, high in others])) if others else None,
        refused=runs - len(ours),
    )


def _ends(found: stats.Estimate) -> Interval:
    return None if found.low is None or found.high is None else (found.low, found.high)


def _rate(above: np.ndarray, below: np.ndarray, axis: int = 0) -> np.ndarray:
    return above.sum(axis) / below.sum(axis)


def _bootstrap(above: np.ndarray, below: np.ndarray) -> Interval:
    """Return scipy's interval of a ratio of sums, by percentiles."""
    resampled = oracle.bootstrap((above, below), _rate, paired=True, n_resamples=500, method="percentile", rng=0)
    return tuple(resampled.confidence_interval)


def _plain(name: str, n: int, rate: float, *, most: float = 1.0) -> World:
    def draw(rng: Generator) -> Drawn:
        values = (rng.random(n) < rate).astype(float)
        return _ends(stats.mean(values.tolist())), lambda: tuple(
            oracle.binomtest(int(values.sum()), n).proportion_ci(method="exact")
        )

    return World(name=f"mean, {name}: {n} calls, rate {rate:g}", truth=rate, draw=draw, most=most)


def _skewed(n: int, rate: float, *, most: float = 1.0) -> World:
    """Three in ten judged calls are of a kind that is judged ten times as often as the others."""

    def draw(rng: Generator) -> Drawn:
        probabilities = np.where(rng.random(n) < 0.3, 1.0, 0.1)
        values = (rng.random(n) < rate).astype(float)
        found = stats.mean(values.tolist(), probabilities.tolist())
        return _ends(found), lambda: _bootstrap(values / probabilities, 1 / probabilities)

    return World(name=f"mean, skewed weights: {n} calls, rate {rate:g}", truth=rate, draw=draw, most=most)


def _stratified(n: int, *, most: float = 1.0) -> World:
    """Bad calls are likelier to be judged: only the weights keep the mean right."""

    def draw(rng: Generator) -> Drawn:
        is_suspect = rng.random(n) < 0.2
        values = rng.random(n) < np.where(is_suspect, 0.5, 0.1)
        probabilities = np.where(is_suspect, 1.0, 0.25)
        judged = rng.random(n) < probabilities
        values, probabilities = values[judged].astype(float), probabilities[judged]
        found = stats.mean(values.tolist(), probabilities.tolist())
        return _ends(found), lambda: _bootstrap(values / probabilities, 1 / probabilities)

    return World(name=f"mean, bad calls judged more often: {n} calls", truth=0.18, draw=draw, most=most)


def _graded(n: int, *, most: float = 1.0) -> World:
    """Faithfulness: four in five calls have 1."""

    def draw(rng: Generator) -> Drawn:
        values = np.where(rng.random(n) < 0.8, 1.0, rng.random(n))
        return _ends(stats.mean(values.tolist())), lambda: _bootstrap(values, np.ones(n))

    return World(name=f"mean, graded: {n} calls", truth=0.9, draw=draw, most=most)


def _repeated(n: int, *, most: float = 1.0) -> World:
    """Four calls a trace that fail together."""

    def draw(rng: Generator) -> Drawn:
        rates = np.repeat(rng.beta(0.6, 2.4, n // 4), 4)
        values = (rng.random(len(rates)) < rates).astype(float)
        traces = np.repeat(np.arange(n // 4), 4)
        found = stats.mean(values.tolist(), clusters=traces.tolist())
        return _ends(found), lambda: _bootstrap(values.reshape(-1, 4).sum(1), np.full(n // 4, 4.0))

    return World(name=f"mean, four calls a trace: {n} calls", truth=0.2, draw=draw, most=most)


def _sentences(n: int, a: float, b: float, *, most: float = 1.0) -> World:
    """Sentences that are wrong together; ICC 1 / (a + b + 1)."""

    def draw(rng: Generator) -> Drawn:
        counts = rng.integers(1, 12, n)
        wrong = rng.binomial(counts, rng.beta(a, b, n))
        return _ends(stats.ratio(wrong.tolist(), counts.tolist())), lambda: _bootstrap(wrong, counts)

    icc = 1 / (a + b + 1)
    return World(name=f"ratio: {n} calls, ICC {icc:.2f}", truth=a / (a + b), draw=draw, most=most)


def _independent(n: int, rate: float, other_rate: float) -> World:
    def draw(rng: Generator) -> Drawn:
        one, other = ((rng.random(n) < share).astype(float) for share in (rate, other_rate))
        found = stats.difference(stats.mean(one.tolist()), stats.mean(other.tolist()))
        return _ends(found), lambda: tuple(oracle.ttest_ind(one, other, equal_var=False).confidence_interval())

    return World(name=f"difference: {n} and {n} calls, {rate:g} − {other_rate:g}", truth=rate - other_rate, draw=draw)


def _paired(n: int, changed: float, *, most: float = 1.0) -> World:
    def draw(rng: Generator) -> Drawn:
        before = (rng.random(n) < 0.2).astype(float)
        after = np.where(rng.random(n) < changed, rng.random(n) < 0.5, before).astype(float)
        found = stats.paired_difference(before.tolist(), after.tolist())
        return _ends(found), lambda: tuple(oracle.ttest_rel(after, before).confidence_interval())

    return World(
        name=f"paired difference: {n} calls, {changed:.0%} drawn anew", truth=0.3 * changed, draw=draw, most=most
    )


def _corrected(audited: int, rate: float, *, sensitivity: float, specificity: float, most: float = 1.0) -> World:
    def draw(rng: Generator) -> Drawn:
        is_wrong = rng.random(audited + 300) < rate
        chance = rng.random(len(is_wrong))
        seen = np.where(is_wrong, chance < sensitivity, chance > specificity).astype(float).tolist()
        calls = tuple(
            AuditedCall(trace_id=f"a{number}", human_score=float(human), judge_score=judge)
            for number, (human, judge) in enumerate(zip(is_wrong[:audited], seen[:audited], strict=True))
        )
        found = corrected_mean(
            [JudgedCall(trace_id=f"w{number}", judge_score=judge) for number, judge in enumerate(seen[audited:])],
            Audit(judge_fingerprint="j", language="en", calls=calls),
            judge_fingerprint="j",
            language="en",
        )
        return _ends(found.corrected) if found.corrected else None, lambda: _ends(found.human) if found.human else None

    name = f"PPI++: {audited} audited, rate {rate:g}, Se {sensitivity:g}, Sp {specificity:g} (beside: people alone)"
    return World(name=name, truth=rate, draw=draw, most=most)


def _audited_window(*, most: float) -> World:
    """Suspect calls are judged, and shown to people, more often; every audited call is of the window."""

    def draw(rng: Generator) -> Drawn:
        is_suspect = rng.random(800) < 0.2
        is_wrong = rng.random(800) < np.where(is_suspect, 0.5, 0.1)
        seen = np.where(is_wrong, rng.random(800) < 0.85, rng.random(800) < 0.1).astype(float)
        judging, showing = np.where(is_suspect, 1.0, 0.5), np.where(is_suspect, 0.6, 0.4)
        judged = np.flatnonzero(rng.random(800) < judging).tolist()
        shown = [number for number in judged if rng.random() < showing[number]]
        audited = tuple(
            AuditedCall(
                trace_id=f"{number}",
                human_score=float(is_wrong[number]),
                judge_score=seen[number],
                probability=judging[number] * showing[number],
            )
            for number in shown
        )
        found = corrected_mean(
            [JudgedCall(trace_id=f"{n}", judge_score=seen[n], probability=judging[n]) for n in judged],
            Audit(judge_fingerprint="j", language="en", calls=audited),
            judge_fingerprint="j",
            language="en",
        )
        return _ends(found.corrected) if found.corrected else None, lambda: _ends(found.human) if found.human else None

    return World(
        name="PPI++: audited out of a weighted window (beside: people alone)", truth=0.18, draw=draw, most=most
    )


def _two_run_alpha(one: np.ndarray, other: np.ndarray, axis: int = -1) -> np.ndarray:
    expected = 2 * np.concatenate((one, other), axis).var(axis, ddof=1)
    return 1 - ((one - other) ** 2).mean(axis) / expected


def _bootstrap_alpha(one: np.ndarray, other: np.ndarray) -> Interval:
    """Return the usual interval of alpha, scipy's percentiles over resampled units."""
    resampled = oracle.bootstrap((one, other), _two_run_alpha, paired=True, n_resamples=500, method="percentile", rng=0)
    return tuple(resampled.confidence_interval)


def _verdicts(n: int, flip: float) -> World:
    """Two runs of a judge; a share of the verdicts is drawn anew in each."""

    def draw(rng: Generator) -> Drawn:
        truth = rng.random(n) < 0.3
        runs = [np.where(rng.random(n) < flip, rng.random(n) < 0.3, truth).astype(float) for _ in range(2)]
        found = alpha_of_categories(list(zip(*(run.tolist() for run in runs), strict=True)))
        return (found.low, found.high) if found else None, lambda: _bootstrap_alpha(*runs)

    return World(name=f"alpha of verdicts: {n} units, {flip:.0%} drawn anew", truth=(1 - flip) ** 2, draw=draw)


def _shares(n: int, noise: float) -> World:
    def draw(rng: Generator) -> Drawn:
        truth = rng.normal(size=n)
        runs = [truth + rng.normal(scale=noise, size=n) for _ in range(2)]
        found = alpha_of_numbers(list(zip(*(run.tolist() for run in runs), strict=True)))
        return (found.low, found.high) if found else None, lambda: _bootstrap_alpha(*runs)

    return World(name=f"alpha of numbers: {n} units, noise {noise:g}", truth=1 / (1 + noise**2), draw=draw)


def _ranks(n: int, correlation: float) -> World:
    def draw(rng: Generator) -> Drawn:
        one, other = rng.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]], n).T
        found = spearman(one.tolist(), other.tolist())
        ranks = oracle.rankdata([one, other], axis=1)
        return (found.low, found.high) if found else None, lambda: tuple(oracle.pearsonr(*ranks).confidence_interval())

    truth = 6 / np.pi * np.arcsin(correlation / 2)
    return World(name=f"Spearman: {n} pairs, {truth:.2f}", truth=float(truth), draw=draw)


def _strict(n: int, rate: float) -> World:
    def draw(rng: Generator) -> Drawn:
        values = rng.random(n) < rate
        last = strict_sequence(values.astype(float).tolist())[-1]
        return (last.low, last.high), lambda: tuple(
            oracle.binomtest(int(values.sum()), n).proportion_ci(method="wilson")
        )

    return World(
        name=f"strict sequence, at all of {n} moments: rate {rate:g} (beside: looked at once)", truth=rate, draw=draw
    )


def _weighted(n: int, rate: float) -> World:
    def draw(rng: Generator) -> Drawn:
        probabilities = np.where(rng.random(n) < 0.3, 1.0, 0.25).tolist()
        values = (rng.random(n) < rate).astype(float).tolist()
        bounds = weighted_sequence(values, probabilities)
        # It misses as soon as one of its moments does.
        held = (max(bound.low for bound in bounds), min(bound.high for bound in bounds))
        return held, lambda: _ends(stats.mean(values, probabilities))

    return World(
        name=f"weighted sequence, at all of {n} moments: rate {rate:g} (beside: looked at once)", truth=rate, draw=draw
    )


SYMMETRIC = 0.965
"""Most that an interval by Student's t, or of PPI++, may cover at 100 effective calls and more."""

WORLDS = (
    _plain("exact", 15, 0.2),
    _plain("exact", 60, 0.05),
    _plain("exact", 300, 0.02),
    _plain("t", 300, 0.3, most=SYMMETRIC),
    _skewed(60, 0.2),
    _skewed(150, 0.02),
    _skewed(400, 0.3, most=SYMMETRIC),
    _stratified(300, most=1.0),
    _stratified(800, most=SYMMETRIC),
    _graded(40),
    _graded(300, most=SYMMETRIC),
    _repeated(120),
    _repeated(800, most=SYMMETRIC),
    _sentences(40, 0.3, 2.7),
    _sentences(100, 0.1, 0.9),
    _sentences(400, 0.3, 2.7, most=SYMMETRIC),
    _independent(40, 0.2, 0.1),
    _independent(200, 0.3, 0.2),
    _paired(40, 0.1),
    _paired(300, 0.4, most=SYMMETRIC),
    _corrected(100, 0.2, sensitivity=0.85, specificity=0.9, most=SYMMETRIC),
    _corrected(100, 0.2, sensitivity=0.6, specificity=0.7, most=SYMMETRIC),
    _corrected(300, 0.1, sensitivity=0.85, specificity=0.9, most=SYMMETRIC),
    _corrected(100, 0.05, sensitivity=0.85, specificity=0.9, most=SYMMETRIC),
    _audited_window(most=SYMMETRIC),
    _corrected(30, 0.2, sensitivity=0.85, specificity=0.9),
    _verdicts(60, 0.1),
    _verdicts(200, 0.3),
    _shares(60, 0.3),
    _shares(200, 1.0),
    _ranks(50, 0.8),
    _ranks(200, 0.3),
    _strict(500, 0.12),
    _weighted(600, 0.12),
)
