"""Find the known good answer to a production question, or none: a wrong one would be worse."""

import logging
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from rapidfuzz import fuzz, process

from ragtrace.model import RagCall, ReferenceHow, ReferenceMatch
from ragtrace.references.rows import ReferenceRow
from ragtrace.text import normalise

Lookup = Callable[[RagCall], str | None]
"""A program's own way to the reference of a call."""
_NEARLY_AS_NEAR = 0.02
_NUMBER = re.compile(r"\d+")
_logger = logging.getLogger(__name__)


class ReferenceBook:
    """References by trace, by question and by what their questions mean to a comparison of words.

    Args:
        rows: The references.
        similarity: Least similarity of two questions that counts as the same, 0-1; None: only equal ones do.
        lookup: Asked first.
        is_gated: Whether a reference that does not answer its own question gives `reference_mismatch` for a recall.
    """

    def __init__(
        self,
        rows: Iterable[ReferenceRow] = (),
        *,
        similarity: float | None = None,
        lookup: Lookup | None = None,
        is_gated: bool = True,
    ) -> None:
        self._similarity = similarity
        self._lookup = lookup
        self._is_gated = is_gated
        self._by_trace: dict[str, list[ReferenceRow]] = defaultdict(list)
        self._by_text: dict[str, list[ReferenceRow]] = defaultdict(list)
        self._by_normal_form: dict[str, list[ReferenceRow]] = defaultdict(list)
        for row in rows:
            if row.trace_id:
                self._by_trace[row.trace_id].append(row)
            self._by_text[row.question.strip()].append(row)
            if form := normalise(row.question):
                self._by_normal_form[form].append(row)
        self._by_numbers: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for form in self._by_normal_form:
            self._by_numbers[_numbers(form)].append(form)
        self.counts: Counter[str] = Counter()
        """Calls by how their reference was found: a `ReferenceHow`, `ambiguous` or `none`."""

    def __len__(self) -> int:
        """Count the questions that have a reference."""
        return len(self._by_text)

    def complete(self, call: RagCall) -> RagCall:
        """Return the call with its reference; one that it was recorded with stays."""
        if call.reference and call.reference.strip():
            return call
        if self._lookup is not None and (found := self._lookup(call)):
            self.counts["function"] += 1
            told = ReferenceMatch(how="function", question=call.question, source="function")
            return replace(call, reference=found, reference_match=told)
        match, row = self.match(call.question, trace_id=call.trace_id)
        if match is None or row is None:
            return call
        return replace(call, reference=None if match.is_mismatch else row.answer, reference_match=match)

    def match(
        self, question: str, *, trace_id: str | None = None
    ) -> tuple[ReferenceMatch, ReferenceRow] | tuple[None, None]:
        """Return the reference of a question and how it was found; none where several differ."""
        how, similarity, found = self._find(question, trace_id)
        if not found:
            self.counts["none"] += 1
            return None, None
        fitting = [row for row in found if row.fits is not False]
        rows = fitting if self._is_gated and fitting else found
        row = rows[0]
        if any(normalise(other.answer) != normalise(row.answer) for other in rows):
            if not self.counts["ambiguous"]:
                _logger.warning("Several references with different answers fit %r: none of them is used", question[:80])
            self.counts["ambiguous"] += 1
            return None, None
        self.counts[how] += 1
        match = ReferenceMatch(
            how=how,
            question=row.question,
            similarity=similarity,
            source=row.source,
            is_mismatch=self._is_gated and row.fits is False,
        )
        return match, row

    def _find(self, question: str, trace_id: str | None) -> tuple[ReferenceHow, float, Sequence[ReferenceRow]]:
        form = normalise(question)
        # A trace may hold several questions: its reference counts for the question that it was kept for.
        if trace_id and (rows := self._by_trace.get(trace_id)):
            asked = [row for row in rows if normalise(row.question) == form]
            if asked or len({row.question for row in rows}) == 1:
                return "trace", 1.0, asked or rows
        if rows := self._by_text.get(question.strip()):
            return "exact", 1.0, rows
        if form and (rows := self._by_normal_form.get(form)):
            return "normalised", 1.0, rows
        return ("similar", *self._nearest(form)) if form and self._similarity is not None else ("similar", 0.0, ())

    def _nearest(self, form: str) -> tuple[float, Sequence[ReferenceRow]]:
        """Return the references of the questions nearest in wording, those that are nearly as near included.

        Questions with other numbers are other questions, however near: gate 1 is not gate 2.
        """
        alike = self._by_numbers.get(_numbers(form), ())
        least = 100 * (self._similarity or 0.0)
        near = process.extract(form, alike, scorer=fuzz.token_sort_ratio, score_cutoff=least, limit=5)
        if not near:
            return 0.0, ()
        best = near[0][1] / 100
        forms = [found for found, score, _ in near if score / 100 >= best - _NEARLY_AS_NEAR]
        return best, [row for found in forms for row in self._by_normal_form[found]]


def _numbers(form: str) -> tuple[str, ...]:
    return tuple(sorted(_NUMBER.findall(form)))
