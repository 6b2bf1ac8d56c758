"""Cut text of any script into weighted tokens that match across inflections."""

import json
import re
import unicodedata
from functools import lru_cache
from importlib.resources import files
from typing import Final, Literal, NamedTuple

TokenKind = Literal["word", "name", "number", "stop"]

WORDS: Final = json.loads((files(__package__) / "words.json").read_text(encoding="utf-8"))
"""Word lists by purpose: grammatical words, number words, opposites."""
_STOP: Final[frozenset[str]] = frozenset(WORDS["stop"].split())
_STOP_CHARACTERS: Final[frozenset[str]] = frozenset(WORDS["stop_characters"])
_NUMBERS: Final[dict[str, str]] = WORDS["numbers"]

CJK: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_HANGUL: Final = "\uac00-\ud7af"
_MARKS: Final = "\u0300-\u036f\u064b-\u065f\u0900-\u0903\u093a-\u094f\u0e31\u0e34-\u0e4e"
_TOKEN = re.compile(
    rf"(?P<number>\d+(?:[.,:/]\d+)*%?)|(?P<cjk>[{CJK}]+)|(?P<hangul>[{_HANGUL}]+)"
    rf"|[^\W\d_{CJK}{_HANGUL}](?:[^\W\d_{CJK}{_HANGUL}]|[{_MARKS}])*(?:['’][^\W\d_{CJK}{_HANGUL}]+)?"
)
_IS_CJK = re.compile(f"[{CJK}{_HANGUL}]")
_KATAKANA = re.compile("[\u30a1-\u30fa\u30fc]{2}")
_GROUPED = re.compile(r"\d{1,3}(?:[,.]\d{3})+")
_DECIMAL_COMMA = re.compile(r"\d+,\d+")

STOP_WEIGHT: Final = 0.08
_FULL_HOUR: Final = re.compile(r"0?(\d{1,2}):00")
"""06:00 and 6 are the same hour."""
_STEM: Final = 5
"""Letters that two forms of a word have in common; measured: fewer or more of them agree less with people."""
_PAIR_WEIGHTS: Final = (1.0, 0.35, 0.1)
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


def is_east_asian(text: str) -> bool:
    """Tell whether a text holds Chinese, Japanese or Korean characters."""
    return bool(_IS_CJK.search(text))


def tokenise(folded: str) -> tuple[Token, ...]:
    """Return the tokens of folded text in order; Chinese and Japanese become overlapping pairs of characters."""
    tokens: list[Token] = []
    for match in _TOKEN.finditer(folded):
        word, script = match.group(), match.lastgroup
        if script is None:
            tokens.append(_alphabetic(word, match.start() > 0 and word[0].isupper()))
        elif script == "cjk":
            tokens.extend(_character_pairs(word))
        else:
            tokens.append(_number(word) if script == "number" else _korean(word))
    return tuple(tokens)


def keys_of(word: str) -> frozenset[str]:
    """Return the keys of a word inside a sentence."""
    return frozenset(token.key for token in tokenise(fold(word)))


@lru_cache(maxsize=20_000)
def _number(word: str) -> Token:
    word = word.rstrip("%")
    if hour := _FULL_HOUR.fullmatch(word):
        word = hour[1]
    if _GROUPED.fullmatch(word):
        word = re.sub("[,.]", "", word)
    return Token(word.replace(",", ".") if _DECIMAL_COMMA.fullmatch(word) else word, 1.6, "number")


def _korean(word: str) -> Token:
    return Token(word[: max(2, len(word) - 1)], 1.0, "word")


def _character_pairs(run: str) -> list[Token]:
    tokens = [Token(_NUMBERS[character], 0.5, "number") for character in run if character in _NUMBERS]
    if len(run) == 1:
        return [*tokens, Token(run, 0.1 if run in _STOP_CHARACTERS else 0.6, "word")]
    return tokens + [_pair(run[i : i + 2]) for i in range(len(run) - 1)]


@lru_cache(maxsize=50_000)
def _pair(pair: str) -> Token:
    """Return a pair's token; words in katakana are taken for names, since Japanese has no capitals."""
    weight = _PAIR_WEIGHTS[sum(character in _STOP_CHARACTERS for character in pair)]
    return Token(pair, weight, "name" if _KATAKANA.fullmatch(pair) else "word")


@lru_cache(maxsize=50_000)
def _alphabetic(word: str, is_name: bool) -> Token:
    lowered = word.lower().replace("’", "'").removesuffix("'s")
    if lowered in _NUMBERS:
        return Token(_NUMBERS[lowered], 0.8, "number")
    if lowered in _STOP or len(lowered) == 1:
        return Token(lowered, STOP_WEIGHT, "stop")
    return Token(_stem(lowered), 1.3 if is_name else 1.0, "name" if is_name else "word")


def _stem(word: str) -> str:
    if len(word) <= _STEM and word.endswith("s"):
        return word[: _STEM - 1]
    return word[:_STEM]


def character_grams(folded: str) -> set[str]:
    """Return all four-character pieces, or two-character ones where the text is mainly Chinese or Japanese."""
    text = " ".join(folded.lower().split())
    size = 2 if len(_IS_CJK.findall(text)) * 3 > len(text) else 4
    return {text[i : i + size] for i in range(len(text) - size + 1)}
