"""What a report says, ready to be shown: no lookups and no arithmetic are left to do."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from ragtrace.metrics.diagnosis import Advice, Layer
from ragtrace.model import ClaimVerdict, SentenceKind
from ragtrace.stats import Estimate

Fate = Literal["received", "cut", "dropped", "changed", "unknown"]
"""What became of a passage: whole, in part, not at all, in other words, not known."""
Severity = Literal["contradicted", "unsupported", "clear", "unscored"]
Step = Literal["hour", "day", "week"]
"""How long each stretch of a trend is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPiece:
    """A stretch of a passage."""

    text: str
    arrived: bool
    """The generator was sent it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownPassage:
    """A retrieved passage and what of it the generator was sent."""

    number: int
    """Place in the retrieved list, from 1."""
    id: str | None
    fate: Fate
    share: float | None
    """Share of the text that arrived, 0–1; None where that is not known."""
    pieces: tuple[TextPiece, ...]
    """The text in order, arrived and cut."""
    left_out: int = 0
    """Characters at the end that the page leaves out for its size."""
    supports: bool = False
    """Some claim of the answer rests on it."""
    contradicts: bool = False
    """Some claim of the answer says otherwise."""
    holds_reference: bool = False
    """Its withheld text holds a part of the reference that no received text holds."""
    copies: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownClaim:
    """A claim, the verdict and why."""

    text: str
    verdict: ClaimVerdict
    reason: str | None
    evidence: tuple[int, ...]
    """Passage numbers, from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownSentence:
    """A sentence as it stands in its text."""

    lead: str
    """White space and the like between the sentence before and this one."""
    text: str
    kind: SentenceKind
    verdict: ClaimVerdict | None
    """None where it claims nothing, or was not judged."""
    claims: tuple[ShownClaim, ...]
    in_cut_text: int | None = None
    """Number of the passage whose withheld text says the same, although the judge could not see it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Where an answer went wrong, in words."""

    layer: Layer
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownScore:
    """A metric of one call: a number, or why there is none."""

    name: str
    label: str
    value: float | None
    unscored: str | None
    """The reason in words."""
    comment: str | None = None
    """What the score says of itself in Langfuse."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCall:
    """One answer with everything that a reader needs to agree or disagree."""

    number: int
    """From 1, worst first."""
    trace_id: str
    url: str
    """The trace in Langfuse."""
    started_at: datetime
    language: str
    """BCP 47 tag, for fonts and screen readers."""
    question: str
    answer: tuple[ShownSentence, ...]
    reference: str | None
    passages: tuple[ShownPassage, ...] | None
    """None: which passages there were is unknown."""
    scores: tuple[ShownScore, ...]
    findings: tuple[Finding, ...]
    verdict: str
    """The summary in a few words: `1 of 3 sentences contradicted`."""
    severity: Severity
    model: str | None
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricRates:
    """One metric over the window."""

    name: str
    label: str
    meaning: str
    mean: float | None
    """Macro: every answer counts the same. Weighted by one over the inclusion probability; None: nothing was scored."""
    scored: int
    unscored: Mapping[str, int]
    """Calls without a number, by reason."""
    is_headline: bool
    """Stands in large type on top."""
    estimate: Estimate
    """The mean with its interval, where there are answers enough for one."""
    pooled: Estimate | None = None
    """Micro: every claim, sentence or citation counts the same; None for metrics that are no share of such."""
    unit: str | None = None
    """What is pooled."""
    pass_mark: float | None = None
    """Threshold that the mean is held against."""
    has_passed: bool | None = None
    """None: no number, or no threshold."""
    is_lower_better: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseCount:
    """How often something went wrong at one place on the way from question to answer."""

    layer: Layer
    title: str
    text: str
    calls: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendPoint:
    """A metric in one stretch of the window."""

    start: datetime
    estimate: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """A metric through the window."""

    name: str
    label: str
    step: Step
    points: tuple[TrendPoint, ...]
    """In order of time; stretches without a number are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A metric beside the window before, which is as long."""

    name: str
    label: str
    before: Estimate
    now: Estimate
    difference: Estimate
    """Now less before."""
    since: datetime | None
    """When it most likely changed; None: the difference may be chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentRates:
    """The headline metrics of the calls that share a tag, a model or the like."""

    value: str
    calls: int
    estimates: Mapping[str, Estimate]
    """By metric."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryLoss:
    """What retrieval found and the generator was not sent."""

    recall: Estimate
    """Retrieval recall less context recall, over the calls with a reference."""
    text: Estimate
    """Share of the retrieved text that was received."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedShare:
    """The share of wholly supported answers of one judge in one language: by the judge, and corrected by people."""

    judge: str
    """Model and fingerprint."""
    language: str
    """Of the answers, as ISO 639-1."""
    raw: Estimate
    """By the judge alone."""
    corrected: Estimate
    """Its `n` counts the calls that people reviewed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingCost:
    """What judging the window took, as the judges reported it."""

    calls: int
    prompt_tokens: int
    completion_tokens: int
    money: float | None
    """In the currency of the `[prices]` settings; None where no judged call had a price."""
    unpriced: int
    """Judge calls without a price, which `money` leaves out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What the calls of the window can be chosen by, in whole, whatever was chosen."""

    metrics: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything on the page."""

    title: str
    made_at: datetime
    base_url: str
    first_at: datetime | None
    last_at: datetime | None
    calls: int
    """Captured calls in the window."""
    judged: int
    """Calls with an outcome `scored`."""
    unseen: int
    """Calls without an outcome: not sampled, or no scorer came to them yet."""
    headline: str
    obtained: tuple[str, ...]
    """How the numbers came about: sample, judge, calibration; a sentence each."""
    rates: tuple[MetricRates, ...]
    causes: tuple[CauseCount, ...]
    """All judged calls of the window by what went wrong; a call may count for several."""
    advice: tuple[Advice, ...]
    """What the means of the window point to, layer by layer."""
    corrected: tuple[CorrectedShare, ...]
    """Where people reviewed enough calls; most answers first."""
    delivery_loss: DeliveryLoss
    cost: JudgingCost
    trends: tuple[Trend, ...]
    compared_since: datetime | None
    """Where the window before begins; None: nothing was compared."""
    changes: tuple[Change, ...]
    choices: Choices
    segmented_by: str | None
    segments: tuple[SegmentRates, ...]
    shown: tuple[ShownCall, ...]
