"""Read moments as people type them: `24h`, `7d`, or a date."""

import re
from datetime import UTC, datetime, timedelta

from ragtrace.errors import ConfigError

_AGO = re.compile(r"(\d+(?:\.\d+)?)([smhdw])")
_UNITS = {
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}


def utc_now() -> datetime:
    """Return the time."""
    return datetime.now(UTC)


def parse_moment(text: str, *, option: str, now: datetime) -> datetime:
    """Return the moment; without a time zone it is UTC.

    Raises:
        ConfigError: it is none.
    """
    stripped = text.strip()
    try:
        if match := _AGO.fullmatch(stripped):
            return now - float(match[1]) * _UNITS[match[2]]
        moment = datetime.fromisoformat(stripped)
    except (ValueError, OverflowError):
        raise ConfigError(
            f"{option} {text!r}: expected how long ago (30m, 24h, 7d) or a date (2026-03-01, 2026-03-01T12:00Z)"
        ) from None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
