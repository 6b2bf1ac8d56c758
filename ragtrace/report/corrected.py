"""Correct the judge's share of wholly supported answers by what people said of some of them."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from ragtrace import semconv
from ragtrace.report.content import CorrectedShare
from ragtrace.report.records import CallRecord
from ragtrace.stats.correction import Audit, AuditedCall, JudgedCall, corrected_mean
from ragtrace.text import detect_language


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """Whose numbers may be corrected by the same audit."""

    model: str | None
    fingerprint: str
    language: str

    @property
    def judge(self) -> str:
        return f"{self.model or 'judge'} ({self.fingerprint[:8]})"


def corrected_shares(now: Sequence[CallRecord], before: Sequence[CallRecord] = ()) -> tuple[CorrectedShare, ...]:
    """Return raw and corrected shares of this window, by judge and language, where people reviewed enough calls.

    Reviewed calls of the window before count, too. Calls that people scored without having been chosen for it do not:
    how likely they were to be looked at is not known.
    """
    reviewed = [record for record in (*before, *now) if _is_reviewed(record)]
    if not reviewed:
        # Most windows: the language of each answer need not be found out.
        return ()
    audited = _grouped(reviewed)
    judged = {group: records for group, records in _grouped(now).items() if group in audited}
    found = (_corrected(group, records, audited[group]) for group, records in judged.items())
    return tuple(sorted((share for share in found if share), key=lambda share: -share.raw.n))


def _is_reviewed(record: CallRecord) -> bool:
    return record.human_supported is not None and record.review_probability is not None


def _grouped(records: Sequence[CallRecord]) -> dict[_Group, list[CallRecord]]:
    groups: dict[_Group, list[CallRecord]] = defaultdict(list)
    for record in records:
        group = _group_of(record)
        if group and semconv.FAITHFULNESS in record.scores:
            groups[group].append(record)
    return groups


def _group_of(record: CallRecord) -> _Group | None:
    outcome = record.outcome
    text = " ".join(sentence.text for sentence in outcome.answer) if outcome else ""
    if outcome is None or outcome.judge_fingerprint is None or not text.strip():
        return None
    return _Group(model=outcome.judge_model, fingerprint=outcome.judge_fingerprint, language=detect_language(text))


def _corrected(group: _Group, judged: Sequence[CallRecord], audited: Sequence[CallRecord]) -> CorrectedShare | None:
    calls = tuple(
        AuditedCall(
            trace_id=record.trace_id,
            human_score=float(bool(record.human_supported)),
            judge_score=_judge_score(record),
            probability=record.review_probability or 1.0,
        )
        for record in audited
    )
    found = corrected_mean(
        [JudgedCall(trace_id=r.trace_id, judge_score=_judge_score(r), probability=r.probability) for r in judged],
        Audit(judge_fingerprint=group.fingerprint, language=group.language, calls=calls),
        judge_fingerprint=group.fingerprint,
        language=group.language,
    )
    if found.corrected is None:
        return None
    return CorrectedShare(judge=group.judge, language=group.language, raw=found.raw, corrected=found.corrected)


def _judge_score(record: CallRecord) -> float:
    """Return 1 where the judge calls the answer wholly supported, which is what people are asked."""
    return float(record.scores[semconv.FAITHFULNESS] == 1.0)
