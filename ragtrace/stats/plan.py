"""What judging for a rate takes: calls, the share to sample, and money."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Prices of one judge model, per million tokens, and what a call takes of them."""

    prompt_tokens: int
    """Of one judged call."""
    completion_tokens: int
    prompt_price: float
    completion_price: float

    @property
    def of_call(self) -> float:
        """Money for one judged call."""
        return (self.prompt_tokens * self.prompt_price + self.completion_tokens * self.completion_price) / 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How to sample for an interval that is narrow enough."""

    rate: float
    halfwidth: float
    confidence: float
    calls: int
    """To judge, for one number."""
    calls_per_day: int | None
    """Traffic; None where it was not said."""
    cost: Cost | None

    def as_text(self) -> str:
        """Return lines for people."""
        return "\n".join((*self._needed(), *self._sampled(), *self._paid()))

    def _needed(self) -> list[str]:
        return [
            f"calls to judge: {self.calls:,} for a rate of about {self.rate:g} ± {self.halfwidth:g}, "
            f"confidence {self.confidence:g}"
        ]

    def _sampled(self) -> list[str]:
        if self.calls_per_day is None:
            return []
        days = math.ceil(self.calls / self.calls_per_day)
        if days > 1:
            return [f"sample rate: 1; {self.calls_per_day:,} calls a day make one such number every {days} days"]
        # Rounded up, so that the calls do suffice.
        rate = math.ceil(1000 * self.calls / self.calls_per_day) / 1000
        return [f"sample rate: {rate:g} of {self.calls_per_day:,} calls a day, for one such number a day"]

    def _paid(self) -> list[str]:
        if self.cost is None:
            return []
        return [f"cost: {self.calls * self.cost.of_call:,.4f} a number, in the currency of [prices]"]
