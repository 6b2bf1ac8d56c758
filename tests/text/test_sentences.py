"""Splitting answers into sentences with spans and kinds."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtrace.model import Sentence
from ragtrace.text import declines, split_sentences


def texts(text: str) -> list[str]:
    return [sentence.text for sentence in split_sentences(text)]


def kinds(text: str) -> list[str]:
    return [sentence.kind for sentence in split_sentences(text)]


def test_sentences_are_numbered_with_spans_and_kinds():
    """A sentence says where it stands and what it is."""
    found = split_sentences(" It is open.  Is it? ")

    assert found == (
        Sentence(number=1, text="It is open.", start=1, end=12, kind="statement"),
        Sentence(number=2, text="Is it?", start=14, end=20, kind="question"),
    )


CASES = [
    "Dr. Smith met Mr. Jones at 5 p.m. on Friday. |They talked.",
    "It costs 3.5 million, e.g. in the U.S. market. |Prices rose.",
    "J. K. Rowling wrote it. |She lives in the U.K. |The book sold well.",
    "It contains vitamin C. |The dose is low.",
    "See Fig. 3 and p. 55. |Then call No. 7.",
    "Is it free? |No. |It is not.",
    "You and I. |Did you see it?",
    "Growth was 3 % (World Bank, 2021). |Exports rose (ibid.). |It ended.",
    "The report (see p. 4.) is long. |(It was revised.) |Read it.",
    "He said, “It works.” |She smiled.",
    '"Stop!" he shouted. |Nobody moved.',
    "Wait... what happened? |I think so… |But who knows.",
    "Paris is old.[1] |It is big [2]. |It is [doc 3] rich.",
    "the pump beeps twice. |then it restarts on its own.",
    "iPhone sales fell. |eBay rose! |iOS is new.",
    "One is here.|This is two. |Edit config.yaml now.",
    "Use `a.b. c` here. |Visit https://example.com/a.b?x=1. |Write to a.b@example.org today.",
    "Am 3. Oktober 1990 endete es. |Es war das 19. Jahrhundert. |Ludwig XIV. war König, z. B. in Versailles.",
    "Das kostet ca. 5 Mio. Euro bzw. mehr. |Die Temperatur beträgt 20. |Sie steigt.",
    "В 1980 г. в Москве жил А. С. Пушкин и др. люди. |Рост — 5 тыс. руб. за штуку. |Он ушёл.",
    "Есть фрукты и т. д. |Всё свежее. |— Куда? |— Домой.",
    "Цена 5 млн долл. США за год. |Это дорого.",
    "Это первое предложение.|Второе здесь.",
    "保修期为两年。|电池不在保修范围内！|价格低；|性能好。",
    "他说：“我来了。”|然后坐下。",
    "彼は「明日行く。」と言った。|本社は東京（旧江戸。現在の首都）にある。|そうか…。|分かった。",
    "価格は１．５円です。|次です．|終わり。",
    "我们使用GPT-4o模型。|It works well. |效果很好。",
    "It works well.|效果很好。|Python 3.11很快。",
    "这是第一句.|这是第二句.|结束!",
    "यह है। |वह था।",
    "هل هذا صحيح؟ |نعم. |هذا صحيح.",
    "It lasted until Jan. |He left. |He came on Jan. 5.",
    "The talk is at 5 p.m. Monday. |It ends at 6 p.m. |Doors close.",
    "I never meant that.... |She left.",
    "Omit it [...] here. |Smith et al. (2020) agree.",
    "Wow!|效果很好。",
    "Yahoo! in 2000 grew. |Really?|This is it. |Done.",
    "Meet at 10 a.m. EST. |Bring ID.",
    "Das Unternehmen (gegr. 1950) hat 3 Mio. Kunden u. a. in Wien. |Es wächst.",
    "(It was new. |It is old now.) |It works.",
    "Температура — 20 °C. |Давление — 3 бар.",
    "**优点**：启动快。|**缺点**：价格高。",
    "The answer is **42.** |It is final.",
    "株式会社ABC（旧XYZ。）は1998年設立。|本社は大阪。",
    "Gemäß § 5 Abs. 2 Nr. 3 BGB haftet er. |Dies gilt nicht.",
    "Er wurde 1980 geboren. |Kaiser Karl V. regierte lange.",
    "Население — 1,5 млн чел. |Площадь — 500 кв. км.",
    "He lives in the U.S. Government housing. |It is big.",
    "Is it safe?Maybe.",
    "See also vol. 3 of it. |No. |It ended on Fri. 5 May.",
]
"""A bar stands where a sentence ends."""


@pytest.mark.parametrize("whole", CASES)
def test_sentences_end_where_readers_end_them(whole):
    """Abbreviations, initials, numbers, quotations and addresses do not end sentences; stops of any script do."""
    assert texts(whole.replace("|", "")) == [part.strip() for part in whole.split("|")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Key points:\n- Fast\n- Small. It fits.", ["heading", "statement", "statement", "statement"]),
        ("# Title\nText is here.\n\nLimits\n------\nIt ends.", ["heading", "statement", "heading", "statement"]),
        ("**Overview**\nIt is small.", ["heading", "statement"]),
        ("【概要】\n小さい。", ["heading", "statement"]),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n\nDone.", ["heading", "heading", "row", "statement"]),
        ("Name | Age\n--- | ---\nAnn | 34\nAnn is old.", ["heading", "heading", "row", "statement"]),
        ("Ann\t34\nBob\t5", ["row", "row"]),
        ("Run:\n```python\nx = 1.5\n```\nIt works.", ["heading", "code", "statement"]),
        ("~~~\nnever closed. really", ["code"]),
        ("One is here.\n---\nTwo is here.", ["heading", "statement"]),
        ("One is here.\n\n* * *\n\nTwo is here.", ["statement", "statement"]),
        ("Hello! I hope this helps!", ["greeting", "greeting"]),
        ("Is it so? 保修期多久？ そうですか。", ["question", "question", "question"]),
        ("👍", ["greeting"]),
        ("---", ["greeting"]),
    ],
)
def test_kinds_tell_what_claims_something(text, expected):
    """Headings, table heads, code, greetings and questions claim nothing; statements and table rows do."""
    assert kinds(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("This line is wrapped\nin the middle of a sentence. Next.", 2),
        ("The capital of\nFrance is Paris.", 1),
        ("A long enough line that was surely wrapped by\nSomebody at some width.", 1),
        ("Voltage: 220 V\nCurrent: 5 A", 2),
        ("The pump\nMade in Germany", 2),
        ("First line  \nsecond line", 2),
        ("First paragraph\n\nsecond paragraph", 2),
        ("• Bolt: M8\n• Torque: 25 Nm", 2),
        ("1. Open it\n2. Close it\n(3) Go", 3),
        ("一、安装\n二、运行\n① 完成", 3),
        ("3.5 million people live here", 1),
        ("Done.\nnext line", 2),
    ],
)
def test_lines_that_go_on_are_joined_and_items_are_not(text, expected):
    """Wrapped lines are one sentence; list items, pairs and paragraphs are their own."""
    assert len(split_sentences(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "I don't know",
        "Das weiß ich nicht",
        "我不知道",
        "わかりません",
        "Не знаю",
        "Je ne sais pas.",
        "No lo sé.",
        "모르겠습니다.",
        "The context does not contain information about the price.",
        "Based on the provided documents, I cannot answer this question.",
        "There is no mention of the warranty in the passages.",
        "The answer cannot be determined from the text.",
        "Not mentioned.",
        "Der Kontext enthält keine Informationen über den Preis.",
        "Das lässt sich daraus nicht beantworten.",
        "В предоставленном контексте нет информации о цене.",
        "К сожалению, я не могу ответить на этот вопрос.",
        "提供的上下文中没有提到价格。",
        "抱歉，我无法根据现有资料回答这个问题。",
        "提供された文脈には価格についての情報が含まれていません。",
        "申し訳ありませんが、その質問にはお答えできません。",
    ],
)
def test_refusals_are_found_in_their_many_wordings(text):
    """An answer that declines to answer is a refusal, in any of the languages."""
    assert (kinds(text), declines(split_sentences(text))) == (["refusal"], True)


@pytest.mark.parametrize(
    "text",
    [
        "The warranty does not cover batteries.",
        "The battery is not included in the box.",
        "Das Gerät ist nicht enthalten.",
        "У насоса нет гарантии.",
        "电池不包含在保修范围内。",
        "保証には電池は含まれません。",
        "The pump does not know when to stop." + " It stops." * 60,
    ],
)
def test_negative_statements_are_no_refusals(text):
    """What says that something is not so is a statement."""
    assert (set(kinds(text)), declines(split_sentences(text))) == ({"statement"}, False)


def test_advice_does_not_make_an_answer_of_a_refusal():
    """A refusal with a hint where to ask is a refusal; one beside a fact is not."""
    advised = "I don't know. Please contact support."
    answered = "The passages do not mention the price. The warranty lasts two years."

    assert (declines(split_sentences(advised)), declines(split_sentences(answered))) == (True, False)


def test_odd_characters_are_kept_as_they_are():
    """Lone surrogates, NUL and combining marks neither break splitting nor get lost."""
    text = "A \ud800 is here. B\x00 is e\u0301 here."

    assert texts(text) == ["A \ud800 is here.", "B\x00 is e\u0301 here."]


def test_a_megabyte_is_split():
    """Long texts are split as a whole."""
    assert len(split_sentences("The pump restarts after 30 s. It is safe.\n" * 5_000)) == 10_000


@given(st.text(alphabet=st.characters(), max_size=200))
def test_sentences_cover_a_text_in_order(text):
    """Spans are what they say, follow each other, are not blank, and a text that is not blank has one."""
    found = split_sentences(text)

    assert [text[s.start : s.end] for s in found] == [s.text for s in found]
    assert all(a.end <= b.start for a, b in pairwise(found))
    assert all(s.text.strip() == s.text != "" for s in found)
    assert bool(found) == bool(text.strip())


@pytest.mark.parametrize(
    "text",
    [
        "Bring it to Bldg. 4 by noon.| Show your ID.",
        "Mix 1 tbsp. sugar with 2 tsp. salt.| Stir.",
        "It fits Model No. A.12 only.| Others differ.",
        "All done! 🎉| Enjoy your day.",
        "<b>Warning.</b>| Do not open it.",
        "Take vitamin B.| It helps.",
        "I met Phil.| He likes it a lot.| 5 others came.",
        "Dr. med. Weber leitet die Fa. Kern in Ulm.| Sie forscht.",
        "Der Eingang liegt in der Hauptstr. 12 im Hof.| Bitte klingeln.",
        "Der Betrieb wurde 1921 gegr. und später verkauft.| Er heißt heute anders.",
        "Das Teil ist u. U. nicht lieferbar.| Wir melden uns.",
        "Die 2. Auflage erschien 2005.| Die 3. folgte 2010.",
        "Samstag: Sa. 9–13 Uhr ist das Büro geöffnet.| Sonst nicht.",
        "Подробности на с. 12 и в табл. 4.| Там всё описано.",
        "送料は無料です（離島を除く。）。|ご利用ください。",
        "他来了（真的！）。|大家很高兴。",
        "第一行没有句号\n|第二行也没有",
        "一行目です\n|二行目です",
    ],
)
def test_hard_stops(text: str):
    """Abbreviations, ordinals, brackets and lines that end sentences in one place and not in another."""
    parts = [part.strip() for part in text.split("|")]

    assert texts(text.replace("|", "")) == parts


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("statement", "I do not know the exact date, but the tower opened in 1889."),
        ("statement", "I can't say for sure, but I believe the tower opened in 1889."),
        ("statement", "The text does not say who signed it, but it states that it was signed in 1990."),
        ("statement", "While the document mentions a fee of $5, it does not specify when it is due."),
        ("statement", "The tower opened in 1889, but the text does not mention the month."),
        ("statement", "No information is available about the owner; the firm was founded in 1998."),
        ("statement", "The text does not mention the price, but you can return it within 30 days."),
        ("statement", "The text does not mention cats, but guests may bring dogs."),
        ("statement", "Ich weiß es nicht genau, aber der Turm wurde 1889 eröffnet."),
        ("statement", "Я не знаю точной даты, но башня открыта в 1889 году."),
        ("statement", "文中未提及价格，但提到保修期为两年。"),
        ("statement", "文中未提及价格，但您可以在30天内退货。"),
        ("statement", "正確な日付はわかりませんが、塔は1889年に開業しました。"),
        ("refusal", "I'm sorry, but I cannot answer that."),
        ("refusal", "I don't know, but you can contact support."),
        ("refusal", "I don't know, but it may be in another document."),
        ("refusal", "I looked everywhere, but the documents do not mention it."),
        ("refusal", "The answer is not in the text."),
        ("refusal", "As an AI model, I cannot open files."),
        ("refusal", "No idea."),
        ("refusal", "根据提供的资料无法回答。"),
        ("refusal", "申し訳ありませんが、わかりません。"),
    ],
)
def test_what_is_stated_beside_a_refusal_is_a_statement(kind: str, text: str):
    """Who does not know one thing and states another is judged by that; regrets, advice and hopes state nothing."""
    assert (kinds(text), declines(split_sentences(text))) == ([kind], kind == "refusal")


@pytest.mark.parametrize(
    "text",
    [
        "I do not know the price. You can return it within 30 days.",
        "I do not know the price. If you return it within 30 days, you get a refund.",
        "I do not know the price. Without a permit, entry costs $5.",
        "我不知道价格。您可以在30天内退货。",
    ],
)
def test_a_statement_beside_a_refusal_is_no_advice(text: str):
    """What a person can do, and what holds if they do, is stated; only where to ask is advice."""
    assert (kinds(text), declines(split_sentences(text))) == (["refusal", "statement"], False)
