"""Cut text of any script into weighted tokens that match across inflections."""

import json
import re
import unicodedata
from functools import lru_cache
from importlib.resources import files
from typing import Literal, NamedTuple

TokenKind = Literal["word", "name", "number", "stop"]

_WORDS = json.loads((files(__package__) / "words.json").read_text(encoding="utf-8"))
_STOP: frozenset[str] = frozenset(_WORDS["stop"].split())
_STOP_CHARACTERS: frozenset[str] = frozenset(_WORDS["stop_characters"])
_NUMBERS: dict[str, str] = _WORDS["numbers"]
_NEGATIONS = {language: re.compile(pattern, re.IGNORECASE) for language, pattern in _WORDS["negations"].items()}

CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
_TOKEN = re.compile(rf"\d+(?:[.,:/]\d+)*%?|[{CJK}]+|[^\W\d_{CJK}]+(?:['’][^\W\d_{CJK}]+)?")
_IS_CJK = re.compile(f"[{CJK}]")
_GROUPED = re.compile(r"\d{1,3}(?:[,.]\d{3})+")
_DECIMAL_COMMA = re.compile(r"\d+,\d+")

STOP_WEIGHT = 0.08
_PAIR_WEIGHTS = (1.0, 0.35, 0.1)
"""Of two neighbouring characters, by how many of them are grammatical."""


class Token(NamedTuple):
    """A unit of comparison."""

    key: str
    """Equal for two forms of a word."""
    weight: float
    kind: TokenKind


def fold(text: str) -> str:
    """Return the text as it is compared: compatibility forms and Russian yo folded, case kept."""
    return unicodedata.normalize("NFKC", text).replace("ё", "е")


def tokenise(folded: str) -> list[Token]:
    """Return the tokens of folded text in order; Chinese and Japanese become overlapping pairs of characters."""
    tokens: list[Token] = []
    for match in _TOKEN.finditer(folded):
        word = match.group()
        if word[0].isdigit():
            tokens.append(Token(_number(word), 1.6, "number"))
        elif _IS_CJK.match(word):
            tokens.extend(_east_asian(word))
        else:
            tokens.append(_alphabetic(word, is_name=word[0].isupper() and match.start() > 0))
    return tokens


def _number(word: str) -> str:
    word = word.rstrip("%")
    if _GROUPED.fullmatch(word):
        return re.sub("[,.]", "", word)
    return word.replace(",", ".") if _DECIMAL_COMMA.fullmatch(word) else word


def _east_asian(run: str) -> list[Token]:
    if "\uac00" <= run[0] <= "\ud7af":
        return [Token(run[: max(2, len(run) - 1)], 1.0, "word")]
    tokens = [Token(_NUMBERS[character], 0.5, "number") for character in run if character in _NUMBERS]
    if len(run) == 1:
        return [*tokens, Token(run, 0.1 if run in _STOP_CHARACTERS else 0.6, "word")]
    pairs = (run[i : i + 2] for i in range(len(run) - 1))
    return tokens + [Token(pair, _pair_weight(pair), "word") for pair in pairs]


@lru_cache(maxsize=20_000)
def _pair_weight(pair: str) -> float:
    return _PAIR_WEIGHTS[sum(character in _STOP_CHARACTERS for character in pair)]


@lru_cache(maxsize=20_000)
def _alphabetic(word: str, *, is_name: bool) -> Token:
    lowered = word.lower().replace("’", "'").removesuffix("'s")
    if lowered in _NUMBERS:
        return Token(_NUMBERS[lowered], 0.8, "number")
    if lowered in _STOP or len(lowered) == 1:
        return Token(lowered, STOP_WEIGHT, "stop")
    return Token(_stem(lowered), 1.3 if is_name else 1.0, "name" if is_name else "word")


def _stem(word: str) -> str:
    if len(word) > 5:
        return word[: max(4, min(len(word) - 2, 7))]
    return word[:4] if word.endswith("s") else word


def character_grams(folded: str) -> set[str]:
    """Return all four-character pieces, or two-character ones where the text is mainly Chinese or Japanese."""
    text = " ".join(folded.lower().split())
    size = 2 if len(_IS_CJK.findall(text)) * 3 > len(text) else 4
    return {text[i : i + size] for i in range(len(text) - size + 1)}


def count_negations(text: str, language: str) -> int:
    """Count negating words; languages without a list are read as English."""
    return len(_NEGATIONS.get(language, _NEGATIONS["en"]).findall(text))
