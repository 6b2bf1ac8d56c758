"""What is too long for one reply or one window: halves, lists, parts, and an end to it."""

import json
import re
from collections.abc import Callable

import pytest

from ragtrace.errors import JudgeReplyInvalid
from ragtrace.judge.planning import TooLongError, fit_passages, make_plan
from ragtrace.model import Claim, RagCall
from tests.build import absent, call, delivery, received, whole
from tests.judge.conftest import Judges
from tests.judge.endpoint import Asked, Reply, ScriptedEndpoint, claim, fails, says, verdicts

CODE = re.compile(r"[A-Z]{2}-\d{4}")


def codes(*numbers: int) -> str:
    """A sentence a number, each with a code of its own."""
    return " ".join(f"The record AB-{number:04} is kept." for number in numbers)


def oracle(asked: Asked) -> Reply:
    """A sentence is supported by the passages that hold its code."""
    return says(verdicts(asked, {label: [_found(asked, asked.items[label])] for label in asked.labels}))


def _found(asked: Asked, sentence: str) -> dict[str, object]:
    (code,) = CODE.findall(sentence)
    evidence = [label for label, text in asked.items.items() if label[0] in "123456789W" and code in text]
    received = [label for label in evidence if label.isdigit()]
    return claim("supported" if received else "unsupported", *(received or evidence))


async def test_a_cut_off_reply_counts_its_complete_verdicts(endpoint: ScriptedEndpoint, judges: Judges):
    """What was written to its end counts; the rest is asked for in two halves, each with its own passages."""

    def answer(asked: Asked) -> Reply:
        reply = json.loads(oracle(asked).body)["choices"][0]["message"]["content"]
        if len(asked.labels) < 5:
            return says(reply)
        return says(reply[: reply.index('"A4"') - 8] + ', {"n": "A4", "claims": [{"claim": "", "evid', finish="length")

    endpoint.answers(answer)

    found = await judges().judge(call(answer=codes(1, 2, 3, 4, 5), delivery=received(codes(1, 3, 5))))

    assert [asked.labels for asked in endpoint.asked] == [["A1", "A2", "A3", "A4", "A5"], ["A4"], ["A5"]]
    assert [sentence.claims[0].verdict for sentence in found.answer] == ["supported", "unsupported"] * 2 + ["supported"]


async def test_an_entry_that_was_cut_is_not_completed(endpoint: ScriptedEndpoint, judges: Judges):
    """A cut that happens to end with a closing brace makes no entry of half an entry, whatever the finish reason."""

    def answer(asked: Asked) -> Reply:
        whole_reply = {"n": "A1", "claims": [claim("supported", "1", text="a"), claim("unsupported", text="b")]}
        text = json.dumps({"id": asked.code, "refused": False, "verdicts": [whole_reply]})
        return says(text[: text.index("}") + 1]) if len(endpoint.asked) == 1 else says(text)

    endpoint.answers(answer)

    found = await judges().judge(call(answer="It is a and b.", delivery=received("It is a.")))

    assert [claim.verdict for claim in found.answer[0].claims] == ["supported", "unsupported"]
    assert len(endpoint.asked) == 2


async def test_a_reply_that_never_fits_ends_undecided(endpoint: ScriptedEndpoint, judges: Judges):
    """Sentences whose verdicts do not even fit alone are undecided, the others stand."""

    def answer(asked: Asked) -> Reply:
        return says("Hm", finish="length") if "A2" in asked.labels else oracle(asked)

    endpoint.answers(answer)

    found = await judges().judge(call(answer=codes(1, 2, 3), delivery=received(codes(1, 2))))

    assert [sentence.claims[0].verdict for sentence in found.answer] == ["supported", "undecided", "unsupported"]


async def test_replies_that_never_end_are_bounded(endpoint: ScriptedEndpoint, judges: Judges):
    """A judge whose every reply is cut off costs a bounded number of requests."""
    endpoint.answers(says("Hm", finish="length"))

    with pytest.raises(JudgeReplyInvalid, match=r"no end after 48 requests|0 of"):
        await judges().judge(call(answer=codes(*range(60)), delivery=received("x")))

    assert len(endpoint.asked) == 48


async def test_a_reply_that_costs_more_than_is_sane_is_the_last(endpoint: ScriptedEndpoint, judges: Judges):
    """A call whose replies used up sixteen windows of tokens is asked about no further."""
    endpoint.answers(says("Hm", finish="length", usage=(1_000_000, 1_000_000)))

    with pytest.raises(JudgeReplyInvalid):
        await judges().judge(call(answer=codes(1, 2, 3), delivery=received("x")))

    assert len(endpoint.asked) == 1


async def test_200_sentences_are_asked_about_in_lists(endpoint: ScriptedEndpoint, judges: Judges):
    """An answer with more sentences than one reply can hold is asked about in lists, at once, none left out."""
    endpoint.answers(oracle)

    found = await judges().judge(call(answer=codes(*range(200)), delivery=received(codes(*range(0, 200, 2)))))

    assert [s.claims[0].verdict for s in found.answer] == ["supported", "unsupported"] * 100
    assert sorted(len(asked.labels) for asked in endpoint.asked) == [52, 74, 74]


async def test_a_failing_list_fails_the_call(endpoint: ScriptedEndpoint, judges: Judges):
    """Where one of several requests at once brings nothing, the call has no verdicts."""
    endpoint.answers(lambda asked: says("Hm") if "A80" in asked.labels else oracle(asked))

    with pytest.raises(JudgeReplyInvalid):
        await judges().judge(call(answer=codes(*range(200)), delivery=received("x")))


LONG = " ".join(f"Filler sentence number {n} says nothing at all." for n in range(1_500))
"""About 16,000 tokens."""


def windowed(tokens: int, message: str) -> Callable[[Asked], Reply]:
    """An endpoint whose window holds that many tokens, at 4 characters each."""

    def answer(asked: Asked) -> Reply:
        size = (len(asked.system) + len(asked.user)) // 4 + asked.body["max_completion_tokens"]
        return oracle(asked) if size <= tokens else fails(400, message, code="context_length_exceeded")

    return answer


@pytest.mark.parametrize(
    "message",
    ["This model's maximum context length is 16000 tokens. However, you asked for more.", "Too long."],
    ids=["named", "not named"],
)
async def test_passages_beyond_the_window_are_judged_in_parts(endpoint: ScriptedEndpoint, judges: Judges, message: str):
    """The window that the endpoint tells is kept to; a claim is supported if any part of the passages supports it."""
    endpoint.answers(windowed(16_000, message))
    passages = received(f"{LONG} {codes(1)}", f"{codes(2)} {LONG}", codes(1))
    judge = judges()

    found = await judge.judge(call(answer=codes(1, 2, 3), delivery=passages, reference=codes(2)))

    assert [sentence.claims for sentence in found.answer] == [
        (Claim(text=codes(1), verdict="supported", evidence=(0, 2)),),
        (Claim(text=codes(2), verdict="supported", evidence=(1,)),),
        (Claim(text=codes(3), verdict="unsupported"),),
    ]
    assert found.reference[0].claims == (Claim(text=codes(2), verdict="supported", evidence=(1,)),)
    assert found.useful == (0, 1, 2)
    refused = [asked for asked in endpoint.asked if windowed(16_000, "")(asked) != oracle(asked)]
    before = len(endpoint.asked)
    again = await judge.judge(call(question="Again?", answer=codes(1), delivery=passages))
    assert again.answer[0].claims[0].verdict == "supported"
    assert (len(refused) <= 3, [a for a in endpoint.asked[before:] if windowed(16_000, "")(a) != oracle(a)]) == (
        True,
        [],
    )


async def test_the_configured_window_is_kept_without_asking(endpoint: ScriptedEndpoint, judges: Judges):
    """With the window in the settings, no request is larger."""
    endpoint.answers(oracle)

    found = await judges(judge_context_tokens=12_000).judge(
        call(answer=codes(1, 2), delivery=received(f"{LONG} {codes(2)}", codes(1)))
    )

    assert [sentence.claims[0].verdict for sentence in found.answer] == ["supported", "supported"]
    assert max(len(asked.system) + len(asked.user) for asked in endpoint.asked) < 12_000 * 4


async def test_withheld_text_in_another_part_still_counts_for_the_reference_alone(
    endpoint: ScriptedEndpoint, judges: Judges
):
    """Parts that hold withheld text only are asked about the reference, and lift nothing else."""
    endpoint.answers(oracle)
    passages = delivery(whole(codes(1)), absent(f"{LONG} {codes(2)}", rank=1), absent(f"{LONG} {codes(3)}", rank=2))

    found = await judges(judge_context_tokens=12_000).judge(
        call(answer=codes(1, 2), delivery=passages, reference=codes(1, 2, 3))
    )

    assert [sentence.claims[0].verdict for sentence in found.answer] == ["supported", "unsupported"]
    assert [(s.claims[0].verdict, s.claims[0].withheld_evidence) for s in found.reference] == [
        ("supported", ()),
        ("unsupported", (1,)),
        ("unsupported", (2,)),
    ]
    assert {label[0] for asked in endpoint.asked[1:] if "1" not in asked.items for label in asked.labels} == {"R"}


async def test_parts_that_are_about_the_answer_only_need_received_text(endpoint: ScriptedEndpoint, judges: Judges):
    """Where the reference claims nothing, parts that hold withheld text only are not asked about."""
    endpoint.answers(oracle)
    passages = delivery(whole(codes(1)), absent(LONG, rank=1))

    await judges(judge_context_tokens=12_000).judge(call(answer=codes(1), delivery=passages, reference="Really?"))

    assert len(endpoint.asked) == 1


async def test_claims_are_settled_by_the_first_part(endpoint: ScriptedEndpoint, judges: Judges):
    """Further parts are asked about the first one's claims; one that a judge takes apart is as good as its worst part."""

    def answer(asked: Asked) -> Reply:
        if len(endpoint.asked) == 1:
            found: dict[str, list[object]] = {
                "A1": [claim("unsupported", text="It is red."), claim("contradicted", "1", text="It is big.")],
                "A2": [],
                "A3": [claim("unsupported")],
            }
            return says(verdicts(asked, found))
        apart: dict[str, list[object]] = {
            "A1": [claim("supported", "1", text="it"), claim("unsupported", text="is red")],
            "A2": [claim("supported", "1")],
        }
        return says(verdicts(asked, apart))

    endpoint.answers(answer)

    found = await judges(judge_context_tokens=12_000).judge(
        call(answer="It is red and big. So it goes. It is wet.", delivery=received("Small.", LONG))
    )

    assert [claim.text for claim in found.answer[0].claims] == ["It is red.", "It is big."]
    verdicts_found = [[claim.verdict for claim in sentence.claims] for sentence in found.answer]
    assert verdicts_found == [["unsupported", "supported"], [], ["undecided"]]
    assert list(endpoint.asked[1].items.values())[2:5] == ["It is red.", "It is big.", "It is wet."]


@pytest.mark.parametrize(
    "about",
    [
        call(answer="It is red.", question="Why? " * 40_000, delivery=received("It is red.")),
        call(answer="very " * 40_000 + "red.", delivery=received("It is red.")),
        call(answer="It is red.", delivery=received("It is red. " * 400_000)),
    ],
    ids=["question", "sentence", "passages"],
)
async def test_what_can_never_fit_is_too_long(endpoint: ScriptedEndpoint, judges: Judges, about: RagCall):
    """A question, a sentence or passages that no split makes fit are unscored for that reason."""
    found = await judges(judge_context_tokens=20_000).judge(about)

    assert (found.abstained, endpoint.asked) == ("too_long", [])


def test_a_passage_that_no_cut_makes_fit_is_too_long():
    """Pieces never get so short that they say nothing."""
    plan = make_plan(call(answer="It is red.", delivery=received("👍" * 5_000)))

    with pytest.raises(TooLongError):
        fit_passages(plan, 150)


def test_pieces_of_a_passage_overlap_and_lose_nothing():
    """A passage without blanks is cut anywhere; each piece begins before the last one's end."""
    text = "".join(chr(0x4E00 + n % 5_000) for n in range(6_000))
    plan = make_plan(call(answer="It is red.", delivery=received(text)))

    parts = [part.received[0].text for part in fit_passages(plan, 2_000)]

    rebuilt = parts[0]
    for piece in parts[1:]:
        assert rebuilt.endswith(piece[:200])
        rebuilt += piece[200:]
    assert (len(parts), rebuilt) == (5, text)


@pytest.mark.parametrize("passage", ["It is red.", LONG * 3], ids=["short", "long"])
async def test_an_endpoint_that_finds_everything_too_long_gives_too_long(
    endpoint: ScriptedEndpoint, judges: Judges, passage: str
):
    """Shrinking windows come to an end."""
    endpoint.answers(fails(413, "Request Entity Too Large"))

    found = await judges().judge(call(answer="It is red.", delivery=received(passage)))

    assert (found.abstained, len(endpoint.asked) <= 3) == ("too_long", True)
