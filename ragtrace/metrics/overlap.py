"""Tell which passage a sentence without a citation most likely rests on: by the names and numbers that both hold."""

import re
from collections.abc import Mapping
from unicodedata import normalize

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_LETTER = "A-Za-zÀ-ɏͰ-ӿ"
_KATAKANA = "ァ-ヺー"
_WORD = re.compile(rf"[{_LETTER}][{_LETTER}\d'’-]*|[{_KATAKANA}]{{2,}}")
_LEAST_SHARE = 0.5
"""Of a sentence's entities, for a passage to count as its source."""


def entities(text: str) -> frozenset[str]:
    """Return numbers, capitalised words that do not open the text, and katakana words, case folded.

    A coarse stand-in for named entities: no model, the same in every run; prose without names and numbers has none.
    """
    folded = normalize("NFKC", text)
    opening = len(folded) - len(folded.lstrip(" \t\n-*•\"'“「("))
    words = (m.group() for m in _WORD.finditer(folded) if m.start() > opening and _is_name(m.group()))
    return frozenset(word.casefold() for word in (*words, *_NUMBER.findall(folded)))


def likely_source(sentence: str, passages: Mapping[int, str]) -> int | None:
    """Return the key of the passage that holds most of the sentence's entities, the first among equals.

    None where the sentence has none, or no passage holds at least half of them.
    """
    wanted = entities(sentence)
    if not wanted:
        return None
    shared = {key: sum(_is_in(entity, text) for entity in wanted) for key, text in passages.items()}
    best = max(shared, key=lambda key: shared[key], default=None)
    return best if best is not None and shared[best] >= _LEAST_SHARE * len(wanted) else None


def _is_name(word: str) -> bool:
    return (word[0].isupper() and len(word) > 1) or _is_katakana(word)


def _is_katakana(word: str) -> bool:
    return "ァ" <= word[0] <= "ヺ"


def _is_in(entity: str, text: str) -> bool:
    folded = normalize("NFKC", text).casefold()
    edge = r"\d" if entity[0].isdigit() else _KATAKANA if _is_katakana(entity) else _LETTER
    return re.search(f"(?<![{edge}]){re.escape(entity)}(?![{edge}])", folded) is not None
