"""Tell the language of a text from its script, its letters and its commonest words."""

import re
from collections import defaultdict
from functools import lru_cache

UNKNOWN = "und"
_SAMPLE = 2_000
"""Characters looked at: the language of a longer text does not depend on the rest."""

_SCRIPTS = (
    ("kana", r"[\u3041-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9d]"),
    ("han", r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"),
    ("hangul", r"[\u1100-\u11ff\u3130-\u318f\uac00-\ud7af]"),
    ("cyrillic", r"[\u0400-\u052f]"),
    ("latin", r"[A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff]"),
    ("arabic", r"[\u0620-\u064a\u066e-\u06d3\u0750-\u077f\ufb50-\ufdff\ufe70-\ufefc]"),
    ("he", r"[\u05d0-\u05ea]"),
    ("el", r"[\u0370-\u03ff\u1f00-\u1fff]"),
    ("th", r"[\u0e01-\u0e4e]"),
    ("hi", r"[\u0900-\u097f]"),
    ("bn", r"[\u0980-\u09ff]"),
    ("ta", r"[\u0b80-\u0bff]"),
    ("te", r"[\u0c00-\u0c7f]"),
    ("ka", r"[\u10a0-\u10ff]"),
    ("hy", r"[\u0531-\u0587]"),
    ("am", r"[\u1200-\u137f]"),
)
_PATTERNS = tuple((name, re.compile(pattern)) for name, pattern in _SCRIPTS)
_CJK_WEIGHT = 2.5
"""A Chinese or Japanese character says about as much as this many letters."""

_WORDS = {
    "en": "the of and to in is was for that it with as on are be by this from at an have not which or "
    "you they has were can will its if does do what there their than when may also i we he she "
    "but how your",
    "de": "der die das und ist ein eine nicht von zu den mit dem für auf im des sich auch es als wird "
    "an bei sind werden nach oder aus wie zum zur hat einen einer wenn kann nur über ich wir sie "
    "dass beträgt bis wurde",
    "fr": "le la les des et est un une dans pour que qui en du pas sur au avec par ce il sont plus ne "
    "se à aux été cette ou elle être comme mais nous vous leur ont ans",
    "es": "el la los las de y en es un una que para por con no se del al lo como más su este esta son "
    "fue pero ha o sus hay está también tiene muy años",
    "it": "il la di e è che un una per non in del della con sono le si da i gli al dei nel alla anche "
    "come più questo ha ma delle lo stato anni",
    "pt": "o a de e é que um uma para não em do da com os as no na por se mais dos como foi ao ou são "
    "seu sua pelo também tem anos está",
    "nl": "de het een en van is in dat op te voor met niet zijn die aan er om ook als bij wordt naar "
    "maar uit worden of door heeft dit deze jaar kan",
    "pl": "i w na z nie się do to jest że o jak po od za przez dla ale są oraz przy był była może lub "
    "czy jego także ze",
    "tr": "ve bir bu da de için ile olarak olan daha çok en gibi ne ise değil kadar sonra var her ya o "
    "mi bulunur yıl tarafından olduğu",
    "sv": "och i att det som en på är av för med den till inte om ett har de var vid kan från eller ska hon han år",
    "da": "og i at det som en på er af for med den til ikke om et har de var ved kan fra eller skal hun han år blev",
    "fi": "ja on ei se että oli hän mutta joka ovat myös kun tai sen niin kuin ole jos voi vuotta",
    "cs": "a v se na je že o s z do to jako pro ve by za si ale po jsou od jeho byl nebo není má roku",
    "hu": "a az és hogy is egy nem van ez volt de meg csak mint ha vagy még el már lehet évig",
    "ro": "și de în la a cu pe nu un o care este să din mai că au pentru sau fost prin ce ani",
    "id": "yang dan di dari ini untuk dengan pada adalah tidak dalam itu oleh akan atau ke juga sebagai tahun",
    "vi": "và của là có trong cho được các một không với những người đã này khi từ để ở năm",
}
_WORD_LANGUAGES: dict[str, tuple[str, ...]] = {}
for _language, _listed in _WORDS.items():
    for _word in _listed.split():
        _WORD_LANGUAGES[_word] = (*_WORD_LANGUAGES.get(_word, ()), _language)

_LETTERS = {
    "de": "ßäöü", "fr": "çêèàœûîë", "es": "ñ¿¡", "pt": "ãõç", "pl": "łąężźśćń", "tr": "ığşçöü", "sv": "åäö",
    "da": "åæø", "fi": "äö", "cs": "řěůčšž", "hu": "őű", "ro": "șțăâ", "vi": "đơưạảấầậắặẹếềệọốồộớờợụứừựỳ", "it": "ìò",
}  # fmt: skip
_LETTER_WEIGHT = 0.5
_ENOUGH = 0.9
"""A text needs this much evidence, about one word that no other language shares."""
_TOKEN = re.compile(r"(?<!['’])\b[^\W\d_]+")
"""What follows an apostrophe is no word of its own: the s of "pump's" is not the Czech one."""


def detect_language(text: str) -> str:
    """Return the ISO 639-1 code of the language most of the text is in, or "und" where the text does not tell."""
    return _detect(text[:_SAMPLE])


# A judge's plan asks two or three times about the same text.
@lru_cache(maxsize=64)
def _detect(sample: str) -> str:
    script = _main_script(sample)
    if script in ("han", "kana", "hangul"):
        return _east_asian(sample)
    if script == "cyrillic":
        return _by_letters(sample, (("uk", "іїєґ"), ("be", "ў"), ("sr", "јљњђћџ"), ("mk", "ѓќѕ")), "ru")
    if script == "arabic":
        return _by_letters(sample, (("ur", "ٹڈےں"), ("fa", "پچژگیک")), "ar")
    if script == "latin":
        return _latin(sample)
    return script or UNKNOWN


def _main_script(sample: str) -> str | None:
    if sample.isascii():
        return "latin" if any(map(str.isalpha, sample)) else None
    counts = {name: float(len(pattern.findall(sample))) for name, pattern in _PATTERNS}
    for name in ("han", "kana", "hangul"):
        counts[name] *= _CJK_WEIGHT
    counts["han"] += counts["kana"]
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] else None


def _east_asian(sample: str) -> str:
    han, kana, hangul = (len(_pattern(name).findall(sample)) for name in ("han", "kana", "hangul"))
    if hangul > han + kana:
        return "ko"
    # A Chinese text may quote a Japanese name; a Japanese one has kana all over.
    return "ja" if kana * 10 >= han else "zh"


def _pattern(name: str) -> re.Pattern[str]:
    return dict(_PATTERNS)[name]


def _by_letters(sample: str, languages: tuple[tuple[str, str], ...], default: str) -> str:
    """Return the language whose own letters are common enough, one in fifty."""
    lowered = sample.lower()
    letters = sum(map(str.isalpha, lowered))
    for language, own in languages:
        if sum(map(lowered.count, own)) * 50 >= letters:
            return language
    return default


def _latin(sample: str) -> str:
    lowered = sample.lower()
    words = _TOKEN.findall(lowered)
    evidence: dict[str, float] = defaultdict(float)
    for word in words:
        for language in (shared := _WORD_LANGUAGES.get(word, ())):
            evidence[language] += 1 / len(shared)
    for language, letters in () if lowered.isascii() else _LETTERS.items():
        if any(letter in lowered for letter in letters):
            found = sum(any(letter in word for letter in letters) for word in words)
            evidence[language] += _LETTER_WEIGHT * min(found, 4)
    if not evidence:
        return UNKNOWN
    (most, best), *others = sorted(((weight, language) for language, weight in evidence.items()), reverse=True)
    if most < _ENOUGH or (others and others[0][0] == most):
        return UNKNOWN
    return best
