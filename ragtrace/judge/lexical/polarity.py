"""Find what a sentence denies, and words whose opposite another sentence has."""

import re
from typing import Final

from ragtrace.judge.lexical.tokens import WORDS, is_east_asian, keys_of, tokenise

_KANA = re.compile("[\u3041-\u30fa]")
_CYRILLIC = re.compile("[\u0400-\u04ff]")
_EUROPEAN = re.compile(
    r"\b(?:not(?! only\b| least\b)|no(?!\.| doubt\b)|never|none|nobody|nothing|neither|nor|without|cannot|unable"
    r"|fail(?:s|ed)? to|\w+n['’]t|nicht(?! nur\b| zuletzt\b)|kein\w*|nie|niemals|ohne|weder|pas|jamais|aucune?|sans"
    r"|nunca|ningun[oa]?|sin|değil\w*)\b",
    re.IGNORECASE,
)
_RUSSIAN = re.compile(
    r"\b(?:не(?! только\b| менее\b| более\b| позднее\b)|нет|ни|никогда|без|нельзя|невозможно|отсутству\w+)\b",
    re.IGNORECASE,
)
_CHINESE = re.compile(
    r"(?<![得可])不(?![仅僅同断斷过過但久少管论論错錯足良安幸便利满滿得])|没有|沒有|[没沒](?![有收])|未(?![来來])"
    r"|[無无](?![法论論线線人限])|(?:并|並)非"
)
_JAPANESE = re.compile(
    r"(?<![少危しか])ない(?!といけ|とならな|か)|ません|なかっ|なく(?!ては|なっ|なる)|ず(?=に|、|。|$)|[てで](?:は)?おらず|ざる(?!を得)"
)
_NOT_DENYING = re.compile(
    r"(?:なけれ|なくて)は?ば?なら(?:ない|なかった|ず)?|ざるを得ない|かもしれない|(?:だけ|ばかり)(?:では?)?なく|のみならず"
    r"|に(?:違い|過ぎ)ない|不一定|不得不|是否|能否|差不多"
)
_CLAUSE_BREAK = re.compile(
    r"[,，、;；:：()（）.。!?！？—–]|\s-\s|\b(?:but|and|while|although|though|whereas|which|who|because|но|а|и|котор\w+|aber|und"
    r"|während|sondern)\b",
    re.IGNORECASE,
)
_BEFORE, _AFTER = 2, 3
"""Telling tokens around a negation that show what it denies."""
_WIDE_BEFORE, _WIDE_AFTER = 14, 5
"""The same in characters of Chinese; Japanese denies what comes before."""
_TELLING, _HALF_TELLING = 0.5, 0.3
"""Weights from which a token tells, and where none does."""
_SHARED: Final = 0.5
"""What is denied has to be in the other sentence by this share, else the two do not speak of the same."""

Denials = tuple[tuple[str, ...], ...]
"""For each negation of a sentence, the keys of the tokens around it, first the one that it most likely denies."""


def find_denials(folded: str) -> Denials:
    """Return what the negations of a folded text stand beside."""
    text = _NOT_DENYING.sub(lambda match: "～" * len(match.group()), folded)
    return tuple(
        tuple(keys) for match in _negation(folded).finditer(text) if (keys := _beside(match.start(), match.end(), text))
    )


def _negation(text: str) -> re.Pattern[str]:
    if _KANA.search(text):
        return _JAPANESE
    if is_east_asian(text):
        return _CHINESE
    return _RUSSIAN if _CYRILLIC.search(text) else _EUROPEAN


def _beside(start: int, end: int, text: str) -> list[str]:
    """Return keys of telling tokens in the clause of the negation at `start`–`end`."""
    left = max((match.end() for match in _CLAUSE_BREAK.finditer(text, 0, start)), default=0)
    found = _CLAUSE_BREAK.search(text, end)
    is_wide = is_east_asian(text)
    before = tokenise(text[max(left, start - _WIDE_BEFORE) if is_wide else left : start])
    after = tokenise(text[end : found.start() if found else len(text)])
    for weight in (_TELLING, _HALF_TELLING):
        lead = [token.key for token in before if token.weight >= weight]
        rest = [token.key for token in after if token.weight >= weight]
        if is_wide:
            near = lead[::-1] if _KANA.search(text) else [*rest[:_WIDE_AFTER], *lead[::-1]]
        else:
            near = [*rest[:_AFTER], *lead[: -_BEFORE - 1 : -1]]
        if near:
            return near
    return []


def is_denied(one: Denials, one_keys: frozenset[str], other: Denials, other_keys: frozenset[str]) -> bool:
    """Tell whether either sentence denies something that the other asserts."""
    return _denies(one, other, other_keys) or _denies(other, one, one_keys)


def _denies(denials: Denials, others: Denials, other_keys: frozenset[str]) -> bool:
    return any(
        denied[0] in other_keys
        and len(other_keys.intersection(denied)) >= _SHARED * len(denied)
        and not any(set(denied).intersection(answer) for answer in others)
        for denied in denials
    )


def _read_opposites() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for line in WORDS["opposites"]:
        for pair in line.split():
            one, other = (keys_of(word) for word in pair.split("/"))
            if len(one) == len(other) == 1 and one != other:
                found.setdefault(min(one), set()).update(other)
                found.setdefault(min(other), set()).update(one)
    return {key: frozenset(keys) for key, keys in found.items()}


_OPPOSITES: Final = _read_opposites()


def find_opposite(claim: frozenset[str], sentence: frozenset[str]) -> tuple[str, str] | None:
    """Return a key of the claim and its opposite in the sentence, where neither text has both."""
    for key in sorted(claim & _OPPOSITES.keys()):
        if key not in sentence and not _OPPOSITES[key] & claim and (there := _OPPOSITES[key] & sentence):
            return key, min(there)
    return None
