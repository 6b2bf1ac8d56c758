"""Mask texts that are cut: no cut may let part of something out that the mask would have hidden whole."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ragtrace.masking import MASK_FAILED, Mask, mask_text

FRAGMENT_HIDDEN = "[hidden]"
_WORD = re.compile(r"\S{3,}")
_EDGES = re.compile(r"^\W+|\W+$")
_SHORTEST_FRAGMENT = 3
_LONGEST_FRAGMENT = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Pieces:
    """A text cut at given places, after masking."""

    inside: tuple[str, ...]
    """What stood in the given spans."""
    outside: tuple[str, ...]
    """What stood before, between and after them, where that is not empty."""
    spans: tuple[tuple[int, int], ...]
    """The given spans, in the masked text."""


def cut(text: str, spans: Sequence[tuple[int, int]], *, mask: Mask | None) -> Pieces:
    """Mask a whole text and cut it at the given spans, so that no cut can split what the mask should find."""
    whole = mask_text(mask, text)
    if whole == MASK_FAILED:
        return Pieces(inside=(whole,), outside=(), spans=((0, len(whole)),))
    if whole != text:
        spans = _map_spans(text, whole, spans, rewrite=lambda part: mask_text(mask, part))
    starts, ends = [0, *(end for _start, end in spans)], [*(start for start, _end in spans), len(whole)]
    return Pieces(
        inside=tuple(whole[start:end] for start, end in spans),
        outside=tuple(whole[a:b] for a, b in zip(starts, ends, strict=True) if a < b),
        spans=tuple(spans),
    )


def _map_spans(
    text: str, whole: str, spans: Sequence[tuple[int, int]], *, rewrite: Callable[[str], str]
) -> list[tuple[int, int]]:
    mapped: list[tuple[int, int]] = []
    reached = 0
    for start, end in spans:
        first = max(reached, _map_place(text, whole, start, rewrite=rewrite))
        reached = max(first, _map_place(text, whole, end, rewrite=rewrite))
        mapped.append((first, reached))
    return mapped


def _map_place(text: str, whole: str, place: int, *, rewrite: Callable[[str], str]) -> int:
    """Find where `text[place]` went; a place inside something masked is put before it."""
    head = rewrite(text[:place])
    if whole == head + rewrite(text[place:]):
        return len(head)
    same = (a == b for a, b in zip(whole, head, strict=False))
    return next((at for at, is_same in enumerate(same) if not is_same), min(len(whole), len(head)))


def hidden_fragments(texts: Iterable[str], mask: Mask | None) -> frozenset[str]:
    """Return beginnings and ends of the words that a mask hides in some texts, case folded."""
    if mask is None:
        return frozenset()
    changed = ((text, masked) for text in texts if (masked := mask_text(mask, text)) != text)
    hidden = (word for text, masked in changed for word in set(_words(text)) - set(_words(masked)))
    return frozenset(fragment for word in hidden for fragment in _ends(word))


def mask_rest(text: str, *, mask: Mask | None, fragments: frozenset[str]) -> str:
    """Mask a stretch of prompt, in which the application may have cut a secret that passages hold whole."""
    masked = mask_text(mask, text)
    if not fragments:
        return masked
    return _WORD.sub(lambda word: FRAGMENT_HIDDEN if _trimmed(word[0]) in fragments else word[0], masked)


def _words(text: str) -> Iterator[str]:
    return (_trimmed(word) for word in _WORD.findall(text))


def _trimmed(word: str) -> str:
    return _EDGES.sub("", word).casefold()


def _ends(word: str) -> Iterator[str]:
    for length in range(_SHORTEST_FRAGMENT, min(len(word), _LONGEST_FRAGMENT) + 1):
        yield word[:length]
        yield word[-length:]
