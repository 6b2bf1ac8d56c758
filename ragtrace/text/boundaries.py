"""Find where the sentences of one paragraph end."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ragtrace.text import abbreviations as abbr

_WIDE = r"\u2e80-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff01-\uff60"
_CLOSERS = "\"'”’»“«›‹」』）)\\]】〉》*_"
_MARKER = (
    r"[ \t]?(?:\[\^?\d{1,4}(?:[ ]?[,;–-][ ]?\d{1,4}){0,20}\]|【\d{1,4}[^】\n]{0,12}】|［\d{1,4}］|[¹²³⁰-⁹]{1,6}"
    r"|</\w{1,10}>|[\U0001f300-\U0001faff]\ufe0f?|\[(?i:doc|document|source|passage|context|ref|chunk|quelle|источник|来源|出典|文档|資料)[^\]\n]{0,20}\])"
)
# One set of characters first, and then what may follow each: the engine skips to the next of them.
_TERMINATOR = re.compile(
    r"(?P<mark>[。！？｡!?؟；….．۔।॥։።။។፧](?:(?<=[。！？｡!?؟])[。！？｡!?؟]+|(?<=…)(?:…+[。｡]?|[。｡])|(?<=\.)\.+"
    rf"|(?<=[۔।॥։።။។፧])[۔।॥։።။។፧]+)?)(?P<closers>[{_CLOSERS}]*)(?P<cited>(?:{_MARKER})*)"
)
_PROTECTED = re.compile(
    r"(?<!`)`(?!`)[^`\n]{1,120}`(?!`)|https?://[^\s<>，。；！？）」』\"]+|(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,8}"
)
_WORD = re.compile(r"[^\W\d_]+(?:[.-][^\W\d_]+)*$")
_LETTER_OF_SEVERAL = re.compile(r"[^\W\d_]\.")
_COUNTING_LETTER = re.compile(r"[A-Z][.-]?\d")
_FIRST_WORD = re.compile(r"[^\W\d_]+")
_SAYING = re.compile(
    r"[ \t]*(?:[^。！？，,\n]{0,6}(?:说|說|道|问|問|喊|叫|答|写道|表示|认为)(?![：:])"
    r"|と|って|という|といった|の|は|が|を|に|で|も|、|，|,)"
)
_PAIRS = (("「", "」"), ("『", "』"), ("（", "）"), ("“", "”"), ("(", ")"), ("《", "》"))
_BEHIND, _AHEAD, _QUOTE = 32, 48, 100
"""How far is looked back for a word, ahead for the next one, and for the end of a quotation; bounds keep it linear."""
_DECORATION = "*_~`\"'“”„«»‹›([（「『¿¡—–- \t\r\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """What stands around one terminator."""

    mark: str
    closers: str
    is_cited: bool
    before: str
    """Up to `_BEHIND` characters of the sentence so far."""
    after: str
    """Up to `_AHEAD` characters behind terminator, closers and citations, white space included."""
    opens_item: bool
    """Nothing but a number stands before: "1." """
    is_german: bool

    @property
    def next(self) -> str:
        return self.after.lstrip()

    @property
    def is_spaced(self) -> bool:
        return self.after[:1].isspace()

    @property
    def first(self) -> str:
        """The first letter or digit of what follows; "" without one."""
        return self.next.lstrip(_DECORATION)[:1]

    @property
    def first_word(self) -> str:
        found = _FIRST_WORD.match(self.next.lstrip(_DECORATION))
        return found.group() if found else ""

    @property
    def starts_strongly(self) -> bool:
        """The next word, capitalised, is one that begins sentences."""
        word = self.first_word
        if not word[:1].isupper():
            return False
        rest = self.next.lstrip(_DECORATION)[len(word) :]
        if word.lower() in abbr.STARTERS_OF_ONE:
            return not rest.startswith(".")
        return word.lower() in abbr.STARTERS


def sentence_ends(text: str, *, start: int, end: int, is_german: bool) -> Iterator[int]:
    """Yield the offsets at which sentences of `text[start:end]` end, the last one's (`end`) not included."""
    has_protected = "`" in text or "://" in text or "@" in text
    protected = [match.span() for match in _PROTECTED.finditer(text, start, end)] if has_protected else []
    sentence, span = start, 0
    for match in _TERMINATOR.finditer(text, start, end):
        while span < len(protected) and protected[span][1] <= match.start():
            span += 1
        if span < len(protected) and _is_inside(match.start(), protected[span], text):
            continue
        if match.end() < end and _ends(text, match, sentence=sentence, end=end, is_german=is_german):
            sentence = match.end() - _opening(text, match, sentence)
            yield sentence


def _opening(text: str, match: re.Match[str], sentence: int) -> int:
    """Return how many of the asterisks behind a terminator open the next sentence's emphasis."""
    marks = len(match["closers"]) - len(match["closers"].rstrip("*_"))
    if not marks or match["cited"]:
        return 0
    emphasis = match["closers"][-marks:]
    return marks if text.count(emphasis, max(sentence, match.start() - 2 * _QUOTE), match.start()) % 2 == 0 else 0


def _is_inside(position: int, span: tuple[int, int], text: str) -> bool:
    """A full stop at the very end of an address belongs to the sentence."""
    start, end = span
    return start <= position < (end - 1 if text[end - 1] in ".!?" else end)


def _ends(text: str, match: re.Match[str], *, sentence: int, end: int, is_german: bool) -> bool:
    position = match.start()
    place = _Place(
        mark=match["mark"],
        closers=match["closers"],
        is_cited=bool(match["cited"]),
        before=text[max(sentence, position - _BEHIND) : position],
        after=text[match.end() : min(end, match.end() + _AHEAD)],
        opens_item=position - sentence <= 6 and text[sentence:position].strip().isdigit(),
        is_german=is_german,
    )
    if (
        not place.next
        or place.next[0] in ".．,;:，、；：)）。｡！？"
        or _goes_on_after_quote(place)
        or _is_decimal(place)
    ):
        return False
    if _is_wide_mark(place):
        return not _is_enclosed(text, match, sentence=sentence, end=end)
    if place.mark[0] in "!?؟":
        return _ends_exclaimed(place)
    if place.mark[0] == "…" or len(place.mark) > 1:
        return _ends_ellipsis(place)
    if place.mark == ".":
        return _ends_full_stop(place) and not _is_in_parenthesis(text, position, sentence=sentence, end=end)
    return True


def _is_decimal(place: _Place) -> bool:
    return place.mark in ".．" and place.before[-1:].isdigit() and place.after[0].isdigit()


def _is_wide_mark(place: _Place) -> bool:
    return place.mark[0] in "。｡！？；．" or place.mark[-1] in "。｡"


def _goes_on_after_quote(place: _Place) -> bool:
    """Tell whether the sentence goes on behind a quotation or bracket that closed with its own stop."""
    if not place.closers.strip("*_"):
        return False
    if place.first.islower() or (place.is_spaced and place.next[0] in "—–-" and not place.first.isupper()):
        return True
    is_wide = any(closer in place.closers for closer in "”」』）")
    return is_wide and not place.is_spaced and bool(_SAYING.match(place.after))


def _is_enclosed(text: str, match: re.Match[str], *, sentence: int, end: int) -> bool:
    """Tell whether the terminator stands within brackets or a quotation that closes soon."""
    opened_from = max(sentence, match.start() - 2 * _QUOTE)
    ahead = min(end, match.end() + _QUOTE)
    for opener, closer in _PAIRS:
        is_open = text.rfind(opener, opened_from, match.start()) > text.rfind(closer, opened_from, match.start())
        if is_open and closer not in match["closers"] and text.find(closer, match.end(), ahead) >= 0:
            return True
        if is_open and closer == "）" and closer in match["closers"]:
            # A remark inside a sentence, unless the brackets hold a sentence of their own.
            return bool(text[sentence : text.rfind(opener, opened_from, match.start())].strip())
    return False


def _is_in_parenthesis(text: str, position: int, *, sentence: int, end: int) -> bool:
    """Tell whether a full stop stands in brackets inside a sentence, as in "(founded c. 1950)"."""
    opener = text.rfind("(", max(sentence, position - _QUOTE), position)
    is_open = opener > text.rfind(")", max(sentence, position - _QUOTE), position)
    return is_open and bool(text[sentence:opener].strip()) and text.find(")", position, min(end, position + _QUOTE)) > 0


def _ends_exclaimed(place: _Place) -> bool:
    if re.match(rf"[{_WIDE}]", place.next):
        return True
    if not place.is_spaced:
        return place.starts_strongly
    return not place.first.islower() or _has_inner_capital(place)


def _ends_ellipsis(place: _Place) -> bool:
    if place.before.endswith(("[", "(", "（")):
        return False
    return place.is_spaced and not place.first.islower()


def _has_inner_capital(place: _Place) -> bool:
    """A word such as iPhone begins sentences as it is."""
    return place.first_word[1:2].isupper()


def _ends_full_stop(place: _Place) -> bool:
    if place.opens_item:
        return False
    if not place.is_spaced and not place.closers and not place.is_cited:
        return _ends_unspaced(place)
    word = _word_before(place)
    if _is_part_of_name(place, word):
        return False
    known = (word.lower() in abbr.KNOWN and not _is_shouted(word)) or _is_acronym(word)
    if place.first.islower() and not _has_inner_capital(place):
        return _ends_before_lower_case(place, word, known=known)
    if place.closers.strip("*_") and not known:
        return True
    if len(word) == 1 and word.isupper() and not place.before.endswith(("°C", "°F")):
        return _ends_after_initial(place)
    if known:
        return _ends_after_abbreviation(place, word)
    return not _is_ordinal(place)


def _is_part_of_name(place: _Place, word: str) -> bool:
    """Tell titles and streets, as in "Dr. med." and "Hauptstr. 12", and the first of several letters, as in "u. U."."""
    is_street = word.endswith("str") and place.first.isdigit()
    is_title = word.lower() in abbr.GERMAN_TITLES and place.is_spaced
    return (place.is_german and (is_street or is_title)) or (
        len(word) == 1 and word.islower() and bool(_LETTER_OF_SEVERAL.match(place.next))
    )


def _word_before(place: _Place) -> str:
    """Return the word that the full stop touches, parts such as "т. д" and "z. B" put together."""
    found = _WORD.search(place.before)
    word = found.group() if found else ""
    lead = re.search(r"(?:^|[\s(«„])([^\W\d_](?:\. ?[^\W\d_])*)\. ?$", place.before[: len(place.before) - len(word)])
    if lead and len(word) <= 3:
        joined = f"{lead.group(1)}.{word}".replace(" ", "")
        if joined.lower() in abbr.KNOWN:
            return joined
    return word


def _is_shouted(word: str) -> bool:
    """Capitals throughout are a word or a name: EST is no "est."."""
    return len(word) > 2 and word.isupper()


def _is_acronym(word: str) -> bool:
    return bool(re.fullmatch(r"[^\W\d_](?:\.[^\W\d_])+", word))


def _ends_unspaced(place: _Place) -> bool:
    """Decide where no white space follows: "one.This", "第一句.第二句", but not "3.5" or "config.yaml"."""
    last, following = place.before[-1:], place.next[0]
    word = _word_before(place)
    if re.match(rf"[{_WIDE}]", following):
        return bool(re.match(rf"[{_WIDE}]", last)) or (len(word) > 1 and word.lower() not in abbr.KNOWN)
    if not following.isupper() or not word[-2:].islower() or word.lower() in abbr.KNOWN:
        return bool(re.match(rf"[{_WIDE}]", last)) and following.isupper()
    is_cyrillic = "\u0400" <= following <= "\u052f"
    return len(word) > 1 and (is_cyrillic or place.starts_strongly)


def _ends_before_lower_case(place: _Place, word: str, *, known: bool) -> bool:
    """Some people write without capitals; abbreviations that are not listed are short or have capitals."""
    if place.closers.strip("*_") or known or "." in word or not place.is_spaced or place.is_german:
        return False
    return len(word) > 3 and word.islower()


def _ends_after_initial(place: _Place) -> bool:
    """ "J. K. Rowling" and "А. С. Пушкин" go on; "vitamin C. It" does not."""
    if place.before.strip() == "I" or place.before.endswith((" I", " Я")) or place.before[-2:-1] in ("+", "="):
        return True
    lead = place.before[:-1].rstrip()
    is_name = not lead or lead.endswith((".", " by", " und", " and", " и")) or lead.split()[-1][:1].isupper()
    return place.starts_strongly and (not is_name or place.first_word.lower() in abbr.NO_SURNAMES)


def _ends_after_abbreviation(place: _Place, word: str) -> bool:
    lowered = word.lower()
    is_counted = bool(re.search(r"(?:\d[ \u00a0]?|/)$", place.before[: len(place.before) - len(word)]))
    if lowered in abbr.BEFORE_NUMBERS and _COUNTING_LETTER.match(place.next):
        return False
    if lowered in abbr.BEFORE_NUMBERS and (place.first.isdigit() or not (is_counted or place.starts_strongly)):
        return lowered == "no" and not place.first.isdigit()
    if place.first.isdigit():
        return False
    if lowered in abbr.TITLES and word[:1].isupper():
        return False
    if lowered in abbr.MONTHS:
        return True
    if lowered in abbr.OPEN_ENDED or (is_counted and lowered in ("г", "гг", "ч", "д")):
        return _is_plain_capital(place)
    return place.starts_strongly and (lowered not in abbr.RUNNING or lowered in ("al", "max", "min"))


def _is_plain_capital(place: _Place) -> bool:
    """Tell whether a capitalised word follows that is no title, day, time zone or acronym."""
    word = place.first_word
    if place.starts_strongly:
        return True
    is_special = word.lower() in abbr.TITLES | abbr.DAYS_AND_ZONES
    return word[:1].isupper() and word[1:].islower() and not is_special


def _is_ordinal(place: _Place) -> bool:
    """German writes "am 3. Oktober" and "im 19. Jahrhundert"."""
    number = re.search(r"(?:^|\s)(\d{1,2}|[IVX]{1,6})$", place.before)
    if not number:
        return False
    if place.is_german and place.first_word.lower() in abbr.GERMAN_MONTHS:
        return True
    lead = place.before[: number.start()].split()
    articles = abbr.GERMAN_BEFORE_ORDINAL if place.is_german else abbr.ORDINAL_ARTICLES
    return bool(lead) and lead[-1].lower() in articles and not place.starts_strongly
