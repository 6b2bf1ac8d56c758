"""Fold text to a form in which two spellings of the same words are equal."""

import re
import unicodedata

_BETWEEN_WIDE = re.compile(
    r"(?<=[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]) | (?=[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff])"
)


class _Folding(dict[int, str]):
    """A `str.translate` table that keeps letters, digits and combining marks and blanks the rest."""

    def __missing__(self, code: int) -> str:
        category = unicodedata.category(chr(code))
        self[code] = chr(code) if category[0] in "LNM" else " "
        return self[code]


_FOLDING = _Folding()


def normalise(text: str) -> str:
    """Fold compatibility forms, case, punctuation and white space; "" where nothing but those is left.

    White space beside Chinese and Japanese characters goes too, since writers set it at will.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return _BETWEEN_WIDE.sub("", " ".join(folded.translate(_FOLDING).split()))
