"""Make an answer wrong on purpose, in four ways, and say exactly what was made wrong."""

import re
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

FaultKind = Literal["invented", "swapped", "contradicted", "from_cut_text"]
FAULT_KINDS: tuple[FaultKind, ...] = get_args(FaultKind)
_INVENTIONS: Mapping[str, tuple[str, ...]] = {
    "en": (
        "The regional ombudsman confirms every case in writing before it takes effect.",
        "A refundable deposit of 55 pounds is collected by the site council beforehand.",
        "Contractors follow the harbour authority's timetable instead, which differs by season.",
        "The rule was negotiated with the insurers Pell and Morrow and expires at the end of 2031.",
        "An appeal goes to the arbitration panel, which sits in Lisbon twice a year.",
    ),
    "zh": (
        "申请人还须向区域监察委员会缴纳三百八十五元押金。",
        "外包人员则按照港务局每季度公布的另一份时间表执行。",
        "相关结果会刊登在市政府的公报上，供居民查阅。",
        "如有异议，可以向里斯本的仲裁小组申诉，小组每年开庭两次。",
    ),
    "ja": (
        "なお、申請者は地域監査委員会に保証金七千七百円を預ける必要があります。",
        "結果は市役所の広報誌に掲載され、住民が閲覧できます。",
    ),
    "ru": (
        "Кроме того, заявитель вносит залог в размере 7 700 рублей на счёт районного совета.",
        "Решение публикуют в городской газете, где с ним знакомятся жители.",
    ),
}
_FAMILIES: tuple[tuple[str, ...], ...] = (
    ("Bristol", "Chengdu", "Sapporo", "Almaty"),
    ("Frankfurt", "Dublin", "Zurich", "Oslo"),
    ("Ruth Lindqvist", "Ines Okafor", "Tomasz Brandt", "Marta Feld"),
    ("Network", "Plus", "Basic"),
    ("security desk", "travel desk", "people team", "communications team"),
    ("temperature", "humidity", "pressure", "radiation"),
    ("March", "June", "August", "October"),
    ("成都", "贵阳", "布里斯托尔"),
    ("郑启航", "罗文婧"),
    ("温度", "湿度", "气压"),
    ("周一", "周三", "周六"),
    ("札幌", "東京"),
    ("平日", "土曜日"),
    ("Алматы", "Бристоля", "Бристоль"),
    ("температуры", "давления", "влажности"),
)
_NUMBER = re.compile(
    r"\d+(?:[.,:]\d+)*|[零〇一二三四五六七八九十百千万点]{2,}|[一二三四五六七八九两](?=[个天年月次小分元人只台度米周层])"
)
_NEGATIONS: Mapping[str, tuple[str, ...]] = {
    "en": (
        " must not / may ; may not / may ; is not / is ; are not / are ; does not cover / covers ",
        " does not pay / pays ; do not / do ; cannot / can ; never / always ; must / need not ",
        " are covered/ are not covered; is needed / is not needed ; is / is not ; are / are not ",
        " have / do not have ; may / may not ; can / cannot ; costs / does not cost ; decides / does not decide ",
        " means / does not mean ; measures / does not measure ; get / do not get ",
    ),
    "zh": (
        "不在保修/在保修;不保修/保修;不需要/需要;不出境/可以出境;不得/可以;不能/可以;严禁/允许;禁止/允许",
        "不会/会;不予/给予;免费/收费;可以/不可以;必须/不必;须/不必;应当/不应;增加到/减少到;需要/不需要",
        "包含/不包含;实行/不实行;高度为/高度不是;时间为/时间不是;每天/每月;以下/以上;请/不要",
    ),
    "ja": (
        "使わないでください/使ってください;無料/有料;できません/できます;ません/ます;してください/しないでください",
        "です/ではありません;します/しません;ます/ません",
    ),
    "ru": (
        " не / ; нельзя / можно ;бесплатн/платн; работает / не работает ; стоит / не стоит ",
        " занимает / не занимает ; прекращают / не прекращают ; хранится / не хранится ",
    ),
}
"""Phrases and their opposites, in the order in which they are tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """An honest answer, and what the model has at hand to spoil it with."""

    question: str
    language: str
    sentences: tuple[str, ...]
    """The honest answer, the best sentence first."""
    received: str
    """All text of passages that the model was sent."""
    remembered: tuple[str, ...]
    """Sentences about the question that were cut from the prompt but that the model knows, best first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoilt:
    """An answer with one wrong sentence."""

    kind: FaultKind
    sentences: tuple[str, ...]
    planted: str
    """The wrong sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """What was made wrong in the answer to one question; for the final count only, never for the judge."""

    question: str
    kind: FaultKind
    planted: str
    answer: str


class Ledger:
    """The faults that were really planted, in the order in which they happened."""

    def __init__(self) -> None:
        self.entries: list[LedgerEntry] = []

    def add(self, entry: LedgerEntry) -> None:
        """Keep one entry."""
        self.entries.append(entry)


def choose_questions(questions: Sequence[str], *, every: int = 3) -> frozenset[str]:
    """Choose the questions that are to be answered wrongly: the first and each third after it."""
    return frozenset(questions[::every])


def spoil(draft: Draft, kind: FaultKind) -> Spoilt | None:
    """Plant one fault; None where this answer offers no place for it."""
    sentences = _WAYS[kind](draft)
    if sentences is None:
        return None
    (planted,) = set(sentences) - set(draft.sentences)
    return Spoilt(kind=kind, sentences=sentences, planted=planted)


def spoil_evenly(draft: Draft, ledger: Ledger) -> Spoilt | None:
    """Plant the kind that was planted least so far among those that this answer offers a place for."""
    counts = Counter(entry.kind for entry in ledger.entries)
    tried = (spoil(draft, kind) for kind in sorted(FAULT_KINDS, key=lambda kind: counts[kind]))
    return next((spoilt for spoilt in tried if spoilt), None)


def _invent(draft: Draft) -> tuple[str, ...]:
    inventions = _INVENTIONS.get(draft.language, _INVENTIONS["en"])
    return (*draft.sentences, inventions[zlib.crc32(draft.question.encode()) % len(inventions)])


def _swap(draft: Draft) -> tuple[str, ...] | None:
    return _replace_one(draft, lambda sentence: _swap_name(sentence) or _swap_number(sentence, draft.received))


def _contradict(draft: Draft) -> tuple[str, ...] | None:
    return _replace_one(draft, lambda sentence: _negate(sentence, draft.language))


def _use_cut_text(draft: Draft) -> tuple[str, ...] | None:
    return (*draft.sentences, draft.remembered[0]) if draft.remembered else None


_WAYS: Mapping[FaultKind, Callable[[Draft], tuple[str, ...] | None]] = {
    "invented": _invent,
    "swapped": _swap,
    "contradicted": _contradict,
    "from_cut_text": _use_cut_text,
}


def _replace_one(draft: Draft, change: Callable[[str], str | None]) -> tuple[str, ...] | None:
    """Change the first sentence that can be changed."""
    for place, sentence in enumerate(draft.sentences):
        changed = change(sentence)
        if changed:
            return (*draft.sentences[:place], changed, *draft.sentences[place + 1 :])
    return None


def _swap_name(sentence: str) -> str | None:
    """Put another member of its family in the place of the first name that stands in the sentence."""
    for family in _FAMILIES:
        present = [name for name in family if name in sentence]
        others = [name for name in family if name not in sentence]
        if present and others:
            return sentence.replace(present[0], others[0])
    return None


def _swap_number(sentence: str, received: str) -> str | None:
    """Put a number of another received sentence in the place of the first number."""
    found = _NUMBER.search(sentence)
    if not found:
        return None
    number = found.group()
    others = [other for other in _NUMBER.findall(received) if other not in sentence]
    alike = [o for o in others if len(o) == len(number) and o.isascii() == number.isascii()]
    return sentence[: found.start()] + alike[0] + sentence[found.end() :] if alike else None


def _negate(sentence: str, language: str) -> str | None:
    """Turn the first phrase that is known in the language into its opposite."""
    pairs = [pair.split("/") for line in _NEGATIONS.get(language, ()) for pair in line.split(";")]
    return next((sentence.replace(phrase, opposite, 1) for phrase, opposite in pairs if phrase in sentence), None)
