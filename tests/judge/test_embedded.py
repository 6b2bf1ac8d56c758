"""The embedded judge: support by wording, without key or network."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragtrace.judge import make_judge
from ragtrace.judge.embedded import EmbeddedJudge
from ragtrace.model import Delivery, RagCall, Verdicts
from ragtrace.settings import load_settings
from tests.build import absent, call, delivery, head, received, whole

PASSAGES = (
    "The warranty lasts 24 months from delivery. Batteries are not covered. The lid is blue.",
    "The pump restarts after 30 s. It was built by Acme in Gera, not by Globex.",
)


def judge(one: RagCall) -> Verdicts:
    return asyncio.run(EmbeddedJudge().judge(one))


def verdicts(answer: str, *passages: str, question: str = "What?") -> list[str]:
    found = judge(call(question=question, answer=answer, delivery=received(*(passages or PASSAGES))))
    return [claim.verdict for sentence in found.answer for claim in sentence.claims]


def test_each_sentence_is_one_claim_with_its_evidence():
    """Supported claims name the passage, contradicted ones too, with the reason; questions claim nothing."""
    answer = "The pump restarts after 30 s. The warranty lasts 36 months from delivery. Anything else?"

    found = judge(call(answer=answer, delivery=received(*PASSAGES)))

    assert [
        [(claim.verdict, claim.evidence, claim.reason) for claim in sentence.claims] for sentence in found.answer
    ] == [
        [("supported", (1,), None)],
        [("contradicted", (0,), "says “36” where a passage says “24”")],
        [],
    ]
    assert (found.useful, found.refused, found.abstained) == ((0, 1), False, None)


def test_support_is_a_probability_beside_the_verdict():
    """What the verdict rests on is kept with the claim."""
    found = judge(call(answer="The pump restarts after 30 s. The CEO left.", delivery=received(*PASSAGES)))

    supports = [claim.support or 0.0 for sentence in found.answer for claim in sentence.claims]
    assert [support > 0.9 for support in supports] == [True, False]


@pytest.mark.parametrize(
    ("answer", "passage"),
    [
        ("The warranty lasts 36 months from delivery.", PASSAGES[0]),
        ("Batteries are covered.", "Batteries are not covered."),
        ("The pump was built by Globex in Gera.", "The pump was built by Acme in Gera. It serves Globex well."),
        ("Globex acquired Acme in 2015.", "Acme acquired Globex in 2015."),
        ("Exports to Norway increased in 2020.", "Exports to Norway decreased in 2020."),
        ("电池在保修范围内。", "本产品保修期为两年。电池不在保修范围内。"),
        ("保修期为三年。", "保修期为两年。"),
        ("保証期間は三年です。", "保証期間は二年です。"),
        ("電池は保証に含まれます。", "電池は保証に含まれません。"),
        ("ピカチュウは電気タイプです。", "ライチュウは電気タイプです。"),
        ("Гарантия на насос составляет 3 года.", "Гарантия на насос составляет 2 года."),
        ("Гарантия распространяется на батареи.", "Гарантия не распространяется на батареи."),
        ("Die Garantie beträgt drei Jahre.", "Die Garantie beträgt zwei Jahre."),
        ("Batterien sind enthalten.", "Batterien sind nicht enthalten."),
    ],
)
def test_a_close_sentence_that_says_otherwise_is_not_support(answer, passage):
    """Another number or name, a negation, an opposite or a turned-round relation is seen in each language."""
    assert set(verdicts(answer, passage)) <= {"contradicted", "undecided", "unsupported"}


@pytest.mark.parametrize(
    ("answer", "passage"),
    [
        ("The warranty lasts 24 months.", PASSAGES[0]),
        ("Batteries are not covered.", PASSAGES[0]),
        ("It was built by Acme in Gera.", PASSAGES[1]),
        ("保修期为2年。", "本产品保修期为两年。"),
        ("保証期間は二年です。", "この製品の保証期間は二年です。"),
        ("Гарантия на насос — 2 года.", "Гарантия на насос составляет два года."),
        ("Die Garantie beträgt zwei Jahre.", "Die Garantie beträgt zwei Jahre ab Lieferung."),
        ("보증 기간은 2년입니다.", "이 제품의 보증 기간은 2년입니다."),
        ("| Torque | 25 Nm |", "Torque: 25 Nm"),
    ],
)
def test_what_a_passage_says_is_supported(answer, passage):
    """The same words in the same language are support, whatever their order and inflection."""
    assert verdicts(answer, passage) == ["supported"]


@pytest.mark.parametrize(
    ("answer", "passage", "reason"),
    [
        (
            "Batteries are covered.",
            "Batteries are not covered.",
            "a passage says the opposite: one of the two is negated",
        ),
        (
            "Globex acquired Acme in 2015.",
            "Acme acquired Globex in 2015.",
            "a passage names the same things the other way round",
        ),
        (
            "Exports to Norway increased in 2020.",
            "Exports to Norway decreased in 2020.",
            "says “increased” where a passage says “decreased”",
        ),
        (
            "The pump was built in Gera by Globex.",
            "The pump was built in Gera by Acme.",
            "says “Globex” where a passage says “Acme”",
        ),
        ("Dogs sleep under tables.", "The lid opens upwards.", "not in the passages: Dogs, sleep, tables"),
        ("电池在保修范围内。", "盖子是蓝色的。", "no passage says this in these words"),
    ],
)
def test_the_reason_names_what_differs(answer, passage, reason):
    """A person who reads the verdict sees at once why."""
    found = judge(call(answer=answer, delivery=received(passage)))

    assert [claim.reason for claim in found.answer[0].claims] == [reason]


@pytest.mark.parametrize(
    ("answer", "passages"),
    [
        (
            "入职满一年的员工每年有5天带薪年假，须提前三个工作日申请。",
            (
                "员工入职满一年后，每年享有5天带薪年假；满十年后为10天。",
                "年假须提前三个工作日在系统中申请，由直属主管批准。",
            ),
        ),
        ("Das Tor öffnet um 6 Uhr.", ("Das Tor öffnet um 06:00 Uhr.", "Hunde sind erlaubt.")),
    ],
)
def test_a_number_from_another_sentence_is_no_contradiction(answer, passages):
    """A claim may join two passages, and an hour may be written in two ways."""
    assert verdicts(answer, *passages) == ["supported"]


def test_a_short_answer_is_held_against_the_place_its_question_is_about():
    """ "30 s" stands in the passages, but is no answer to how long the warranty is."""
    question = "How long is the warranty?"

    assert [verdicts(answer, question=question) for answer in ("24 months", "30 s", "a year", "The lid")] == [
        ["supported"],
        ["unsupported"],
        ["unsupported"],
        ["unsupported"],
    ]


def test_a_misplaced_answer_says_so():
    """The reason tells an answer from the wrong place from one that is made up."""
    found = judge(call(question="How long is the warranty?", answer="30 s", delivery=received(*PASSAGES)))

    assert found.answer[0].claims[0].reason == "stands in the passages, but not where they speak of what is asked"


@pytest.mark.parametrize("answer", ["Yes.", "Nein", "是的", "It is."])
def test_an_answer_without_words_to_go_by_is_undecided(answer):
    """Wording cannot tell whether "yes" is right."""
    assert verdicts(answer, "It is not so. 是 Ja nein"[:13], question="Are batteries covered?") == ["undecided"]


@pytest.mark.parametrize(
    ("answer", "passages"),
    [
        ("Гарантия — два года.", ("本产品保修期为两年。",)),
        ("保修期为两年。", PASSAGES),
        ("Die Garantie beträgt zwei Jahre ab Lieferung.", PASSAGES),
    ],
)
def test_an_answer_in_another_language_is_not_judged(answer, passages):
    """Words of two languages do not match, so the judge abstains and says why."""
    found = judge(call(answer=answer, delivery=received(*passages)))

    assert (found.abstained, [claim.verdict for claim in found.answer[0].claims]) == (
        "language_mismatch",
        ["undecided"],
    )


def test_names_and_mixed_passages_are_no_other_language():
    """A name has no language, and one passage in the answer's language is enough."""
    assert judge(call(answer="Acme", delivery=received("保修期为两年。"))).abstained is None
    assert judge(call(answer="保修期为两年。", delivery=received("保修期为两年。", *PASSAGES))).abstained is None


def test_a_foreign_reference_is_undecided():
    """Recall of a reference in another language is not known."""
    found = judge(
        call(answer="The lid is blue.", reference="Гарантия составляет два года.", delivery=received(*PASSAGES))
    )

    assert (found.abstained, [claim.verdict for claim in found.reference[0].claims]) == (None, ["undecided"])


def test_refusals_are_told():
    """ "I don't know" is no claim."""
    found = judge(call(answer="I don't know.", delivery=received(*PASSAGES)))

    assert (found.refused, found.answer[0].claims) == (True, ())


def test_a_passive_refusal_is_told():
    """ "isn't stated in the text" declines as "is not stated" does."""
    assert judge(call(answer="The answer isn't stated in the text.", delivery=received(*PASSAGES))).refused


def test_withheld_text_supports_reference_sentences_only():
    """What did not arrive is named as withheld evidence, and supports no answer."""
    text = "The warranty lasts 24 months."

    found = judge(call(answer=text, reference=f"{text} The pump restarts.", delivery=delivery(
        absent(PASSAGES[0]), whole(PASSAGES[1])
    )))  # fmt: skip

    claims = [claim for sentence in (*found.answer, *found.reference) for claim in sentence.claims]
    assert [(claim.verdict, claim.evidence, claim.withheld_evidence) for claim in claims] == [
        ("unsupported", (), ()),
        ("unsupported", (), (0,)),
        ("supported", (1,), ()),
    ]
    assert found.useful == (1,)


def test_a_cut_through_a_sentence_withholds_what_it_says():
    """Half a sentence arrived: the reference needs the half that did not."""
    found = judge(
        call(reference="The warranty lasts 24 months from delivery.", delivery=delivery(head(PASSAGES[0], 18)))
    )

    assert [(c.verdict, c.withheld_evidence) for c in found.reference[0].claims] == [("unsupported", (0,))]


def test_without_received_text_an_answer_has_no_claims():
    """Nothing received: no verdict on the answer, and a reference is supported by withheld text alone."""
    nothing = judge(call(answer="It is.", reference="It is.", delivery=Delivery()))
    lost = judge(call(answer="The lid is blue.", reference="The lid is blue.", delivery=delivery(absent(PASSAGES[0]))))

    assert [sentence.claims for sentence in (*nothing.answer, *nothing.reference, *lost.answer)] == [(), (), ()]
    assert [(c.verdict, c.reason, c.withheld_evidence) for c in lost.reference[0].claims] == [
        ("unsupported", "no passage was received", (0,))
    ]


def test_unknown_passages_are_not_judged():
    """Which passages there were is unknown: the judge abstains."""
    assert judge(call(delivery=None)).abstained == "contexts_unknown"


def test_the_judge_says_who_it_is():
    """Every verdict carries the judge's name and the hash of its weights, and costs no call."""
    one = make_judge(load_settings({}))
    found = judge(call(delivery=received(*PASSAGES)))
    asyncio.run(one.aclose())

    assert (found.judge.model, found.judge.fingerprint, found.judge.calls) == ("lexical-v1", one.fingerprint, 0)
    assert (one.model, one.is_calibrated) == ("lexical-v1", False)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(max_size=60), max_size=4), st.text(max_size=60), st.text(max_size=30))
def test_any_text_is_judged_the_same_way_twice(passages, answer, question):
    """Whatever stands in passages and answers, there are verdicts, the same each time, between 0 and 1."""
    one = call(question=question, answer=answer, reference=answer, delivery=received(*passages))

    found = judge(one)

    assert found == judge(one)
    assert all(0 <= (c.support or 0) <= 1 for s in (*found.answer, *found.reference) for c in s.claims)
