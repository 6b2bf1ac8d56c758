"""Take the edge of a passage for received where a template masked, numbered or stripped it, and nothing was cut."""

import re
from collections.abc import Iterator, Sequence
from itertools import product

from ragtrace.align.segments import MARKUP, Segment
from ragtrace.align.skeleton import Skeleton, count_letters

_LONGEST, _WINDOW = 120, 400
"""Characters that may be missing at an edge, and of the prompt that are compared with them."""
_TOKEN = re.compile(r"\w+|[█▇■▓●]+")
_MASK = re.compile(r"redacted|masked|[█▇■▓●]+", re.IGNORECASE)
_LINE_NUMBER = re.compile(r"^[ \t]*\d+[ \t]*[:.)|\]\t ]", re.MULTILINE)


def with_edges(segments: Sequence[Segment], passage: Skeleton, prompt: Skeleton) -> list[Segment]:
    """Let the outer segments reach the ends of the passage where the prompt has each of the words up to there.

    A masked word counts as one word, so that no cut hides behind it.
    """
    if not segments:
        return []
    first, last = segments[0], segments[-1]
    if first.start:
        wanted = passage.plain[: _word_end(passage.plain, passage.plain_start(first.start))]
        at = prompt.plain_start(first.place)
        end = _word_end(prompt.plain, at)
        begin = max(0, end - _WINDOW)
        found = _behind(wanted, prompt.plain[begin:end])
        if found is not None:
            first = first._replace(start=0, place=first.place - count_letters(prompt.plain[begin + found : at]))
    if len(segments) == 1:
        last = first
    if last.end < len(passage.letters):
        wanted = passage.plain[_word_start(passage.plain, passage.plain_end(last.end)) :]
        at = prompt.plain_end(last.place_end)
        begin = _word_start(prompt.plain, at)
        found = _ahead(wanted, prompt.plain[begin : begin + _WINDOW])
        if found is not None:
            added = count_letters(prompt.plain[at : begin + found])
            last = last._replace(end=len(passage.letters), place_end=last.place_end + added)
    return [last] if len(segments) == 1 else [first, *segments[1:-1], last]


def _ahead(wanted: str, there: str) -> int | None:
    """Return how far `there` begins with the words of `wanted`."""
    for words, tokens in _readings(wanted, there):
        if len(words) <= len(tokens) and all(map(_is_same, words, tokens)):
            return tokens[len(words) - 1].end()
    return None


def _behind(wanted: str, there: str) -> int | None:
    """Return from where on `there` ends with the words of `wanted`."""
    for words, tokens in _readings(wanted, there):
        if len(words) <= len(tokens) and all(map(_is_same, words, tokens[-len(words) :])):
            return tokens[-len(words)].start()
    return None


def _readings(wanted: str, there: str) -> Iterator[tuple[list[str], list[re.Match[str]]]]:
    """Yield the words of both: as they are, without markup, and without numbers of lines where there are lines."""
    if len(wanted) > _LONGEST:
        return
    prompts = [there]
    if "\n" in wanted:
        prompts.append(_LINE_NUMBER.sub(_blank, there))
    for text, prompt in product((wanted, MARKUP.sub(" ", wanted)), prompts):
        words = _TOKEN.findall(text.casefold())
        if words:
            yield words, list(_TOKEN.finditer(prompt))


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _is_same(word: str, token: re.Match[str]) -> bool:
    return word == token[0].casefold() or _MASK.fullmatch(token[0]) is not None


def _word_start(text: str, at: int) -> int:
    while at and text[at - 1].isalnum():
        at -= 1
    return at


def _word_end(text: str, at: int) -> int:
    while at < len(text) and text[at].isalnum():
        at += 1
    return at
