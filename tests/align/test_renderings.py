"""Passages are found whole, cut and missing whatever the template did to them."""

import html
import json
import re
import textwrap
import unicodedata
from collections.abc import Callable

import pytest

from ragtrace.align import align, full
from ragtrace.model import Delivery, Passage

TEXTS = (
    "## Warranty\n\nThe **Heron 4** station is covered for 36 months, counted from the invoice date. Batteries and "
    "solar panels are covered for 24 months; see [the terms](https://aldermoor.example/terms).\nA repair within the "
    "warranty is free of charge, and so is the way back. Damage by lightning is not covered, and neither is damage "
    "by animals, unless the guard was mounted as the manual shows it.",
    "# Leave\n\nEvery employee has 28 days of leave a year. Up to five of them may be carried over, if that was agreed "
    "with the manager in writing before 1 December.\nDays that were not taken by the end of March are lost.\n\n"
    'Parents can take another ten days for a sick child, "Kinderkrankentage" in the Cologne office & paid in full.',
    "保修期从发票日期算起，主机和传感器为三十六个月，电池和太阳能板为二十四个月。在六十天之内登记序列号的客户可以再获得十二个月的保修。"
    "雷击、冰雹和动物造成的损坏不在保修范围之内，除非按照安装指南装好了防鸟刺。返修之前请先在客户门户申请返修编号。",
    "Гарантия на станции и датчики составляет тридцать шесть месяцев со дня покупки.\nРемонт занимает двадцать рабочих "
    "дней, потому что запасные части приходят из Бристоля. Выезд мастера в пределах города бесплатный, за городом "
    "он стоит девяносто тенге за километр.",
    "يبدأ الضمان من تاريخ الفاتورة ويستمر ستة وثلاثين شهرا للمحطات وأربعة وعشرين شهرا للبطاريات. الإصلاح مجاني "
    "خلال مدة الضمان، ولا يشمل الأضرار الناتجة عن البرق أو الحيوانات.",
    "वारंटी बिल की तारीख से शुरू होती है और स्टेशन के लिए छत्तीस महीने तथा बैटरी के लिए चौबीस महीने तक रहती है। "
    "बिजली गिरने या जानवरों से हुआ नुकसान इसमें शामिल नहीं है।",
    "การรับประกันเริ่มตั้งแต่วันที่ในใบแจ้งหนี้และมีระยะเวลาสามสิบหกเดือนสำหรับสถานี และยี่สิบสี่เดือนสำหรับแบตเตอรี่ "
    "ความเสียหายจากฟ้าผ่าหรือสัตว์ไม่อยู่ในการรับประกัน",
    "保証期間は請求書の日付から始まり、本体とセンサーは三十六か月、電池は二十四か月です。落雷や動物による損傷は保証の対象外となります。"
    "修理の前にお客様ページで返品番号を取得してください。",
)


def _numbered(text: str) -> str:
    return "\n".join(f"{n}: {line}" for n, line in enumerate(text.splitlines(), 1))


def _stripped(text: str) -> str:
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"^#+\s*|\*\*", "", text, flags=re.M)


def _bullets(text: str) -> str:
    return "\n".join(f"- {part.strip()}" for part in re.split(r"(?<=[.!?。])\s*|\n+", text) if part.strip())


RENDERINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "collapsed": lambda text: " ".join(text.split()),
    "xml": lambda text: f'<document index="3">\n<source>terms.md</source>\n{text}\n</document>',
    "json": lambda text: json.dumps({"id": "17", "text": text}),
    "json unicode": lambda text: json.dumps({"id": "17", "text": text}, ensure_ascii=False),
    "json twice": lambda text: json.dumps(json.dumps([text])),
    "html": html.escape,
    "html twice": lambda text: html.escape(html.escape(text)),
    "json in html": lambda text: html.escape(json.dumps(text)),
    "repr": lambda text: f"Document(page_content={text!r})",
    "quoted": lambda text: "\n".join(f"> {line}" for line in text.splitlines()),
    "wrapped": lambda text: textwrap.fill(text, 60),
    "numbered": _numbered,
    "markdown stripped": _stripped,
    "lower case": str.lower,
    "upper case": str.upper,
    "decomposed": lambda text: unicodedata.normalize("NFD", text),
    "bullets": _bullets,
    "masked": lambda text: re.sub(r"\b(charge|manager|Ремонт)\b", "[REDACTED]", text),
}


def _passages(*texts: str) -> list[Passage]:
    return [Passage(text=text, rank=n) for n, text in enumerate(texts)]


def _prompt(*blocks: str) -> list[str]:
    context = "\n\n".join(f"[{n}] {block}" for n, block in enumerate(blocks, 1))
    return ["Answer with the context.", f"Context:\n{context}\n\nQuestion: 保修多久？"]


def _labels(delivery: Delivery) -> list[str]:
    return [placed.kind or placed.status for placed in delivery.passages]


@pytest.mark.parametrize("rendering", RENDERINGS)
def test_whole_passages_are_found_in_every_rendering(rendering: str):
    """A passage that the template put in whole counts as received whole, in any script."""
    render = RENDERINGS[rendering]

    delivery = full(_passages(*TEXTS), _prompt(*map(render, reversed(TEXTS))))

    assert _labels(delivery) == ["full"] * len(TEXTS)
    assert delivery.prompt_order == tuple(reversed(range(len(TEXTS))))


@pytest.mark.parametrize("rendering", RENDERINGS)
def test_the_cheap_way_and_the_thorough_way_agree(rendering: str):
    """What is placed at little cost is placed the same as by the thorough search."""
    blocks = [RENDERINGS[rendering](text) for text in TEXTS[1:]]

    delivery = align(_passages(*TEXTS), _prompt(*blocks))

    assert _labels(delivery) == ["absent", *["full"] * (len(TEXTS) - 1)]


@pytest.mark.parametrize("rendering", [name for name in RENDERINGS if name != "markdown stripped"])
@pytest.mark.parametrize("text", TEXTS)
def test_cut_passages_are_found_in_every_rendering(rendering: str, text: str):
    """A passage that was cut before it was rendered is a head, a tail or a middle with the right borders."""
    render, third = RENDERINGS[rendering], len(text) // 3
    passages = _passages(text, "Nothing of this passage about falcons ever reached the generator.")

    head = full(passages, _prompt(render(text[:third])))
    tail = full(passages, _prompt(render(text[-third:])))
    middle = full(passages, _prompt(render(text[third : 2 * third])))

    assert [_labels(delivery) for delivery in (head, tail, middle)] == [
        ["head", "absent"],
        ["tail", "absent"],
        ["middle", "absent"],
    ]
    assert head.passages[0].spans[0].passage_start == 0
    assert tail.passages[0].spans[0].passage_end == len(text)
    for delivery, received in ((head, text[:third]), (tail, text[-third:]), (middle, text[third : 2 * third])):
        letters = sum(map(str.isalnum, received)) / sum(map(str.isalnum, text))
        assert abs(delivery.passages[0].coverage - letters) < 0.03


def test_spans_lead_back_to_the_text_of_passage_and_prompt():
    """Spans give the received stretch in the passage's own offsets and in the prompt's."""
    text = TEXTS[1]
    parts = _prompt(json.dumps(text[:150]))

    placed = full(_passages(text), parts).passages[0]

    prompt = "\n".join(parts)
    span = placed.spans[0]
    assert placed.received_text == text[:150].rstrip()
    assert prompt[span.prompt_start : span.prompt_end] == json.dumps(text[:150])[3:-1]
    assert placed.withheld_text == text[len(text[:150].rstrip()) :]
