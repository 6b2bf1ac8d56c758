"""Which judged calls people should look at, with which probability, and how far they agree with the judge. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

from ragtrace import stats
from ragtrace.metrics.diagnosis import passes
from ragtrace.model import JsonValue
from ragtrace.sampling import position
from ragtrace.scorer.state import CallKey
from ragtrace.semconv import FAITHFULNESS, MARK_COMPARISON, MARK_JARGON, MARK_NEGATION, MARK_SHORT_ANSWER
from ragtrace.stats import Estimate

GOOD_AGREEMENT: Final = 0.8
_SUSPICIONS: Final = frozenset({MARK_SHORT_ANSWER, MARK_NEGATION, MARK_COMPARISON, MARK_JARGON})
Band = Literal["high", "low", "undecided", "suspicious"]
BANDS: Final[tuple[Band, ...]] = get_args(Band)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedCall:
    """What the scorer wrote about one call."""

    key: CallKey
    faithfulness: float | None
    needs_review: bool
    """A claim has no verdict."""
    marks: frozenset[str]
    probability: float
    """With which the call was judged."""

    @property
    def verdict(self) -> bool | None:
        """Return whether the judge holds everything in the answer for supported; None where it has no number."""
        return None if self.faithfulness is None else self.faithfulness >= 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A call that people should look at."""

    key: CallKey
    band: Band
    probability: float
    """With which it was judged and chosen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """A call that a person answered for, beside the judge's verdict."""

    key: CallKey
    band: Band
    probability: float
    human: bool
    judge: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How often a person and the judge say the same."""

    band: Band | None
    """None: all bands, each call weighted by how likely it was to be shown."""
    labelled: int
    share: Estimate
    """Of the calls that the judge gave a verdict, too."""

    @property
    def is_low(self) -> bool:
        """Tell whether the judge's numbers should not be relied on."""
        return self.share.value is not None and self.share.value < GOOD_AGREEMENT


def band_of(call: JudgedCall, thresholds: Mapping[str, float]) -> Band | None:
    """Return the first band that a call is in; None where there is nothing to review."""
    if call.needs_review:
        return "undecided"
    if call.faithfulness is None:
        return None
    if call.marks & _SUSPICIONS:
        return "suspicious"
    return "high" if passes(FAITHFULNESS, call.faithfulness, thresholds) else "low"


def choose(
    calls: Iterable[JudgedCall], *, share: float, salt: str, thresholds: Mapping[str, float]
) -> tuple[Chosen, ...]:
    """Return a share of the calls with high and with low scores, and all undecided and suspicious ones.

    The choice is by hash: a second look chooses the same, a larger share also all of a smaller one.

    Args:
        calls: Judged calls.
        share: Of high and of low scores, 0-1.
        salt: Of the scorer's sample. The choice is another one: judged calls are those with a low position there.
        thresholds: From which faithfulness a score is high.
    """
    chosen: list[Chosen] = []
    for call in calls:
        band = band_of(call, thresholds)
        if band is None:
            continue
        rate = 1.0 if band in ("undecided", "suspicious") else share
        if position(call.key[0], f"{salt}\x1freview") < rate:
            chosen.append(Chosen(key=call.key, band=band, probability=call.probability * rate))
    return tuple(chosen)


def agreements(opinions: Sequence[Opinion]) -> tuple[Agreement, ...]:
    """Return the agreement in each band, and in all of them as the last."""
    by_band = [_agreement(band, [opinion for opinion in opinions if opinion.band == band]) for band in BANDS]
    return (*by_band, _agreement(None, opinions))


def _agreement(band: Band | None, opinions: Sequence[Opinion]) -> Agreement:
    decided = [opinion for opinion in opinions if opinion.judge is not None]
    share = stats.mean(
        [float(opinion.human == opinion.judge) for opinion in decided],
        [opinion.probability for opinion in decided],
        clusters=[opinion.key[0] for opinion in decided],
    )
    return Agreement(band=band, labelled=len(opinions), share=share)


def marks_of(metadata: Mapping[str, JsonValue]) -> frozenset[str]:
    """Return the marks that `rag_outcome` carries."""
    marks = metadata.get("marks")
    return frozenset(str(mark) for mark in marks) if isinstance(marks, list) else frozenset()
