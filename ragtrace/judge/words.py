"""The one mapping from what judges write to verdicts; a word that was not on offer is no verdict."""

import re
from typing import Final

from ragtrace.model import ClaimVerdict

_WORDS: Final[dict[str, ClaimVerdict]] = {
    **dict.fromkeys(
        (
            "supported",
            "support",
            "supports",
            "entailed",
            "entailment",
            "yes",
            "true",
            "s",
            "1",
            "支持",
            "是",
            "支持される",
            "да",
            "верно",
            "はい",
            "ja",
            "oui",
            "sí",
        ),
        "supported",
    ),
    **dict.fromkeys(
        ("contradicted", "contradicts", "contradiction", "contradictory", "refuted", "c", "矛盾", "противоречит"),
        "contradicted",
    ),
    **dict.fromkeys(
        (
            "unsupported",
            "not supported",
            "not_supported",
            "no",
            "false",
            "u",
            "0",
            "不支持",
            "否",
            "支持されない",
            "нет",
            "いいえ",
            "nein",
            "non",
            "neutral",
        ),
        "unsupported",
    ),
}
_WORD = re.compile(r"not[ _]supported|\w+")
_NEGATION = re.compile(
    r"\b(?:not?|never|none|unsupported|unclear|unknown|uncertain|contra\w+|false|partial\w*|partly|but|except|however|maybe|perhaps|or)\b|n['’]t\b|[不无没]|ない|\bне"
)


def read_verdict(value: object) -> ClaimVerdict | None:
    """Return the verdict that a value of the judge's JSON stands for, or None if it stands for none.

    A word may carry punctuation and a remark ("Yes - see passage 2"). A "no" stays one whatever follows it; a "yes"
    whose remark takes it back is no verdict.
    """
    if isinstance(value, bool):
        return "supported" if value else "unsupported"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return _WORDS.get(str(int(value)))
    if not isinstance(value, str):
        return None
    text = value.strip().casefold()
    word = _WORD.search(text)
    if word is None:
        return None
    verdict = _WORDS.get(word.group())
    takes_back = verdict != "unsupported" and _NEGATION.search(text, word.end())
    return None if takes_back else verdict
