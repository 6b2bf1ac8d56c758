"""Tell what kind of answer a question asks for, in several languages."""

import re
from typing import Final, Literal

Expected = Literal["year", "number", "moment", "thing", "unknown"]

_PATTERNS: Final[tuple[tuple[Expected, str], ...]] = (
    (
        "year",
        r"\b(?:what|which) year\b|哪[一]?年|何年|\b(?:в )?како[мй] год[у]?\b|\bwelche[mns]? jahr|\bquelle année",
    ),
    (
        "number",
        r"\bhow (?:many|much|long|old|far|tall|large|big|high|often|fast|deep|heavy|wide)\b"
        r"|\b(?:what|which) (?:percent\w*|number|amount|date|age|century|day)\b"
        r"|多少|几[个個位年月日岁歲次天]|多[大长長高远遠久重]|哪[一]?天|いくつ|いくら|どのくらい|どれくらい|どれだけ"
        r"|何(?:人|月|日|時|歳|パーセント|％|%|回|個|km|キロ|メートル|つ|番|世紀|円|ドル|度|分|校|社|か国|ヶ国|カ国|種類|本|冊|台)"
        r"|\bсколько\b|\bкако[йе] (?:процент|число|количество|возраст)|\bкакого числа"
        r"|\bwie ?(?:viele?|lange|alt|hoch|oft|groß|weit)\b"
        r"|\bcombien\b|\bcuánt[oa]s?\b",
    ),
    (
        "thing",
        r"\b(?:what|which|who(?:m|se)?|where|why|как(?:ой|ая|ое|ие|ую|им|их|ого|ому)|что|чем|кто|кого|кому|кем|где|куда|откуда|почему)\b"
        r"|\b(?:was|welche\w*|wer|wen|wem|wo|wohin|woher|warum|quel\w*|qui|où|qué|quién\w*|dónde|cuál\w*)\b"
        r"|什么(?!时候)|什麼(?!時候)|哪[个個种種些里裡儿兒位]|谁|誰|为什么|為什麼|如何|怎[样樣么麼]|何[をがでに]|どの|どんな|どこ|だれ|どう|なぜ",
    ),
    ("moment", r"\bwhen\b|什么时候|什麼時候|何时|何時|いつ|\bкогда\b|\bwann\b|\bquand\b|\bcuándo\b"),
)
_KINDS: Final = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _PATTERNS)
_ASKING = re.compile(
    r"[?？]|^\W*(?:(?:in|at|on|to|for|by|from|of|with|during|after|about"
    r"|под|в|на|с|к|у|о|об|из|для|по|an|auf|aus|mit|von|seit) )?"
    r"(?:what|which|who(?:m|se)?|when|where|why|how|кто|кого|кому|кем|что|чем|чего|где|куда|откуда|когда|сколько|почему|зачем"
    r"|как(?:ой|ая|ое|ие|ую|им|их|ого|ому|ом)?|wer|wen|wem|wann|wo|wohin|woher|warum|wie|welche\w*|qui|quand|où|combien"
    r"|pourquoi|quel\w*|quién\w*|cuándo|dónde|cuánt\w+|cuál\w*)\b"
    r"|什么|什麼|[谁誰]|哪[个個种種些里裡儿兒位年一]|多少|几[个個位年月次]|如何|为什么|為什麼|か[。:：]?$|いつ|どこ|だれ|いくつ|何[年人月日]",
    re.IGNORECASE,
)
_DIGIT = re.compile(r"\d")
_YEAR = re.compile(r"(?<!\d)[12]\d{3}(?!\d)|\d+ ?(?:BC|AD|CE|年|до н|v\. ?Chr)|世[纪紀]|\bвек|年")
_NUMBER_WORD = re.compile(
    r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand|million|billion|half|third"
    r"|quarter|twice|once|several|first|second|century|today|одн\w+|один|два|две|дв[ау]х|три|тр[её]х|четыр\w+|пят\w+|шест\w+|сем\w*|восем\w+"
    r"|девят\w+|десят\w+|сто|тысяч\w*|миллион\w*|половин\w+|век\w*|ein\w*|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn)\b"
    r"|[一二三四五六七八九十百千万億亿兩两半数几]|世[纪紀]|[年月日]",
    re.IGNORECASE,
)
_BARE_NUMBER = re.compile(r"\D{0,3}[\d.,]+\D{0,8}")


def expected_answer(question: str) -> Expected:
    """Return what a folded text asks for; "unknown" where it does not look like a question."""
    return next((kind for kind, pattern in _KINDS if pattern.search(question)), "unknown")


def is_question(text: str) -> bool:
    """Tell whether a folded text asks something."""
    return bool(_ASKING.search(text))


def lacks_number(question: str, answer: str) -> bool:
    """Tell whether a number or date is asked for and the answer gives none."""
    expected = expected_answer(question)
    if expected == "year":
        return not _YEAR.search(answer)
    return expected in ("number", "moment") and not (_DIGIT.search(answer) or _NUMBER_WORD.search(answer))


def has_odd_number(question: str, answer: str) -> bool:
    """Tell whether the answer is a bare number and none is asked for."""
    return expected_answer(question) in ("thing", "unknown") and bool(_BARE_NUMBER.fullmatch(answer.strip()))
