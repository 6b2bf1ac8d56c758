"""A number with its interval, and when there is none."""

from dataclasses import dataclass
from typing import Final, Literal

Quality = Literal["ok", "low", "none"]

FEWEST: Final = 10
"""Effective calls below which a number would say more about chance than about the answers."""
FEW: Final = 30
"""Effective calls below which a number is marked `low`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a sample says about all calls of a window."""

    value: float | None
    """None where the effective calls are too few to say anything."""
    low: float | None
    high: float | None
    """Ends of the confidence interval; None where `value` is."""
    n: int
    """Calls that went into it."""
    effective_n: float
    """How many independent calls of equal weight would say as much (Kish 1965): (Σw)² / Σw² over the clusters."""
    quality: Quality
    """`none` below 10 effective calls, `low` below 30."""
    method: str
    """How the interval was made: `korn-graubard`, `student-t`, …"""


def quality_of(effective_n: float) -> Quality:
    """Say what a number from so many effective calls is good for."""
    # A sum of equal weights may miss a whole number by its last bit.
    rounded = round(effective_n, 9)
    return "none" if rounded < FEWEST else "low" if rounded < FEW else "ok"


def refused(n: int, effective_n: float) -> Estimate:
    """Return the estimate of too few calls: no number at all."""
    return Estimate(value=None, low=None, high=None, n=n, effective_n=effective_n, quality="none", method="refused")
