"""Notice passages that reached the prompt in other words: summed up or translated."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragtrace.align.marks import DENSE
from ragtrace.align.skeleton import count_letters

_WORD = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"\d[\d.,:/-]*\d")
_NAME = re.compile(r"(?<=[^.!?\s] )[A-Z][a-z]{2,}|\b[A-Z]{2,}\b|\b[A-Za-z]+\d+\b")
_PARAGRAPH = re.compile(r"\n\s*\n|\n")
_LARGE = 80
"""Letters from which on a paragraph can be a summary."""
_SHORTEST_WORD, _STEM = 4, 6
_WORDS, _FEW_WORDS, _MANY_WORDS = 8, 0.7, 0.55
"""Words of a paragraph that come from the passage where it is a summary, and their share among few and many."""
_SMALL_WORD, _SAME_LANGUAGE = 3, 0.35
"""Letters of the words that every text of a language has, and the share of them that texts of one language share."""
_NUMBERS, _NUMBER_SHARE = 2.0, 0.6
"""Numbers of a paragraph, and their share, that come from the passage where it is a translation."""
_WEAK = re.compile(r"\d\d|(?:19|20)\d\d")
"""Numbers that count half, and prove nothing alone: 12 and 24 are everywhere, and so are years."""
_FEW, _RATIO = 3, 0.15
"""With so few passages, a paragraph of this size in another script can only be the translation of the missing one."""
_LOOKED_AT, _COMPARED = 4_000, 12
"""Characters and passages that show which words are common."""
_MOST = 200_000
"""Characters of unexplained text looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Content:
    """What is left of a text when it is told in other words, or in another language."""

    words: frozenset[str]
    small_words: frozenset[str]
    numbers: frozenset[str]
    names: frozenset[str]
    letters: int
    script: str


def told(texts: Sequence[str], unexplained: Sequence[str], *, passages: Sequence[str]) -> list[bool]:
    """Tell for each of `texts`, which are absent, whether a large unexplained stretch of the prompt is made from it.

    All `passages` tell which words are common.
    """
    paragraphs = [_content(paragraph) for paragraph in _paragraphs(unexplained)]
    if not paragraphs:
        return [False] * len(texts)
    contents = [_content(text) for text in texts]
    common = _common([_content(passage[:_LOOKED_AT]) for passage in passages[:_COMPARED]])
    found = [any(_is_from(paragraph, content, common) for paragraph in paragraphs) for content in contents]
    if len(texts) == 1 and len(passages) <= _FEW:
        return [found[0] or any(_fits(paragraph, contents[0]) for paragraph in paragraphs)]
    return found


def is_retold(text: str, beside: str, *, received: str) -> bool:
    """Tell whether what stands `beside` the received parts of `text` tells the rest of it, and more than these."""
    if count_letters(beside) < max(_LARGE, count_letters(received)):
        return False
    told, source = _content(beside), _content(text)
    shared = len(told.words & source.words)
    # Beside its own clauses, fewer words say enough.
    return shared >= max(_WORDS, _MANY_WORDS * len(told.words)) or _is_from(told, source, frozenset())


def _paragraphs(unexplained: Sequence[str]) -> Iterator[str]:
    left = _MOST
    for stretch in unexplained:
        if left <= 0:
            return
        left -= len(stretch)
        parts = _PARAGRAPH.split(stretch)
        for part in parts if len(parts) == 1 else (stretch, *parts):
            if count_letters(part) >= _LARGE:
                yield part


def _content(text: str) -> _Content:
    words: set[str] = set()
    small_words: set[str] = set()
    for word in _WORD.findall(text.casefold()):
        if word[0] >= DENSE:
            words.update(word[at : at + 2] for at in range(len(word) - 1))
        elif len(word) >= _SHORTEST_WORD:
            words.add(word[:_STEM])
        elif len(word) <= _SMALL_WORD and word.isalpha():
            small_words.add(word)
    return _Content(
        words=frozenset(words),
        small_words=frozenset(small_words),
        numbers=frozenset(_NUMBER.findall(text)),
        names=frozenset(_NAME.findall(text)),
        letters=count_letters(text),
        script=_script(text),
    )


def _script(text: str) -> str:
    """Name the script of most words, by a word of Unicode's names of their letters."""
    names = Counter(unicodedata.name(word[0], "?").split(" ")[0] for word in _WORD.findall(text[:_LOOKED_AT]))
    return next((name for name, _ in names.most_common() if name != "DIGIT"), "?")


def _common(contents: Sequence[_Content]) -> frozenset[str]:
    """Return the words of many texts: they say nothing about where a paragraph is from."""
    counts = Counter(word for content in contents for word in content.words)
    return frozenset(word for word, count in counts.items() if count > 2 and count > len(contents) / 3)


def _is_from(paragraph: _Content, content: _Content, common: frozenset[str]) -> bool:
    words = paragraph.words - common
    shared = len(words & content.words)
    if shared >= _WORDS and shared >= (_MANY_WORDS if shared >= 2 * _WORDS else _FEW_WORDS) * len(words):
        return True
    return _is_other_language(paragraph, content) and _has_same_facts(paragraph, content)


def _is_other_language(paragraph: _Content, content: _Content) -> bool:
    shared = len(paragraph.small_words & content.small_words)
    return paragraph.script != content.script or shared < _SAME_LANGUAGE * len(paragraph.small_words)


def _has_same_facts(paragraph: _Content, content: _Content) -> bool:
    return _are_from(paragraph.numbers, content.numbers, enough=_NUMBERS) or _are_from(
        paragraph.numbers | paragraph.names, content.numbers | content.names, enough=_NUMBERS + 1
    )


def _are_from(told: frozenset[str], source: frozenset[str], *, enough: float) -> bool:
    shared = told & source
    strong = sum(not _WEAK.fullmatch(token) for token in shared)
    return strong > 0 and (strong + len(shared)) / 2 >= enough and len(shared) >= _NUMBER_SHARE * len(told)


def _fits(paragraph: _Content, content: _Content) -> bool:
    return paragraph.script != content.script and paragraph.letters >= _RATIO * content.letters
