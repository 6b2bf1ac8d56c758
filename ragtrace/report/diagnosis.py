"""Say in words where an answer went wrong, where the verdicts make that clear."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ragtrace import semconv
from ragtrace.metrics.diagnosis import DEFAULT_THRESHOLDS, LAYERS, WORDS, Layer, diagnose_values
from ragtrace.report.content import Finding
from ragtrace.report.outcome import Outcome, StoredClaim
from ragtrace.report.records import CallRecord
from ragtrace.report.words import CAUSES, plural


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reference:
    """Where the decided claims of a reference stand."""

    claims: int
    received: int
    withheld: tuple[StoredClaim, ...]

    @property
    def missed(self) -> int:
        return self.claims - self.received - len(self.withheld)


def find(record: CallRecord, thresholds: Mapping[str, float] = DEFAULT_THRESHOLDS) -> tuple[Finding, ...]:
    """Return what went wrong in the order of the pipeline, one finding a layer, with the claims it rests on counted."""
    if record.outcome is None:
        return ()
    faults = diagnose_values(record.scores, record.outcome.unscored, thresholds)
    by_layer = {layer: next((f for f in faults if LAYERS[f] == layer), None) for layer in CAUSES}
    return tuple(
        Finding(layer=layer, text=f"{CAUSES[layer][0]}. {_detail(layer, record.outcome) or WORDS[fault]}")
        for layer, fault in by_layer.items()
        if fault
    )


def count_layers(
    records: Iterable[CallRecord], thresholds: Mapping[str, float] = DEFAULT_THRESHOLDS
) -> Mapping[Layer, int]:
    """Count calls by layer; one call may count for several."""
    return Counter(finding.layer for record in records for finding in find(record, thresholds))


def _detail(layer: Layer, outcome: Outcome) -> str | None:
    """Count the claims behind a fault, where the stored verdicts show them."""
    reference = _reference(outcome)
    match layer:
        case "retrieval":
            return _missed(reference)
        case "delivery":
            return _lost(reference)
        case "generation":
            return _added(outcome)
        case "relevancy" if outcome.unscored.get(semconv.FAITHFULNESS) == "refusal" and reference.received:
            return f"{_of(reference.received, reference.claims)} in what the generator was sent."
    return None


def _reference(outcome: Outcome) -> _Reference:
    decided = [c for s in outcome.reference for c in s.claims if c.verdict != "undecided"]
    received = [claim for claim in decided if claim.verdict == "supported"]
    withheld = tuple(c for c in decided if c.verdict != "supported" and c.withheld_evidence)
    return _Reference(claims=len(decided), received=len(received), withheld=withheld)


def _missed(reference: _Reference) -> str | None:
    if not reference.missed:
        return None
    return f"{_of(reference.missed, reference.claims)} in no retrieved passage."


def _lost(reference: _Reference) -> str | None:
    if not reference.withheld:
        return None
    places = sorted({index + 1 for claim in reference.withheld for index in claim.withheld_evidence})
    numbers = ", ".join(map(str, places))
    where = f"in text of passage {numbers}" if len(places) == 1 else f"in text of passages {numbers}"
    return f"{_of(len(reference.withheld), reference.claims)} only {where} that the generator was not sent."


def _added(outcome: Outcome) -> str | None:
    judged = [sentence for sentence in outcome.answer if sentence.verdict]
    wrong = [sentence for sentence in judged if sentence.verdict in ("unsupported", "contradicted")]
    if not wrong:
        return None
    opposed = sum(sentence.verdict == "contradicted" for sentence in wrong)
    says = {0: "that no received passage says", len(wrong): "that a received passage contradicts"}
    what = says.get(opposed, "that no received passage says, or that one contradicts")
    of = f"{len(wrong)} of {plural(len(judged), 'sentence')}"
    return f"{of} {'claims' if len(wrong) == 1 else 'claim'} something {what}."


def _of(count: int, claims: int) -> str:
    stands = "stands" if count == 1 else "stand"
    return f"{count} of {plural(claims, 'claim')} of the reference {stands}"


def sentence_counts(verdicts: Sequence[str]) -> str:
    """Sum up the verdicts on an answer in a few words."""
    opposed, loose = verdicts.count("contradicted"), verdicts.count("unsupported")
    of = plural(len(verdicts), "sentence")
    match bool(opposed), bool(loose):
        case True, True:
            return f"{opposed} contradicted, {loose} not supported of {of}"
        case True, False:
            return f"{opposed} of {of} contradicted"
        case False, True:
            return f"{loose} of {of} not supported"
    undecided = verdicts.count("undecided")
    return f"{undecided} of {of} undecided" if undecided else "all supported"
