"""Say in a few words why wording does not support a claim."""

import re
from typing import Final

from ragtrace.judge.lexical.conflicts import Conflicts, Exchange
from ragtrace.judge.lexical.evidence import Evidence
from ragtrace.judge.lexical.features import Comparison
from ragtrace.judge.lexical.tokens import fold, is_east_asian

_WORD = re.compile(r"[^\W_]+(?:[.,:/’'-][^\W_]+)*")
_SHOWN: Final = 3
_MISPLACED: Final = 0.5


def contradiction(claim: str, found: Comparison, evidence: Evidence) -> str | None:
    """Return what the closest evidence sentence says otherwise; None where it does not."""
    sentence = evidence.sentences[found.best[0]].text
    conflicts, values = found.conflicts, found.values
    if values["number_exchanged"] or values["name_exchanged"]:
        exchange = _telling(conflicts)
        return _other_word(exchange.token.key, claim, exchange.instead.key, sentence)
    if values["denied"]:
        return "a passage says the opposite: one of the two is negated"
    if conflicts.opposite and values["opposite"]:
        own, other = conflicts.opposite
        return _other_word(own, claim, other, sentence)
    if values["reversed"]:
        return "a passage names the same things the other way round"
    return None


def lack(claim: str, found: Comparison) -> str:
    """Return what the passages do not say."""
    if found.is_answer and found.values["found"] >= _MISPLACED:
        return "stands in the passages, but not where they speak of what is asked"
    missing = list(dict.fromkeys(_surface(key, claim) for key in found.missing))[:_SHOWN]
    if missing and not is_east_asian(claim):
        return f"not in the passages: {', '.join(missing)}"
    return "no passage says this in these words"


def _telling(conflicts: Conflicts) -> Exchange:
    """Return the first exchanged number, else the first exchanged name."""
    alike = [exchange for exchange in conflicts.exchanges if exchange.is_alike and exchange.token.kind != "word"]
    return min(alike, key=lambda exchange: exchange.token.kind != "number")


def _other_word(own: str, claim: str, other: str, sentence: str) -> str:
    return f"says “{_surface(own, claim)}” where a passage says “{_surface(other, sentence)}”"


def _surface(key: str, text: str) -> str:
    """Return the word of a text that a key was made from; the key itself where there is none."""
    folded = fold(text)
    return next((word for word in _WORD.findall(folded) if word.lower().replace(",", ".").startswith(key)), key)
