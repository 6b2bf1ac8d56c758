"""The values that travel between the parts: passages, calls, verdicts, scores."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from ragtrace.semconv import UnscoredReason

JsonValue = str | int | float | bool | None | list["JsonValue"] | dict[str, "JsonValue"]
PassageSource = Literal["retriever", "tool", "manual", "prompt", "history"]
DeliveryStatus = Literal["full", "partial", "absent", "transformed", "undetermined"]
DeliveryKind = Literal["head", "tail", "middle", "fragments"]
SentenceKind = Literal["statement", "question", "refusal", "greeting", "heading", "code", "row"]
ClaimVerdict = Literal["supported", "contradicted", "unsupported", "undecided"]
Confidence = Literal["high", "medium", "low"]
ReferenceHow = Literal["trace", "exact", "normalised", "similar", "function"]
DataType = Literal["NUMERIC", "CATEGORICAL", "BOOLEAN"]

PIECE_SEPARATOR = "\n[…]\n"
"""Stands between pieces of a passage that did not touch each other in the passage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """One piece of retrieved text."""

    text: str
    """The text exactly as retrieval returned it."""
    rank: int
    """Place in the retrieved list, from 0."""
    id: str | None = None
    """The document's own id, where it has one."""
    score: float | None = None
    """Retrieval score, on the retriever's scale."""
    metadata: Mapping[str, JsonValue] = field(default_factory=dict)
    """The document's metadata, as JSON values."""
    source: PassageSource = "retriever"
    """How the passage became known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextSpan:
    """A stretch of a passage and where it stands in the prompt; offsets in characters, end exclusive."""

    passage_start: int
    passage_end: int
    prompt_start: int
    prompt_end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageDelivery:
    """What became of one retrieved passage on its way into the prompt."""

    passage: Passage
    status: DeliveryStatus
    kind: DeliveryKind | None = None
    """Which part arrived, where `status` is `partial`."""
    coverage: float = 0.0
    """Share of the passage's letters and digits that was received, 0–1."""
    spans: tuple[TextSpan, ...] = ()
    """The received stretches, in passage order, not overlapping."""
    copies: int = 1
    """How often the received text stands in the prompt."""

    @property
    def received_text(self) -> str:
        """What the generator was sent of this passage; pieces that did not touch are separated."""
        if self.status == "full":
            return self.passage.text
        return PIECE_SEPARATOR.join(self.passage.text[s.passage_start : s.passage_end] for s in self.spans)

    @property
    def withheld_text(self) -> str:
        """What of this passage the generator was not sent; "" while that is not known."""
        if self.status in ("full", "undetermined", "transformed"):
            return ""
        text, starts = self.passage.text, [0, *(s.passage_end for s in self.spans)]
        ends = [*(s.passage_start for s in self.spans), len(text)]
        return PIECE_SEPARATOR.join(text[a:b] for a, b in zip(starts, ends, strict=True) if text[a:b].strip())


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """Retrieved passages held against the prompt that the generator was sent."""

    passages: tuple[PassageDelivery, ...] = ()
    """In retrieved order."""
    prompt_order: tuple[int, ...] = ()
    """Indexes into `passages` of those received, by their first place in the prompt."""
    unknown_spans: tuple[tuple[int, int], ...] = ()
    """Stretches of the prompt that no passage explains: (start, end), characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptPiece:
    """A stretch of prompt text that could not be placed, kept so that `align.full` can."""

    text: str
    start: int
    """Offset in the whole prompt, in characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A place of the answer that names a passage."""

    start: int
    end: int
    """Where the marker or the cited sentence stands in the answer, in characters."""
    passages: tuple[int, ...]
    """Indexes of the passages named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceMatch:
    """How the reference of a call was found among those that are kept."""

    how: ReferenceHow
    question: str
    """The question that the reference was kept for."""
    source: str
    """Where it came from: `dataset:NAME`, `file:NAME` or `function`."""
    similarity: float = 1.0
    """Of the two questions' words, 0–1; below 1 for `similar` only."""
    is_mismatch: bool = False
    """The reference is known not to answer its own question, and is not used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RagCall:
    """One answer of a RAG application, with everything needed to judge it."""

    id: str
    """Stable id; the observation's where there is one."""
    question: str
    answer: str
    delivery: Delivery | None
    """None: which passages there were is unknown. Without passages: retrieval found nothing."""
    started_at: datetime
    trace_id: str | None = None
    observation_id: str | None = None
    question_rewritten: str | None = None
    """The query that retrieval was really asked, where it differs from the question."""
    prompt_rest: tuple[PromptPiece, ...] = ()
    """Prompt text not placed yet; only where a passage is `undetermined`."""
    reference: str | None = None
    """A known good answer."""
    reference_match: ReferenceMatch | None = None
    """How the reference was found; None: it was recorded with the call, or there is none."""
    reference_passages: tuple[str, ...] = ()
    """Passages that a person says answer the question."""
    relevant_ids: tuple[str, ...] = ()
    """Ids of documents that a person says answer the question."""
    citations: tuple[Citation, ...] = ()
    """Citations that the provider reported; markers in the answer are found later."""
    model: str | None = None
    environment: str | None = None
    tags: tuple[str, ...] = ()
    session: str | None = None
    user: str | None = None
    release: str | None = None
    confidence: Confidence = "high"
    """How sure capture was which call answered and which passages belong to it."""
    marks: tuple[str, ...] = ()
    """Suspicions and caps, words of `semconv.MARK_…`."""
    capture_probability: float = 1.0
    """Probability that this call was captured at all, 0–1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A sentence of an answer or reference, or what stands for one: a list item, a table row, a code block."""

    number: int
    """From 1, in text order."""
    text: str
    start: int
    end: int
    """Offsets in the text that was split, in characters, end exclusive."""
    kind: SentenceKind = "statement"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One checkable assertion of a sentence and what the judge found."""

    text: str
    verdict: ClaimVerdict
    evidence: tuple[int, ...] = ()
    """Indexes into `Delivery.passages` whose received text supports or contradicts it."""
    withheld_evidence: tuple[int, ...] = ()
    """Reference claims only: indexes of passages whose withheld text supports it; counts for retrieval_recall alone."""
    reason: str | None = None
    support: float | None = None
    """The judge's own probability, 0–1, that received passages support the claim; None where it gives none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedSentence:
    """A sentence with the verdicts on its claims."""

    sentence: Sentence
    claims: tuple[Claim, ...]
    """Empty where the sentence claims nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """Something the question needs an answer to hold, and whether received passages hold it."""

    text: str
    met: bool
    evidence: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Grades:
    """Label-free grades, each 0–5, with one line of reason."""

    correctness: float
    completeness: float
    relevance: float
    overall: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Relevancy:
    """Questions that the answer would answer, and how near each is to the one that was asked."""

    questions: tuple[str, ...]
    cosines: tuple[float, ...]
    """One a question, -1–1."""
    noncommittal: bool = False
    """The answer evades ("I am not sure")."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeInfo:
    """Which judge gave the verdicts and what it cost."""

    fingerprint: str
    """Hash of model, prompts and protocol: numbers with different fingerprints do not mix."""
    model: str
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached: bool = False
    cost: float | None = None
    """In the currency of the `[prices]` settings; None without a price."""
    parameters: Mapping[str, JsonValue] = field(default_factory=dict)
    """What the endpoint was really asked with: it may have refused a temperature or a reply format."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """What a judge found about one call."""

    judge: JudgeInfo
    answer: tuple[JudgedSentence, ...] = ()
    """Every sentence of the answer; those that are no statements carry no claims."""
    reference: tuple[JudgedSentence, ...] = ()
    """Every sentence of the reference; a claim's verdict counts received text only."""
    useful: tuple[int, ...] = ()
    """Indexes of passages used as evidence for any claim."""
    refused: bool = False
    """The answer declines to answer ("I don't know")."""
    abstained: UnscoredReason | None = None
    """Why the judge gave no verdicts although it was asked, e.g. `language_mismatch`."""
    grades: Grades | None = None
    relevancy: Relevancy | None = None
    needs: tuple[Need, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A number, or a category, for one call."""

    name: str
    value: float | str
    data_type: DataType = "NUMERIC"
    comment: str | None = None
    """For people: worst sentence first, at most 500 characters."""
    metadata: Mapping[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unscored:
    """A metric that has no number for one call, and why."""

    name: str
    reason: UnscoredReason
    detail: str | None = None
