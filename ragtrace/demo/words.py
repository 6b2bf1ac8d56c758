"""Cut text of any of the demo's languages into index terms and count tokens roughly."""

import re
from math import ceil

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_RUNS = re.compile(f"[{_CJK}]+|[^\\W_{_CJK}]+")
_ONE_CJK = re.compile(f"[{_CJK}]")
_LETTERS_PER_TOKEN = 4
_STEM = 6
"""Letters of a word that count: a crude stem that serves English and Russian alike."""


def terms(text: str) -> list[str]:
    """Return heads of words in lower case, and overlapping pairs of characters where a script has no spaces."""
    return [term for run in _RUNS.findall(text.lower()) for term in _terms_of_run(run)]


def count_tokens(text: str) -> int:
    """Estimate a language model's tokens: one for a CJK character, one for four others."""
    wide = len(_ONE_CJK.findall(text))
    return wide + ceil((len(text) - wide) / _LETTERS_PER_TOKEN)


def head_within(text: str, tokens: int) -> str:
    """Return the longest head of `text` within so many tokens that ends at a word's end."""
    if count_tokens(text) <= tokens:
        return text
    ends = [m.end() for m in re.finditer(f"[{_CJK}]|[^\\s{_CJK}]+", text)]
    fitting = [end for end in ends if count_tokens(text[:end]) <= tokens]
    return text[: fitting[-1]] if fitting else ""


def _terms_of_run(run: str) -> list[str]:
    if not _ONE_CJK.match(run) or len(run) == 1:
        return [run[:_STEM]]
    return [run[i : i + 2] for i in range(len(run) - 1)]
