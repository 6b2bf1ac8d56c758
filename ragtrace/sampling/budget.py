"""Spread a token budget over the day: each slot of five minutes has a threshold that its calls are drawn with.

Judging until the hour's tokens are spent would judge what comes at ten past the hour and nothing at twenty to. The
threshold of a slot does not depend on the call that is drawn, so the probability of each call stays known.
"""

from datetime import UTC, datetime, timedelta

SLOT = timedelta(minutes=5)
_SLOTS_AN_HOUR = timedelta(hours=1) // SLOT


def slot_of(moment: datetime) -> datetime:
    """Return the start of the slot that a moment is in."""
    seconds = int(SLOT.total_seconds())
    return datetime.fromtimestamp(moment.timestamp() // seconds * seconds, tz=UTC)


def threshold(tokens_per_hour: int, expected_tokens: float) -> float:
    """Return the share of a slot's sampled calls that the budget pays for, 0-1."""
    budget = tokens_per_hour / _SLOTS_AN_HOUR
    return 1.0 if expected_tokens <= budget else budget / expected_tokens


def forecast(expected_so_far: float, *, slot: datetime, now: datetime, before: float | None) -> float:
    """Return the tokens that a slot will need in the end, while it is not over.

    Args:
        expected_so_far: What the calls that were seen need.
        before: What the slot before needed, None if that is not known.
    """
    elapsed = min(max((now - slot) / SLOT, 0.0), 1.0)
    grown = expected_so_far / elapsed if elapsed else expected_so_far
    # Early in a slot a few calls say little; the slot before says more.
    return grown if before is None else elapsed * grown + (1 - elapsed) * before
