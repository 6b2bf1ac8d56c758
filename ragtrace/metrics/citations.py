"""Whether the answer's citations name passages that support the sentences they stand in."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ragtrace.metrics.ground import MetricOptions, answer_ground, received_passages
from ragtrace.metrics.overlap import likely_source
from ragtrace.metrics.precision import prompt_order
from ragtrace.model import Citation, JudgedSentence, RagCall, Score, Unscored, Verdicts
from ragtrace.semconv import CITATION_ACCURACY, CITATION_COVERAGE

_MARKER = re.compile(r"\[\^?([^\[\]\n]{1,80})\](?!\()|【([^【】\n]{1,80})】")
_LIST = re.compile(r"\s*[,;，；、]\s*")
_RANGE = re.compile(r"(\d{1,3})\s*[-–]\s*(\d{1,3})")
CitedBy = Literal["provider", "markers", "entity overlap"]
_BY: Mapping[CitedBy, str] = {
    "provider": "",
    "markers": "",
    "entity overlap": " The answer has no citations: passages were assigned by shared names and numbers.",
}
_NUMBER = re.compile(r"(?:doc(?:ument)?|passage|source|ref|文档|来源)?[\s_#-]*(\d{1,3})(?:†.*)?", re.IGNORECASE)


def citation_accuracy(call: RagCall, verdicts: Verdicts | Unscored | None, options: MetricOptions) -> Score | Unscored:
    """Return the share of citations whose passage is evidence for a supported claim of their sentence, 0–1.

    A citation of a passage that does not exist counts as wrong. Markers are `[1]`, `[1, 3]`, `[2-4]`, `[^1]`,
    `[doc-2]`, `【1】` or a passage's own id in brackets; numbers count received passages in prompt order, from 1.
    Citations that the provider reported are used where there are any. An answer with neither is held against the
    passages that share most names and numbers with each sentence; `by` in the metadata, and the comment, say so.
    The judge names one or more supporting passages, not always all, so a correct second source can count as wrong:
    the value is a lower bound.
    """
    found = _cited(call, verdicts, CITATION_ACCURACY)
    if isinstance(found, Unscored):
        return found
    named = [(s, passage) for s, passages in found.cited for passage in passages]
    right = sum(passage in _evidence(sentence) for sentence, passage in named)
    wrong = next(((s, p) for s, p in named if p not in _evidence(s)), None)
    said = f" First wrong: “{wrong[0].sentence.text[:160]}”." if wrong else ""
    return Score(
        name=CITATION_ACCURACY,
        value=right / len(named),
        comment=f"{right} of {len(named)} citations name a passage that supports their sentence.{said}{_BY[found.by]}",
        metadata={"citations": len(named), "right": right, "by": found.by},
    )


def citation_coverage(call: RagCall, verdicts: Verdicts | Unscored | None, options: MetricOptions) -> Score | Unscored:
    """Return the share of the answer's supported sentences that carry a citation, 0–1.

    Without markers or citations of the provider: those that share names or numbers with a passage, which is said.
    """
    found = _cited(call, verdicts, CITATION_COVERAGE)
    if isinstance(found, Unscored):
        return found
    supported = [s for s in found.verdicts.answer if _evidence(s)]
    if not supported:
        return Unscored(name=CITATION_COVERAGE, reason="no_claims", detail="no sentence is supported")
    numbers = {s.sentence.number for s, _ in found.cited}
    covered = sum(s.sentence.number in numbers for s in supported)
    return Score(
        name=CITATION_COVERAGE,
        value=covered / len(supported),
        comment=f"{covered} of {len(supported)} supported sentences are cited.{_BY[found.by]}",
        metadata={"supported": len(supported), "cited": covered, "by": found.by},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cited:
    verdicts: Verdicts
    cited: tuple[tuple[JudgedSentence, tuple[int, ...]], ...]
    by: CitedBy


def find_citations(call: RagCall) -> tuple[Citation, ...]:
    """Return the provider's citations, else the markers of the answer that name a passage or a passage number.

    A number that no passage has yields an index of -1: somebody was cited who was not there.
    """
    if call.citations:
        return call.citations
    if call.delivery is None:
        return ()
    order = prompt_order(call)
    ids = {d.passage.id: i for i, d in enumerate(call.delivery.passages) if d.passage.id}
    found = (
        Citation(start=m.start(), end=m.end(), passages=_named(m.group(1) or m.group(2), ids, order))
        for m in _MARKER.finditer(call.answer)
    )
    return tuple(citation for citation in found if citation.passages)


def _named(marker: str, ids: Mapping[str, int], order: tuple[int, ...]) -> tuple[int, ...]:
    if marker in ids:
        return (ids[marker],)
    named: list[int] = []
    for part in _LIST.split(marker.strip()):
        if part in ids:
            named.append(ids[part])
        elif span := _RANGE.fullmatch(part):
            named.extend(_at(number, order) for number in range(int(span[1]), int(span[2]) + 1))
        elif number := _NUMBER.fullmatch(part):
            named.append(_at(int(number[1]), order))
        else:
            return ()
    return tuple(named)


def _at(number: int, order: tuple[int, ...]) -> int:
    return order[number - 1] if 1 <= number <= len(order) else -1


def _cited(call: RagCall, verdicts: Verdicts | Unscored | None, name: str) -> _Cited | Unscored:
    ground = answer_ground(call, verdicts, name)
    if isinstance(ground, Unscored):
        return ground
    citations = find_citations(call)
    pairs = [(_owner(ground.answer, c), c.passages) for c in citations]
    cited = tuple((sentence, passages) for sentence, passages in pairs if sentence is not None)
    if cited:
        return _Cited(verdicts=ground, cited=cited, by="provider" if call.citations else "markers")
    implied = _by_overlap(call, ground)
    if not implied:
        return Unscored(name=name, reason="no_citations", detail="none, and no names or numbers shared with a passage")
    return _Cited(verdicts=ground, cited=implied, by="entity overlap")


def _by_overlap(call: RagCall, verdicts: Verdicts) -> tuple[tuple[JudgedSentence, tuple[int, ...]], ...]:
    texts = {index: delivery.received_text for index, delivery in received_passages(call)}
    ordered = {index: texts[index] for index in prompt_order(call)}
    found = ((s, likely_source(s.sentence.text, ordered)) for s in verdicts.answer if s.claims)
    return tuple((sentence, (index,)) for sentence, index in found if index is not None)


def _owner(sentences: tuple[JudgedSentence, ...], citation: Citation) -> JudgedSentence | None:
    """Return the sentence that holds the marker; a marker after a full stop belongs to the sentence before it."""
    claiming = [s for s in sentences if s.claims]
    holding = next((s for s in claiming if s.sentence.start <= citation.start < s.sentence.end), None)
    before = [s for s in claiming if s.sentence.end <= citation.start]
    return holding or (before[-1] if before else None)


def _evidence(sentence: JudgedSentence) -> frozenset[int]:
    return frozenset(i for claim in sentence.claims if claim.verdict == "supported" for i in claim.evidence)
