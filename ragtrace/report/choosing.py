"""Choose calls of a window: by metric, outcome, tag, or words that stand in them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ragtrace.metrics.diagnosis import LOWER_IS_BETTER
from ragtrace.model import RagCall
from ragtrace.report.content import Choices
from ragtrace.report.records import CallRecord, badness
from ragtrace.text import normalise

NOT_SCORED = "not_scored"
"""Stands for the outcome of a call that no scorer came to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What people ask for; empty fields do not filter."""

    search: str = ""
    """Words that question, answer or a passage holds, in any case and width."""
    metric: str = ""
    """Only calls with a number for it, the worst in it first."""
    outcome: str = ""
    tag: str = ""

    def __bool__(self) -> bool:
        return bool(self.search or self.metric or self.outcome or self.tag)

    def takes(self, record: CallRecord) -> bool:
        """Tell whether a call has the metric, the outcome and the tag."""
        return (
            (not self.metric or self.metric in record.scores)
            and self.outcome in ("", _outcome(record))
            and (not self.tag or self.tag in record.labels.get("tag", ()))
        )

    def holds(self, call: RagCall) -> bool:
        """Tell whether a call's text holds the searched words."""
        passages = call.delivery.passages if call.delivery else ()
        texts = (call.question, call.answer, *(found.passage.text for found in passages))
        wanted = normalise(self.search)
        return any(wanted in normalise(text) for text in texts)

    def worst(self, records: Sequence[CallRecord], limit: int) -> tuple[CallRecord, ...]:
        """Return the calls to read first: by the metric that was asked for, else by what is wrong with the answer."""
        sign = -1 if self.metric in LOWER_IS_BETTER else 1
        return tuple(
            sorted(records, key=lambda r: (sign * r.scores[self.metric] if self.metric else 0, badness(r)))[:limit]
        )


def choices_of(records: Iterable[CallRecord]) -> Choices:
    """Return what the calls can be chosen by, in the order of the alphabet."""
    known = tuple(records)
    return Choices(
        metrics=tuple(sorted({name for record in known for name in record.scores})),
        outcomes=tuple(sorted({_outcome(record) for record in known})),
        tags=tuple(sorted({tag for record in known for tag in record.labels.get("tag", ())})),
    )


def _outcome(record: CallRecord) -> str:
    return record.outcome.value if record.outcome else NOT_SCORED
