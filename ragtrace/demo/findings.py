"""Hold the planted faults against what the judge said."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ragtrace.demo.faults import FAULT_KINDS, FaultKind, LedgerEntry
from ragtrace.report.content import ShownCall, ShownSentence

_FLAGGED = ("unsupported", "contradicted")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedFault:
    """A planted fault and what became of it."""

    entry: LedgerEntry
    is_judged: bool
    """The judge gave a verdict on the sentence."""
    is_caught: bool
    """The verdict was `unsupported` or `contradicted`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """How well the judge did where the truth is known."""

    faults: tuple[PlantedFault, ...]
    honest: int
    """Judged sentences in which nothing was planted."""
    false_alarms: tuple[str, ...]
    """Those of them that the judge did not find supported."""

    def of_kind(self, kind: FaultKind) -> tuple[PlantedFault, ...]:
        """Return the faults of one kind."""
        return tuple(fault for fault in self.faults if fault.entry.kind == kind)

    def by_kind(self) -> Mapping[FaultKind, tuple[PlantedFault, ...]]:
        """Return the faults by kind, all kinds named."""
        return {kind: self.of_kind(kind) for kind in FAULT_KINDS}


def compare(entries: Sequence[LedgerEntry], calls: Sequence[ShownCall]) -> Findings:
    """Find each planted sentence among the judged ones."""
    by_question = {call.question: call for call in calls}
    planted = {entry.question: entry.planted for entry in entries}
    honest = [
        sentence
        for call in calls
        for sentence in _judged(call.answer)
        if sentence not in _overlapping(call.answer, planted.get(call.question, ""))
    ]
    return Findings(
        faults=tuple(_compare_one(entry, by_question.get(entry.question)) for entry in entries),
        honest=len(honest),
        false_alarms=tuple(sentence.text for sentence in honest if sentence.verdict in _FLAGGED),
    )


def _compare_one(entry: LedgerEntry, call: ShownCall | None) -> PlantedFault:
    sentences = _judged(_overlapping(call.answer, entry.planted)) if call else []
    is_caught = any(sentence.verdict in _FLAGGED for sentence in sentences)
    return PlantedFault(entry=entry, is_judged=bool(sentences), is_caught=is_caught)


def _judged(sentences: Iterable[ShownSentence]) -> list[ShownSentence]:
    return [sentence for sentence in sentences if sentence.verdict]


def _overlapping(answer: Sequence[ShownSentence], planted: str) -> list[ShownSentence]:
    """Return the sentences that share a character with the planted text."""
    text = "".join(sentence.lead + sentence.text for sentence in answer)
    start = text.find(planted) if planted else -1
    if start < 0:
        return []
    found: list[ShownSentence] = []
    place = 0
    for sentence in answer:
        begin = place + len(sentence.lead)
        place = begin + len(sentence.text)
        if begin < start + len(planted) and start < place:
            found.append(sentence)
    return found
