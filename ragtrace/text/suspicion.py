"""Tell answers that judges, and people, misread more often than others: a reason to have them reviewed first."""

import re
from collections.abc import Iterator

from ragtrace.semconv import MARK_COMPARISON, MARK_JARGON, MARK_NEGATION, MARK_SHORT_ANSWER

_SHORT = 20
_LOOKED_AT = 4_000
_LONG_WORD = 14
_FEWEST_TERMS, _TERMS_IN_WORDS = 3, 5
_NEGATION = re.compile(
    r"\b(?:no|not|never|neither|nor|without|except|unless|cannot|none)\b|n['’]t\b"
    r"|\b(?:nicht|kein\w*|nie|niemals|ohne|weder|außer)\b"
    r"|\b(?:не|нет|ни|без|никогда|кроме|нельзя)\b"
    r"|(?:不是|不能|不会|不會|不得|不可|不再|没有|沒有|并非|並非|未能|无法|無法|除了|以外)"
    r"|(?:ません|ない(?![でか])|なかっ|なく|ずに)",
    re.IGNORECASE,
)
_COMPARISON = re.compile(
    r"\b(?:than|versus|vs|compared|fewer|fewest|whereas|unlike|differs?|differences? between|(?:more|less|most|least)\b"
    r"(?! of\b))"
    r"|\b(?:mehr|weniger|\w{3,}er) als\b|\bim (?:vergleich|gegensatz)\b|\bverglichen\b"
    r"|\b(?:больше|меньше|выше|ниже|чем|наиболее|наименее|по сравнению|в отличие)\b"
    r"|(?:相比|比较|比較|高于|高於|低于|低於|超过|超過|更[多少高低大小快慢]|最[多少高低大小])"
    r"|(?:比べ|より(?:も|高|低|多|少|大|小)|最も)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+(?:[_./-][^\W_]+)*")
_TERM = re.compile(r"[^\W\d]\w*\d|\d\w*[^\W\d]|[A-Z][A-Z]|[a-z][A-Z]|\w_\w")


def suspicions(answer: str | None) -> Iterator[str]:
    """Yield the marks of an answer, none for no answer.

    `short_answer`: under 20 characters. `negation`, `comparison`: it denies or compares something, in the words of
    English, German, Russian, Chinese or Japanese. `jargon`: at least every fifth word, and three in all, are codes,
    acronyms, identifiers or words of 14 letters and more.
    """
    text = (answer or "").strip()[:_LOOKED_AT]
    if not text:
        return
    if len(text) < _SHORT:
        yield MARK_SHORT_ANSWER
    if _NEGATION.search(text):
        yield MARK_NEGATION
    if _COMPARISON.search(text):
        yield MARK_COMPARISON
    words = _WORD.findall(text)
    terms = sum((len(word) >= _LONG_WORD and word.isascii()) or bool(_TERM.search(word)) for word in words)
    if terms >= max(_FEWEST_TERMS, len(words) / _TERMS_IN_WORDS):
        yield MARK_JARGON
