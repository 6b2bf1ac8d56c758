"""A judge's mean, corrected by what people said."""

import pytest

from ragtrace import stats
from ragtrace.stats.correction import Audit, AuditedCall, CorrectedMean, JudgedCall, corrected_mean


def window_of(*scores: float) -> list[JudgedCall]:
    return [JudgedCall(trace_id=f"w{number}", judge_score=score) for number, score in enumerate(scores)]


def audit_of(*pairs: tuple[float, float], prefix: str = "a") -> Audit:
    """Return an audit of pairs of a person's and the judge's number."""
    calls = tuple(
        AuditedCall(trace_id=f"{prefix}{number}", human_score=human, judge_score=judge)
        for number, (human, judge) in enumerate(pairs)
    )
    return Audit(judge_fingerprint="j1", language="en", calls=calls)


def corrected(
    judged: list[JudgedCall], audit: Audit | None, *, judge: str = "j1", language: str = "en"
) -> CorrectedMean:
    return corrected_mean(judged, audit, judge_fingerprint=judge, language=language)


def test_raw_and_corrected_stand_side_by_side():
    """A judge that misses every second fault shows a rate of 0.1; people's scores put it right, at 0.2."""
    judged = window_of(*[1.0, *[0.0] * 9] * 50)
    audit = audit_of(*[(1.0, 1.0), (1.0, 0.0), *[(0.0, 0.0)] * 8] * 20)

    found = corrected(judged, audit)

    assert found.raw == stats.mean([call.judge_score for call in judged])
    assert found.human == stats.mean([call.human_score for call in audit.calls])
    assert found.corrected
    assert found.human
    assert (found.corrected.value, found.corrected.method, found.corrected.n) == (pytest.approx(0.2), "ppi++", 200)
    assert found.not_corrected is None
    assert width(found.corrected) < width(found.human)


def test_a_judge_that_knows_nothing_is_not_relied_on():
    """Where the judge's numbers say nothing about the people's, the corrected mean is the people's."""
    audit = audit_of(*[(1.0, 1.0), (1.0, 0.0), (0.0, 1.0), (0.0, 0.0)] * 25)

    found = corrected(window_of(*[1.0] * 90, *[0.0] * 10), audit)

    assert found.corrected
    assert (found.reliance, found.corrected.value) == (pytest.approx(0.0), pytest.approx(0.5))


def test_a_judge_that_always_says_the_same_is_not_relied_on():
    """Without any spread of the judge's numbers there is nothing to tune."""
    found = corrected(window_of(*[0.0] * 50), audit_of(*[(1.0, 0.0), (0.0, 0.0)] * 25))

    assert found.corrected
    assert (found.reliance, found.corrected.value) == (0.0, pytest.approx(0.5))


@pytest.mark.parametrize(
    ("audit", "judge", "language", "reason"),
    [
        (None, "j1", "en", "no_audit"),
        (audit_of(*[(1.0, 1.0)] * 50), "j2", "en", "other_judge"),
        (audit_of(*[(1.0, 1.0)] * 50), "j1", "ja", "other_language"),
    ],
)
def test_an_audit_says_nothing_about_another_judge_or_language(
    audit: Audit | None, judge: str, language: str, reason: str
):
    """The correction is void as soon as the fingerprint or the language differs."""
    judged = window_of(*[1.0, 0.0] * 20)

    assert corrected(judged, audit, judge=judge, language=language) == CorrectedMean(
        raw=stats.mean([1.0, 0.0] * 20), corrected=None, human=None, not_corrected=reason, reliance=None
    )


def test_nine_audited_calls_correct_nothing():
    """The rule of ten effective calls holds for people's scores, too."""
    found = corrected(window_of(*[1.0, 0.0] * 20), audit_of(*[(1.0, 1.0)] * 9))

    assert (found.corrected, found.not_corrected, found.human and found.human.n) == (None, "audit_too_small", 9)


def test_audited_calls_of_the_window_are_not_counted_twice():
    """Where every call of the window was audited, the judge adds nothing to what people said."""
    pairs = [(1.0, 1.0), (1.0, 0.0), *[(0.0, 0.0)] * 8] * 20

    found = corrected(window_of(*[judge for _, judge in pairs]), audit_of(*pairs, prefix="w"))

    assert found.corrected
    assert found.human
    assert found.corrected.value == pytest.approx(found.human.value)
    assert width(found.corrected) == pytest.approx(width(found.human), rel=0.02)


def test_an_audit_without_a_disagreement_is_no_proof():
    """A judge that was right a hundred times may err: the interval is wider than that of the judge's mean."""
    found = corrected(window_of(*[1.0, 0.0, 0.0, 0.0] * 500), audit_of(*[(1.0, 1.0), *[(0.0, 0.0)] * 3] * 25))

    assert found.corrected
    assert width(found.corrected) > width(found.raw)


def test_rare_faults_ask_for_more_caution():
    """With five faults in a hundred audited calls the interval reaches further up than down."""
    found = corrected(window_of(*[1.0, *[0.0] * 19] * 50), audit_of(*[(1.0, 1.0), *[(0.0, 0.0)] * 19] * 5))

    assert found.corrected
    assert found.corrected.value
    assert found.corrected.low
    assert found.corrected.high
    assert found.corrected.high - found.corrected.value > found.corrected.value - found.corrected.low > 0


def test_grades_are_corrected_too():
    """Numbers beyond 1 have Student's interval around the corrected mean."""
    found = corrected(window_of(*[5.0, 4.0, 3.0] * 40), audit_of(*[(4.0, 5.0), (3.0, 4.0), (2.0, 3.0)] * 20))

    assert found.corrected
    assert found.corrected.low
    assert found.corrected.high
    assert found.corrected.value == pytest.approx(3.0)
    assert (found.corrected.low + found.corrected.high) / 2 == pytest.approx(3.0)


def width(estimate: stats.Estimate) -> float:
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.high - estimate.low
