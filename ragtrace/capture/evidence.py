"""Tell cheaply whether any of a text stands in a prompt; where it stands is `ragtrace.align`'s business."""

import html
import json
from collections.abc import Iterator, Sequence

_WINDOW = 40
_SHORTEST = 4


def shows(text: str, prompt: Sequence[str]) -> bool:
    """Tell whether a prompt holds a piece of a text: from its head, middle or tail, plain or escaped."""
    return any(piece in part for piece in _pieces(text) for part in prompt)


def _pieces(text: str) -> Iterator[str]:
    stripped = text.strip()
    starts = [0] if len(stripped) <= _WINDOW else [0, len(stripped) // 2, len(stripped) - _WINDOW]
    windows = [_longest_line(stripped[start : start + _WINDOW]) for start in starts]
    plain = [window for window in windows if len(window) >= min(_SHORTEST, len(stripped)) and window]
    yield from plain
    for window in plain:
        for escaped in (json.dumps(window)[1:-1], html.escape(window)):
            if escaped != window:
                yield escaped


def _longest_line(window: str) -> str:
    """Templates re-wrap and indent: only what stands on one line, single-spaced, is safe to look for."""
    return max((part.strip() for line in window.splitlines() for part in line.split("  ")), key=len, default="")
