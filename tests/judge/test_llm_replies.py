"""What the LLM judge makes of replies: only its own verdicts, each number once, every one a verdict that was on offer."""

import json
import logging
from collections.abc import Callable

import pytest

from ragtrace.errors import JudgeRefused, JudgeReplyInvalid
from ragtrace.model import Claim, ClaimVerdict, RagCall
from tests.build import call, received
from tests.judge.conftest import Judges
from tests.judge.endpoint import Asked, Reply, ScriptedEndpoint, claim, says, verdicts

SEAT = call(
    question="What about the seat?",
    answer="The seat folds flat. The seat is heated.",
    delivery=received("The rear seat folds flat in two steps."),
)
RIGHT: list[ClaimVerdict] = ["supported", "unsupported"]


def own(asked: Asked) -> dict[str, object]:
    """The right verdicts on SEAT."""
    return verdicts(asked, {"A1": [claim("supported", "1")], "A2": [claim("unsupported", reason="Not said.")]})


def text(asked: Asked) -> str:
    return json.dumps(own(asked))


def wrong(asked: Asked, **more: object) -> str:
    """Verdicts that nobody may take for the judge's."""
    return json.dumps(verdicts(asked, {"A1": [claim("unsupported")], "A2": [claim("supported", "1")]}) | more)


async def judged(judges: Judges, about: RagCall, **settings: object) -> list[ClaimVerdict]:
    found = await judges(**settings).judge(about)
    return [claim.verdict for sentence in found.answer for claim in sentence.claims]


SURROUNDED: dict[str, Callable[[Asked], str]] = {
    "bare": text,
    "fence": lambda asked: f"```json\n{text(asked)}\n```",
    "prose": lambda asked: f"Sure! {{here}} it is:\n\n```json\n{text(asked)}\n```\nLet me know if you need {{more}}.",
    "thought": lambda asked: f"<think>\nMaybe {wrong(asked)}? No.\n</think>\n\n{text(asked)}",
    "thought's end only": lambda asked: f"Maybe {wrong(asked)}? No.\n</think>\n{text(asked)}",
    "thoughts in two": lambda asked: f"<think>{wrong(asked)}</think>Hm.<THINK>{wrong(asked)}</THINK>{text(asked)}",
    "thought of a tag": lambda asked: f"<think>the passage says </think> {wrong(asked)} </think>{text(asked)}",
    "kimi's thought": lambda asked: f"◁think▷{wrong(asked)}◁/think▷{text(asked)}",
    "magistral's thought": lambda asked: f"[THINK]{wrong(asked)}[/THINK]{text(asked)}",
    "channels": lambda asked: f"<|channel|>analysis {wrong(asked)}<|channel|>final<|message|>{text(asked)}",
    "unfinished thought after it": lambda asked: f"{text(asked)}\n<think>But then {wrong(asked)}",
    "quoted verdict": lambda asked: f"It ends with {wrong(asked, id='x')}. My own:\n{text(asked)}",
    "quoted verdict without id": lambda asked: (
        'The answer says {"verdicts": [{"n": "A1", "claims": []}]}.\n' + text(asked)
    ),
    "the prompt's example": lambda asked: wrong(asked, id="tuba") + text(asked),
    "said twice alike": lambda asked: f"{text(asked)}\nAgain: {text(asked)}",
    "id in capitals": lambda asked: text(asked).replace(asked.code, asked.code.upper()),
    "tag in a string": lambda asked: text(asked).replace("Not said.", "it prints </think> and <think> as examples"),
    "backticks in a string": lambda asked: text(asked).replace("Not said.", "it prints ```json {} ```"),
    "line break in a string": lambda asked: text(asked).replace("Not said.", "not\nsaid"),
    "single quotes": lambda asked: text(asked).replace('"', "'"),
    "trailing commas": lambda asked: text(asked).replace("}", ",}"),
    "python words": lambda asked: text(asked).replace("false", "False"),
    "comment": lambda asked: text(asked).replace('"verdicts"', '// the verdicts\n"verdicts"'),
    "no closing brace": lambda asked: text(asked)[:-1],
    "no closing brackets": lambda asked: text(asked)[:-2],
    "braces before it": lambda asked: "{" * 50 + text(asked),
}


@pytest.mark.parametrize("surrounded", SURROUNDED.values(), ids=SURROUNDED)
async def test_a_reply_is_found_in_what_stands_around_it(
    endpoint: ScriptedEndpoint, judges: Judges, surrounded: Callable[[Asked], str]
):
    """Fences, prose, thoughts, quotes and slips of JSON cost no second request and change no verdict."""
    endpoint.answers(lambda asked: says(surrounded(asked)))

    assert (await judged(judges, SEAT), len(endpoint.asked)) == (RIGHT, 1)


NOT_TRUSTED: dict[str, Callable[[Asked], Reply]] = {
    "quote only": lambda asked: says(wrong(asked, id="x")),
    "no id": lambda asked: says({"verdicts": own(asked)["verdicts"]}),
    "two that differ": lambda asked: says(text(asked) + wrong(asked)),
    "draft in an unfinished thought": lambda asked: says(f"<think>Maybe {wrong(asked)}?"),
    "other schema": lambda asked: says({"foo": 1}),
    "verdicts no list": lambda asked: says({"id": asked.code, "verdicts": {"A1": "supported"}}),
    "empty": lambda asked: says(""),
    "null": lambda asked: says(None),
    "prose": lambda asked: says("I'm sorry, but I can't judge this."),
    "nothing but braces": lambda asked: says("{" * 3_000),
    "deeply nested": lambda asked: says('{"a":' * 3_000),
    "list": lambda asked: says([own(asked) | {"id": "x"}]),
    "other labels": lambda asked: says(verdicts(asked, {"A7": [claim("supported", "1")]})),
    "no verdicts": lambda asked: says(verdicts(asked, {})),
    "two cut off": lambda asked: says(text(asked)[:-2] + wrong(asked)[:-2]),
    "cut off before the verdicts": lambda asked: says(f'{{"id": "{asked.code}", "refused": false, "ver'),
    "cut off at the verdicts": lambda asked: says(f'{{"id": "{asked.code}", "refused": false, "verdicts"'),
}


@pytest.mark.parametrize("reply", NOT_TRUSTED.values(), ids=NOT_TRUSTED)
async def test_a_reply_that_is_not_its_own_is_asked_again_once(
    endpoint: ScriptedEndpoint, judges: Judges, reply: Callable[[Asked], Reply]
):
    """What may be a quote, a draft or another's verdict is never taken; asked twice in vain, the call has none."""
    endpoint.answers(reply)

    with pytest.raises(JudgeReplyInvalid):
        await judges().judge(SEAT)

    assert len(endpoint.asked) == 2


async def test_a_second_reply_mends_the_first(endpoint: ScriptedEndpoint, judges: Judges):
    """A reply that held nothing is asked for again, with another code, and that one counts."""
    endpoint.answers(says("Hm."), lambda asked: says(own(asked)))

    assert await judged(judges, SEAT) == RIGHT
    assert endpoint.asked[0].code != endpoint.asked[1].code


WORDS: dict[object, ClaimVerdict | None] = {
    "Yes.": "supported",
    " yes\n": "supported",
    "YES": "supported",
    "yes - see passage 2": "supported",
    "Supported": "supported",
    True: "supported",
    "1": "supported",
    "支持": "supported",
    "да": "supported",
    "はい。": "supported",
    "ja": "supported",
    "nein": "unsupported",
    "いいえ": "unsupported",
    "neutral": "unsupported",
    "No": "unsupported",
    "no.": "unsupported",
    "No, the passage never says yes.": "unsupported",
    "not supported": "unsupported",
    "not_supported": "unsupported",
    False: "unsupported",
    "0": "unsupported",
    "不支持": "unsupported",
    "CONTRADICTED!": "contradicted",
    "矛盾": "contradicted",
    "partially": None,
    "partially supported": None,
    "supported, but only in part": None,
    "yes or no": None,
    "": None,
    "…": None,
    "unknown": None,
    "not contradicted": None,
    97: None,
    0.5: None,
    None: None,
}


@pytest.mark.parametrize(("word", "verdict"), WORDS.items(), ids=[repr(word) for word in WORDS])
async def test_a_verdict_is_one_of_those_on_offer(
    endpoint: ScriptedEndpoint, judges: Judges, word: object, verdict: ClaimVerdict | None
):
    """A word with punctuation or a remark is read as what it says; any other is asked for again, then undecided."""
    endpoint.answers(
        lambda asked: says(verdicts(asked, {label: [claim(word, "1")] for label in asked.labels})),
        lambda asked: says(verdicts(asked, {"A1": [claim(word, "1")], "A2": [claim("unsupported")]})),
    )

    if verdict is None:
        assert await judged(judges, SEAT) == ["undecided", "unsupported"]
    else:
        assert (await judged(judges, SEAT), len(endpoint.asked)) == ([verdict, verdict], 1)


BAD_ENTRIES: dict[str, list[object]] = {
    "missing": [],
    "twice": [{"n": "A2", "claims": [claim("supported", "1")]}, {"n": "A2", "claims": [claim("unsupported")]}],
    "twice alike": [{"n": "A2", "claims": [claim("supported", "1")]}] * 2,
    "out of range": [{"n": "A9", "claims": [claim("supported", "1")]}],
    "no claims": [{"n": "A2"}],
    "claims no list": [{"n": "A2", "claims": "supported"}],
    "claim no object": [{"n": "A2", "claims": ["supported"]}],
    "too many claims": [{"n": "A2", "claims": [claim("supported", "1", text=f"c{n}") for n in range(51)]}],
    "two claims without text": [{"n": "A2", "claims": [claim("supported", "1"), claim("unsupported")]}],
    "support without a passage": [{"n": "A2", "claims": [claim("supported")]}],
    "support by a passage that was not shown": [
        {"n": "A2", "claims": [claim("supported", "97", "0", True, None, "x")]}
    ],
    "contradiction without a passage": [{"n": "A2", "claims": [claim("contradicted")]}],
    "no object": ["A2", None, 3],
    "support by a passage of a negative number": [{"n": "A2", "claims": [claim("supported", -1)]}],
}


@pytest.mark.parametrize("entries", BAD_ENTRIES.values(), ids=BAD_ENTRIES)
async def test_only_what_was_not_answered_as_asked_is_asked_again(
    endpoint: ScriptedEndpoint, judges: Judges, entries: list[object]
):
    """A number that is missing, repeated, out of range or without ground is asked again alone, once, then undecided."""
    first: dict[str, object] = {"n": "A1", "claims": [claim("supported", "1")]}
    endpoint.answers(
        lambda asked: says({"id": asked.code, "refused": False, "verdicts": [first, *entries]}),
        lambda asked: says({"id": asked.code, "refused": False, "verdicts": entries}),
    )

    assert await judged(judges, SEAT) == ["supported", "undecided"]
    assert [asked.labels for asked in endpoint.asked] == [["A1", "A2"], ["A2"]]


@pytest.mark.parametrize(
    "evidence", [["1"], [1], "1", 1, ["[1]"], ["passage 1"], ["P1"], ["01"], "1, 1", [1.0], "1-1", "P1–P1"]
)
async def test_evidence_is_read_however_it_is_written(endpoint: ScriptedEndpoint, judges: Judges, evidence: object):
    """Passage numbers may come as texts, numbers, one text, or with a word around them."""
    found = {"claim": "", "evidence": evidence, "verdict": "supported", "reason": ""}
    endpoint.answers(lambda asked: says(verdicts(asked, {label: [found] for label in asked.labels})))

    verdict = await judges().judge(SEAT)

    assert [s.claims for s in verdict.answer] == [
        (Claim(text=s.sentence.text, verdict="supported", evidence=(0,)),) for s in verdict.answer
    ]


@pytest.mark.parametrize(
    "written",
    [
        lambda one: {"A1": [one], "A2": [one]},
        lambda one: {"A1": one, "A2": one},
        lambda one: [{"n": "A1", "claims": one}, {"n": "A2", "claims": one}],
        lambda one: [{"n": "A1", **one}, {"n": "A2", **one}],
    ],
    ids=["by label", "by label, without lists", "without lists", "flat"],
)
async def test_verdicts_are_read_however_they_are_arranged(
    endpoint: ScriptedEndpoint, judges: Judges, written: Callable[[dict[str, object]], object]
):
    """One claim a sentence may stand without its list, and sentences by their labels."""
    one = claim("supported", "1")
    endpoint.answers(lambda asked: says({"id": asked.code, "refused": False, "verdicts": written(one)}))

    assert (await judged(judges, SEAT), len(endpoint.asked)) == (["supported", "supported"], 1)


async def test_a_sentence_of_several_claims_has_a_verdict_each(endpoint: ScriptedEndpoint, judges: Judges):
    """Claims of one sentence keep their own text, verdict, evidence and reason."""
    claims = [
        claim("supported", "1", text="The seat folds."),
        claim("contradicted", "1", text="It folds in three steps.", reason="Passage 1 says\n two."),
    ]
    endpoint.answers(lambda asked: says(verdicts(asked, {"A1": claims, "A2": []})))

    found = await judges().judge(SEAT)

    assert [sentence.claims for sentence in found.answer] == [
        (
            Claim(text="The seat folds.", verdict="supported", evidence=(0,)),
            Claim(text="It folds in three steps.", verdict="contradicted", evidence=(0,), reason="Passage 1 says two."),
        ),
        (),
    ]


LETTERS: dict[str, list[tuple[ClaimVerdict, tuple[int, ...]]] | None] = {
    "S1": [("supported", (0,))],
    "S1,2 U": [("supported", (0, 1)), ("unsupported", ())],
    "S1+2;C2": [("supported", (0, 1)), ("contradicted", (1,))],
    "s 1 u": [("supported", (0,)), ("unsupported", ())],
    ": S1": [("supported", (0,))],
    "U": [("unsupported", ())],
    "N": [],
    "": None,
    "S": None,
    "S7": None,
    "X1": None,
    "S1 N": None,
    "S1 perhaps?": None,
    "supported": None,
    "supported 1": [("supported", (0,))],
    "S[1,2] (U)": [("supported", (0, 1)), ("unsupported", ())],
    "Ｓ１": [("supported", (0,))],
}


@pytest.mark.parametrize(("letters", "found"), LETTERS.items(), ids=[repr(letters) for letters in LETTERS])
async def test_lean_replies_are_letters(
    endpoint: ScriptedEndpoint,
    judges: Judges,
    letters: str,
    found: list[tuple[ClaimVerdict, tuple[int, ...]]] | None,
):
    """In `lean` mode a sentence's verdicts are a string of letters with passage numbers; anything else is none."""
    about = call(answer="It holds 40 l. It is red.", delivery=received("It holds 40 l.", "It is blue."))
    endpoint.answers(lambda asked: says({"id": asked.code, "refused": False, "verdicts": ["A1 S1", f"A2 {letters}"]}))

    result = await judges(judge_mode="lean").judge(about)

    expected = [("undecided", ())] if found is None else found
    assert [(claim.verdict, claim.evidence) for claim in result.answer[1].claims] == expected
    assert len(endpoint.asked) == (1 if found is not None else 2)


@pytest.mark.parametrize("entry", [["A1"], {"n": "A1"}, 7, "Z1 S1", "nothing"])
async def test_lean_entries_that_are_no_strings_are_missing(endpoint: ScriptedEndpoint, judges: Judges, entry: object):
    """An entry that is not a label and letters answers nothing."""
    endpoint.answers(
        lambda asked: says({"id": asked.code, "refused": False, "verdicts": ["A2 U", entry]}),
        lambda asked: says({"id": asked.code, "refused": False, "verdicts": ["A1 S1"]}),
    )

    assert await judged(judges, SEAT, judge_mode="lean") == ["supported", "unsupported"]


DECLINING: dict[str, Reply] = {
    "refusal": says(None, refusal="I can't help with that."),
    "content filter": says("Some", finish="content_filter"),
}


@pytest.mark.parametrize("reply", DECLINING.values(), ids=DECLINING)
async def test_a_declined_request_is_no_verdict(endpoint: ScriptedEndpoint, judges: Judges, reply: Reply):
    """A model that declines, or whose filter does, gives no verdicts and is not asked again."""
    endpoint.answers(reply)

    with pytest.raises(JudgeRefused):
        await judges().judge(SEAT)

    assert len(endpoint.asked) == 1


async def test_the_first_choice_that_says_something_counts(endpoint: ScriptedEndpoint, judges: Judges):
    """Endpoints may send several choices, and text in parts with thoughts among them."""

    def answer(asked: Asked) -> Reply:
        parts = [{"type": "thinking", "text": wrong(asked)}, {"type": "text", "text": text(asked)}]
        choices = [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": None}},
            {"index": 1, "finish_reason": "stop", "message": {"role": "assistant", "content": parts}},
            "no choice",
        ]
        return Reply(body=json.dumps({"choices": choices}))

    endpoint.answers(answer)

    assert await judged(judges, SEAT) == RIGHT


@pytest.mark.parametrize(
    ("flag", "first", "refused"),
    [
        (True, "unsupported", True),
        (True, "supported", False),
        (True, "contradicted", False),
        (False, "supported", False),
    ],
)
async def test_a_judge_cannot_be_talked_into_a_refusal(
    endpoint: ScriptedEndpoint, judges: Judges, flag: bool, first: str, refused: bool
):
    """An answer that states what passages speak of is no refusal, whatever the judge was told to say."""
    endpoint.answers(
        lambda asked: says(verdicts(asked, {"A1": [claim(first, "1")], "A2": [claim("unsupported")]}, refused=flag))
    )

    assert (await judges().judge(SEAT)).refused is refused


async def test_an_answer_that_declines_is_a_refusal_without_the_judge(endpoint: ScriptedEndpoint, judges: Judges):
    """ "I don't know" is recognised before any judge is asked."""
    found = await judges().judge(call(answer="I don't know.", delivery=received("It is red.")))

    assert (found.refused, found.judge.calls, endpoint.asked) == (True, 0, [])


async def test_a_cut_off_thought_is_asked_for_in_halves(
    endpoint: ScriptedEndpoint, judges: Judges, caplog: pytest.LogCaptureFixture
):
    """A judge that thinks until its tokens are used up is asked about half as much at a time."""

    def answer(asked: Asked) -> Reply:
        if len(asked.labels) > 1:
            return says(None, finish="length", reasoning_content="Let me see …")
        return says(verdicts(asked, {asked.labels[0]: [claim("supported", "1")]}))

    endpoint.answers(answer)

    with caplog.at_level(logging.WARNING):
        assert await judged(judges, SEAT) == ["supported", "supported"]
    assert [asked.labels for asked in endpoint.asked] == [["A1", "A2"], ["A1"], ["A2"]]


@pytest.mark.parametrize(
    "written",
    [
        '{"A1": CLAIM, "A2": CLAIM, "A2": NONE}',
        '[{"n": "A1", "claims": [CLAIM]}, {"n": "A2", "claims": [CLAIM], "claims": [NONE]}]',
    ],
    ids=["a label", "a field"],
)
async def test_what_is_said_twice_and_differs_is_asked_again(endpoint: ScriptedEndpoint, judges: Judges, written: str):
    """JSON may hold a key twice; the last of two verdicts is no more the judge's than the first."""

    def twice(asked: Asked) -> Reply:
        texts = {"CLAIM": json.dumps(claim("supported", "1")), "NONE": json.dumps(claim("unsupported"))}
        entries = written.replace("CLAIM", texts["CLAIM"]).replace("NONE", texts["NONE"])
        return says(f'{{"id": "{asked.code}", "refused": false, "verdicts": {entries}}}')

    endpoint.answers(twice, lambda asked: says(verdicts(asked, {"A2": [claim("unsupported")]})))

    assert await judged(judges, SEAT) == ["supported", "unsupported"]
    assert [asked.labels for asked in endpoint.asked] == [["A1", "A2"], ["A2"]]
