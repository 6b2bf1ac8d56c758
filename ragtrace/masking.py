"""The one mask over everything that leaves the process; where it fails, content is dropped."""

import logging
from collections.abc import Callable
from typing import Final

from ragtrace.model import JsonValue

logger = logging.getLogger(__name__)

_told: set[str] = set()

Mask = Callable[[str], str]
"""Gets every text that would leave the process and returns what may."""

MASK_FAILED: Final = "[dropped: the mask failed]"
"""Stands where a text was that the mask could not handle."""


def mask_text(mask: Mask | None, text: str) -> str:
    """Return the text as the mask leaves it, or `MASK_FAILED`."""
    if mask is None or not text:
        return text
    try:
        masked = mask(text)
    # The mask is the user's code, and whatever it raises must not let the text out.
    except Exception as exc:  # noqa: BLE001
        _log_once(type(exc).__qualname__)
        return MASK_FAILED
    return masked if isinstance(masked, str) else MASK_FAILED


def apply(mask: Mask | None, value: JsonValue) -> JsonValue:
    """Mask every text and every key of a JSON value; numbers stay as they are.

    Numbers that identify somebody (a customer number kept as an integer) are masked as the text that they are
    written as: where the mask changes that text, the number becomes it.
    """
    if mask is None or value is None or isinstance(value, bool):
        return value
    match value:
        case str():
            return mask_text(mask, value)
        case list():
            return [apply(mask, item) for item in value]
        case dict():
            return {mask_text(mask, key): apply(mask, item) for key, item in value.items()}
        case _:
            written = mask_text(mask, str(value))
            return value if written == str(value) else written


def _log_once(kind: str) -> None:
    """Log that the mask fails, without the exception's text, which may be what it should have hidden."""
    if kind not in _told:
        _told.add(kind)
        logger.error("ragtrace: the mask fails with %s; what it cannot handle is dropped (`masked`)", kind)
