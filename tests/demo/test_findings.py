"""Planted faults held against verdicts."""

from datetime import UTC, datetime

from ragtrace.demo.faults import LedgerEntry
from ragtrace.demo.findings import Findings, PlantedFault, compare
from ragtrace.report.content import ShownCall, ShownSentence


def _call(question: str, *sentences: tuple[str, str | None]) -> ShownCall:
    return ShownCall(
        number=1,
        trace_id="t",
        url="u",
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
        language="en",
        question=question,
        answer=tuple(
            ShownSentence(lead=" " if place else "", text=text, kind="statement", verdict=verdict, claims=())
            for place, (text, verdict) in enumerate(sentences)
        ),
        reference=None,
        passages=(),
        scores=(),
        findings=(),
        verdict="",
        severity="clear",
        model=None,
        tags=(),
    )


def _entry(question: str, planted: str) -> LedgerEntry:
    return LedgerEntry(question=question, kind="swapped", planted=planted, answer="")


def test_fault_is_caught_by_a_verdict_on_its_sentence_only():
    """A flag on the planted sentence is a catch; a flag on another sentence is a false alarm."""
    caught, missed = _entry("a", "Two is wrong."), _entry("b", "Two is wrong.")
    calls = [
        _call("a", ("One is right.", "supported"), ("Two is wrong.", "contradicted")),
        _call("b", ("One is right.", "unsupported"), ("Two is wrong.", "supported")),
    ]

    assert compare([caught, missed], calls) == Findings(
        faults=(
            PlantedFault(entry=caught, is_judged=True, is_caught=True),
            PlantedFault(entry=missed, is_judged=True, is_caught=False),
        ),
        honest=2,
        false_alarms=("One is right.",),
    )


def test_fault_may_span_several_judged_sentences():
    """A planted text that was split is caught if one of its parts is flagged."""
    entry = _entry("a", "One; two.")
    call = _call("a", ("One;", "supported"), ("two.", "unsupported"), ("Three.", "supported"))

    assert compare([entry], [call]).faults == (PlantedFault(entry=entry, is_judged=True, is_caught=True),)


def test_fault_without_a_verdict_counts_as_not_judged():
    """No verdict, no such text or no such call: the fault was not judged."""
    entries = [_entry("a", "One."), _entry("b", "Gone."), _entry("c", "One.")]
    calls = [_call("a", ("One.", None)), _call("b", ("Two.", "supported"))]
    findings = compare(entries, calls)

    assert findings.faults == tuple(PlantedFault(entry=e, is_judged=False, is_caught=False) for e in entries)
    assert {kind: len(faults) for kind, faults in findings.by_kind().items()} == {
        "invented": 0,
        "swapped": 3,
        "contradicted": 0,
        "from_cut_text": 0,
    }
