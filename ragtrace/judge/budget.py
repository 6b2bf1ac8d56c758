"""Count tokens and money, and say when there are none left."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ragtrace.errors import JudgeOverBudget
from ragtrace.judge.state import SECONDS_AN_HOUR, JudgeState
from ragtrace.settings import Price

_TOKENS_A_PRICE = 1_000_000


@dataclass(slots=True)
class Usage:
    """What replies cost."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def tokens(self) -> int:
        """Prompt and completion together."""
        return self.prompt_tokens + self.completion_tokens

    def add(self, more: "Usage") -> None:
        """Count more replies."""
        self.calls += more.calls
        self.prompt_tokens += more.prompt_tokens
        self.completion_tokens += more.completion_tokens

    def cost(self, price: Price | None) -> float | None:
        """Return what it costs, or None without a price."""
        if price is None:
            return None
        return (self.prompt_tokens * price.prompt + self.completion_tokens * price.completion) / _TOKENS_A_PRICE


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Most tokens that may be spent; None: no bound."""

    per_run: int | None
    per_hour: int | None


class Budget:
    """Tokens that judging may still spend.

    A call is let in with an estimate, and what is in flight counts as spent, so that many calls at once do not
    overshoot. A call that was let in is finished, re-asks included.
    """

    def __init__(self, bounds: Bounds, state: JudgeState, clock: Callable[[], float] = time.time) -> None:
        self.by_model: dict[str, Usage] = {}
        """What this run spent so far."""
        self._bounds = bounds
        self._state = state
        self._clock = clock
        self._reserved = 0
        self._hour = 0
        self._in_hour = 0

    def reserve(self, tokens: int) -> None:
        """Let a call in.

        Raises:
            JudgeOverBudget: it would exceed a bound.
        """
        spent = sum(usage.tokens for usage in self.by_model.values())
        _check("RAGTRACE_JUDGE_TOKENS_PER_RUN", self._bounds.per_run, spent + self._reserved, tokens)
        if self._bounds.per_hour is not None:
            now = self._clock()
            # The file counts other processes too, and may be unreadable: what this one spent is known in any case.
            hour = max(self._state.spent(now), self._in_hour if self._hour == int(now // SECONDS_AN_HOUR) else 0)
            _check("RAGTRACE_JUDGE_TOKENS_PER_HOUR", self._bounds.per_hour, hour + self._reserved, tokens)
        self._reserved += tokens

    def release(self, tokens: int) -> None:
        """End a call that was let in with that estimate."""
        self._reserved -= tokens

    def spend(self, model: str, usage: Usage) -> None:
        """Count what one call cost."""
        total = self.by_model.setdefault(model, Usage())
        total.add(usage)
        if self._bounds.per_hour is None or not usage.calls:
            return
        now = self._clock()
        self._state.spend(model, usage.calls, prompt=usage.prompt_tokens, completion=usage.completion_tokens, now=now)
        if self._hour != (hour := int(now // SECONDS_AN_HOUR)):
            self._hour, self._in_hour = hour, 0
        self._in_hour += usage.tokens


def costs(by_model: Mapping[str, Usage], prices: Mapping[str, Price]) -> float | None:
    """Return what all models cost together, or None where one that was used has no price."""
    found = [usage.cost(prices.get(model)) for model, usage in by_model.items()]
    known = [cost for cost in found if cost is not None]
    return sum(known) if len(known) == len(found) else None


def _check(name: str, bound: int | None, spent: int, tokens: int) -> None:
    if bound is not None and spent + tokens > bound:
        raise JudgeOverBudget(f"{name}={bound}: {spent} tokens are spent or in flight, a call needs about {tokens}")
