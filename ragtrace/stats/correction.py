"""Correct a judge's mean by what people said about some of the calls (PPI++)."""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from ragtrace.stats.estimate import Estimate
from ragtrace.stats.intervals import student, wilson
from ragtrace.stats.rates import mean

NotCorrected = Literal["no_audit", "other_judge", "other_language", "audit_too_small"]

_FEW_DISAGREEMENTS: Final = 20
"""Audited calls on which judge and person must differ before their difference alone tells how uncertain it is."""
_FEW_EVENTS: Final = 5
_FEW_AUDITED: Final = 100
"""Effective audited calls on the rarer side of a share, and in all, below which more caution is needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedCall:
    """A call of the window that the judge gave a number."""

    trace_id: str
    judge_score: float
    probability: float = 1.0
    """With which the call was to be judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedCall:
    """A call that a person and the judge gave numbers of the same metric."""

    trace_id: str
    human_score: float
    judge_score: float
    probability: float = 1.0
    """With which the call was to be shown to a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What people said of one judge's work in one language; says nothing about any other judge or language."""

    judge_fingerprint: str
    language: str
    calls: tuple[AuditedCall, ...]

    def objection(self, *, judge_fingerprint: str, language: str) -> NotCorrected | None:
        """Return why this audit must not correct the scores of that judge in that language; None where it may."""
        if judge_fingerprint != self.judge_fingerprint:
            return "other_judge"
        return "other_language" if language != self.language else None


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedMean:
    """The judge's mean and the corrected one, side by side: neither replaces the other."""

    raw: Estimate
    """Of the judge's numbers: its interval knows of chance, not of the judge's errors."""
    corrected: Estimate | None
    """None where no audit applies; `not_corrected` says why."""
    human: Estimate | None
    """Mean of the people's numbers alone: what the audit says without the judge."""
    not_corrected: NotCorrected | None
    reliance: float | None
    """λ, 0–1: how far the judge's numbers were used; 0 means that they say nothing about the people's."""


def corrected_mean(
    judged: Sequence[JudgedCall],
    audit: Audit | None,
    *,
    judge_fingerprint: str,
    language: str,
    confidence: float = 0.95,
) -> CorrectedMean:
    """Return the judge's mean over a window, and the same corrected by an audit of this judge in this language.

    PPI++ (Angelopoulos, Duchi and Zrnic 2023) for weighted samples: the people's mean, moved by λ times the
    difference between the judge's mean over the window and over the audit; λ makes the variance smallest, within 0–1.
    Audited calls may be of the window or not: those that are in both are known by their trace ids.

    Args:
        judged: The window's calls.
        audit: What people said, of this window or before.
        judge_fingerprint: Of the judge that scored the window.
        language: Of the window's calls.
        confidence: Share of such intervals that hold the true mean, as people would score it.
    """
    raw = mean(
        [call.judge_score for call in judged],
        [call.probability for call in judged],
        clusters=[call.trace_id for call in judged],
        confidence=confidence,
    )
    objection: NotCorrected | None = (
        audit.objection(judge_fingerprint=judge_fingerprint, language=language) if audit else "no_audit"
    )
    if audit is None or objection:
        return CorrectedMean(raw=raw, corrected=None, human=None, not_corrected=objection, reliance=None)
    human = mean(
        [call.human_score for call in audit.calls],
        [call.probability for call in audit.calls],
        clusters=[call.trace_id for call in audit.calls],
        confidence=confidence,
    )
    if human.quality == "none" or raw.quality == "none":
        return CorrectedMean(raw=raw, corrected=None, human=human, not_corrected="audit_too_small", reliance=None)
    tuned = _tune(judged, audit.calls)
    return CorrectedMean(
        raw=raw,
        corrected=_estimate(tuned, audit.calls, human=human, confidence=confidence),
        human=human,
        not_corrected=None,
        reliance=tuned.reliance,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tuned:
    value: float
    variance: float
    reliance: float


def _tune(judged: Sequence[JudgedCall], audited: Sequence[AuditedCall]) -> _Tuned:
    """Choose λ by what each trace adds to the error: of the people's mean, and of the judge's two means."""
    window = _shares([call.probability for call in judged])
    audit = _shares([call.probability for call in audited])
    judge_window = sum(share * call.judge_score for share, call in zip(window, judged, strict=True))
    judge_audit = sum(share * call.judge_score for share, call in zip(audit, audited, strict=True))
    human = sum(share * call.human_score for share, call in zip(audit, audited, strict=True))
    of_human: defaultdict[Hashable, float] = defaultdict(float)
    of_judge: defaultdict[Hashable, float] = defaultdict(float)
    for share, call in zip(window, judged, strict=True):
        of_judge[call.trace_id] += share * (call.judge_score - judge_window)
    for share, seen in zip(audit, audited, strict=True):
        of_human[seen.trace_id] += share * (seen.human_score - human)
        of_judge[seen.trace_id] -= share * (seen.judge_score - judge_audit)
    spread = sum(error**2 for error in of_judge.values())
    common = sum(error * of_judge[trace_id] for trace_id, error in of_human.items())
    reliance = min(1.0, max(0.0, -common / spread)) if spread else 0.0
    errors = [of_human[trace_id] + reliance * of_judge[trace_id] for trace_id in of_judge]
    known = len(of_human)
    return _Tuned(
        value=human + reliance * (judge_window - judge_audit),
        variance=sum(error**2 for error in errors) * known / (known - 1),
        reliance=reliance,
    )


def _shares(probabilities: Sequence[float]) -> list[float]:
    weights = [1 / probability for probability in probabilities]
    total = sum(weights)
    return [weight / total for weight in weights]


def _estimate(tuned: _Tuned, audited: Sequence[AuditedCall], *, human: Estimate, confidence: float) -> Estimate:
    is_share = all(0 <= score <= 1 for call in audited for score in (call.human_score, call.judge_score))
    value = min(1.0, max(0.0, tuned.value)) if is_share else tuned.value
    low, high = (
        wilson(
            value,
            tuned.variance + _unseen_variance(audited, human),
            effective_n=human.effective_n,
            confidence=confidence,
        )
        if is_share
        else student(value, tuned.variance, effective_n=human.effective_n, confidence=confidence)
    )
    return Estimate(
        value=value,
        low=low,
        high=high,
        n=human.n,
        effective_n=human.effective_n,
        quality=human.quality,
        method="ppi++",
    )


def _unseen_variance(audited: Sequence[AuditedCall], human: Estimate) -> float:
    """Return what errors that the audit happens not to show may add; chosen by simulation (docs/statistics.md).

    An audit without a disagreement is no proof that the judge never errs.
    """
    if sum(call.human_score != call.judge_score for call in audited) >= _FEW_DISAGREEMENTS or human.value is None:
        return 0.0
    events = human.effective_n * min(human.value, 1 - human.value)
    pseudo_errors = 1.0 if events < _FEW_EVENTS or human.effective_n < _FEW_AUDITED else 0.5
    return (pseudo_errors / human.effective_n) ** 2
