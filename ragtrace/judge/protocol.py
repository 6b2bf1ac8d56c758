"""What one call asks a judge, and what code makes of a verdict: numbers out, indexes of passages back."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from ragtrace.model import Claim, ClaimVerdict, Grades, Need, Relevancy, Sentence

Side = Literal["A", "R"]
Extra = Literal["needs", "grades", "questions"]
JUDGED_KINDS: Final = frozenset({"statement", "row", "code"})
"""Kinds of sentences that can claim something; the others are never shown to a judge."""
NEEDS_LABEL: Final = "N"
_RANGE = re.compile(r"\s*p?(\d{1,4})\s*[-–]\s*p?(\d{1,4})\s*", re.IGNORECASE)
_LONGEST_RANGE: Final = 50
_EVIDENCE = re.compile(r"\W*(?:passage|p)?\s*(w?)\s*0*(\d{1,6})\W*", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """Text of one passage, as the judge sees it."""

    passage: int
    """Index into `Delivery.passages`."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """Something to be judged: a sentence, or a claim of one."""

    label: str
    """`A1`, `R2`: side and number."""
    text: str

    @property
    def side(self) -> Side:
        """Whose sentence it is: the answer's or the reference's."""
        return "A" if self.label.startswith("A") else "R"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything that a call gives a judge to see, in the order in which it is numbered."""

    language: str
    """Language of the instructions."""
    question: str
    received: tuple[Excerpt, ...]
    """In prompt order; the only ground for anything but retrieval_recall."""
    withheld: tuple[Excerpt, ...]
    """Empty unless there is a reference to hold against it."""
    answer: tuple[Sentence, ...]
    reference: tuple[Sentence, ...]
    items: tuple[Item, ...]
    answer_text: str = ""
    """The whole answer, as it may be sent."""
    wanted: frozenset[Extra] = frozenset()
    """What is asked beside the verdicts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What was found out so far, by label."""

    claims: dict[str, tuple[Claim, ...]]
    """Every label that was answered as asked; an empty tuple where nothing is claimed."""
    refused: bool = False
    needs: tuple[Need, ...] | None = None
    grades: Grades | None = None
    relevancy: Relevancy | None = None

    def and_also(self, other: "Findings") -> "Findings":
        """Add what another reply found out about other labels."""
        return replace(
            self,
            claims=self.claims | other.claims,
            refused=self.refused or other.refused,
            needs=other.needs if self.needs is None else self.needs,
        )


NOTHING: Final = Findings(claims={})


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A verdict and the passages that it stands on; fields as in `Claim`."""

    verdict: ClaimVerdict
    evidence: tuple[int, ...] = ()
    withheld_evidence: tuple[int, ...] = ()


def decide(verdict: ClaimVerdict, labels: Iterable[object], *, side: Side, plan: Plan) -> Found | None:
    """Return the verdict that the named evidence bears out, or None if the two do not fit together.

    The judge names passages; this decides what they count for. Withheld text supports nothing but `retrieval_recall`:
    a claim with no other evidence stays unsupported. A verdict that needs a passage and names none that was shown is
    no verdict.
    """
    received, withheld = _indexes(labels, plan)
    held_back = withheld if side == "R" else ()
    match verdict:
        case "supported" if received:
            return Found(verdict="supported", evidence=received, withheld_evidence=held_back)
        case "contradicted" if received:
            return Found(verdict="contradicted", evidence=received)
        case "contradicted" if withheld:
            return Found(verdict="unsupported")
        case "supported" if not withheld:
            return None
        case "supported" | "unsupported":
            return Found(verdict="unsupported", withheld_evidence=held_back)
        case _:
            return None


def met_by(labels: Iterable[object], plan: Plan) -> tuple[int, ...]:
    """Return the indexes of the received passages that the labels name."""
    return _indexes(labels, plan)[0]


def _indexes(labels: Iterable[object], plan: Plan) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the received and the withheld passages that were named; numbers that were not given out are ignored."""
    received: dict[int, None] = {}
    withheld: dict[int, None] = {}
    for label in _written_out(labels):
        found = None if isinstance(label, bool) else _EVIDENCE.fullmatch(str(label))
        if found is None:
            continue
        excerpts, indexes = (plan.withheld, withheld) if found.group(1) else (plan.received, received)
        number = int(found.group(2))
        if 1 <= number <= len(excerpts):
            indexes[excerpts[number - 1].passage] = None
    return tuple(received), tuple(withheld)


def _written_out(labels: Iterable[object]) -> Iterator[object]:
    """Yield labels, ranges such as "1-3" number by number, and 1.0 as 1."""
    for label in labels:
        ends = _RANGE.fullmatch(label) if isinstance(label, str) else None
        if ends is not None:
            yield from range(int(ends.group(1)), min(int(ends.group(2)), int(ends.group(1)) + _LONGEST_RANGE) + 1)
        elif not isinstance(label, int | float) or label >= 0:
            yield int(label) if isinstance(label, float) and label.is_integer() else label


def merge_parts(parts: Sequence[Claim]) -> Claim:
    """Return one claim from its verdicts on several parts of the passages: supported if any part supports it.

    Where no part supports it and one did not decide, nobody knows whether that part would have.
    """
    order: tuple[ClaimVerdict, ...] = ("supported", "undecided", "contradicted", "unsupported")
    best = min(parts, key=lambda claim: order.index(claim.verdict))
    agreeing = [claim for claim in parts if claim.verdict == best.verdict]
    return replace(
        best,
        evidence=_union(claim.evidence for claim in agreeing),
        withheld_evidence=_union(claim.withheld_evidence for claim in parts),
    )


def merge_claims(claims: Sequence[Claim]) -> Claim:
    """Return one claim from the claims that a judge took it apart into: supported if every one is."""
    order: tuple[ClaimVerdict, ...] = ("contradicted", "unsupported", "undecided", "supported")
    worst = min(claims, key=lambda claim: order.index(claim.verdict))
    is_held_back = all(claim.verdict == "supported" or claim.withheld_evidence for claim in claims)
    return replace(
        worst,
        evidence=_union(claim.evidence for claim in claims if claim.verdict == worst.verdict),
        withheld_evidence=_union(claim.withheld_evidence for claim in claims) if is_held_back else (),
    )


def _union(groups: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(index for group in groups for index in group))


def used_passages(claims: Iterable[Claim]) -> tuple[int, ...]:
    """Return the passages that are evidence for any claim, in ascending order."""
    return tuple(sorted({index for claim in claims for index in claim.evidence}))
