"""What may be asked beside the verdicts: the question's needs in the same reply, grades and questions in one more."""

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from ragtrace import metrics
from ragtrace.errors import JudgeUnavailable
from ragtrace.judge import make_judge
from ragtrace.judge.llm import LlmJudge
from ragtrace.judge.separation import measure_separation
from ragtrace.model import Grades, Need, Relevancy, Score, Verdicts
from ragtrace.scorer.doctor import examine
from ragtrace.settings import load_settings
from tests.build import call, received
from tests.judge.endpoint import Answer, Asked, Reply, ScriptedEndpoint, claim, fails, says, verdicts

KETTLE = call(
    question="How large is it, and who makes it?",
    answer="It holds one litre.",
    delivery=received("It holds one litre.", "It is red."),
)
NEEDS = [
    {"n": "N1", "need": "its capacity", "evidence": ["1"]},
    {"n": "N2", "need": "its maker", "evidence": []},
]
GRADES = {"correctness": 5, "completeness": 3, "relevance": 4.5, "overall": 4, "reason": "Leaves out the maker."}
QUESTIONS = ["How large is it?", "What does it hold?", "How many litres?"]


def judge_for(endpoint: ScriptedEndpoint, *names: str, **settings: object) -> LlmJudge:
    return LlmJudge(
        endpoint.settings(embedding_model="vectors", **settings),
        metrics=names,
        random=Random(3),
        first_pause_seconds=0.001,
    )


async def judged(judge: LlmJudge) -> Verdicts:
    try:
        return await judge.judge(KETTLE)
    finally:
        await judge.aclose()


def with_verdicts(asked: Asked, **more: object) -> Reply:
    return says(verdicts(asked, {"A1": [claim("supported", "1")]}, **more))


def review(**more: object) -> Answer:
    """Verdicts for the first request, this for the second, vectors for the third."""

    def answer(asked: Asked) -> Reply:
        if asked.path.endswith("/embeddings"):
            vectors = [[1.0, 0.0], [1.0, 0.0], [0.0, 2.0], [3.0, 4.0]]
            data = [{"index": n, "embedding": vector} for n, vector in enumerate(vectors)]
            return Reply(body=json.dumps({"data": data[::-1]}))
        is_review = "grades" in asked.items["END"] or "questions" in asked.items["END"]
        return says({"id": asked.code} | more) if is_review else with_verdicts(asked)

    return answer


@pytest.mark.parametrize("mode", ["lean", "default"])
async def test_sufficiency_comes_with_the_same_reply(endpoint: ScriptedEndpoint, mode: str):
    """The needs of the question and what passages meet them cost no further request."""

    def answer(asked: Asked) -> Reply:
        if mode == "lean":
            return says({"id": asked.code, "refused": False, "verdicts": ["A1 S1"], "needs": NEEDS})
        return with_verdicts(asked, needs=NEEDS)

    endpoint.answers(answer)

    found = await judged(judge_for(endpoint, "sufficiency", judge_mode=mode))

    assert found.needs == (
        Need(text="its capacity", met=True, evidence=(0,)),
        Need(text="its maker", met=False),
    )
    assert (len(endpoint.asked), endpoint.asked[0].items["END"]) == (1, "A1 N")
    (score, _) = metrics.compute(KETTLE, found, names=["sufficiency"])
    assert isinstance(score, Score)
    assert score.value == 0.5


@pytest.mark.parametrize(
    "needs",
    [None, [], "none", [{"n": "N2", "need": "its maker", "evidence": []}], [{"n": "N1", "need": ""}], ["N1"]],
)
async def test_needs_that_were_not_given_as_asked_are_asked_again_alone(endpoint: ScriptedEndpoint, needs: object):
    """Needs that are missing or not numbered from 1 are asked for once more, without the sentences."""
    endpoint.answers(
        lambda asked: with_verdicts(asked, needs=needs),
        lambda asked: says({"id": asked.code, "refused": False, "verdicts": [], "needs": NEEDS}),
    )

    found = await judged(judge_for(endpoint, "sufficiency"))

    assert ([asked.items["END"] for asked in endpoint.asked], len(found.needs or ())) == (["A1 N", "N"], 2)


async def test_without_sufficiency_no_needs_are_asked_for(endpoint: ScriptedEndpoint):
    """What no score needs is not asked, and not read."""
    endpoint.answers(lambda asked: with_verdicts(asked, needs=NEEDS))

    found = await judged(judge_for(endpoint))

    assert (found.needs, "needs" in endpoint.asked[0].system) == (None, False)


async def test_grades_cost_one_further_request(endpoint: ScriptedEndpoint):
    """Any grade brings all four, on the scale, with a line of reason."""
    endpoint.answers(review(grades=GRADES))

    found = await judged(judge_for(endpoint, "grade_overall"))

    assert found.grades == Grades(
        correctness=5.0, completeness=3.0, relevance=4.5, overall=4.0, reason="Leaves out the maker."
    )
    assert [asked.items["END"] for asked in endpoint.asked] == ["A1", "grades"]
    assert endpoint.asked[1].items["A"] == "It holds one litre."


@pytest.mark.parametrize(
    "grades",
    [
        None,
        "5",
        GRADES | {"overall": 97},
        GRADES | {"overall": -1},
        GRADES | {"overall": True},
        GRADES | {"overall": "5"},
        {"correctness": 5},
    ],
)
async def test_grades_off_the_scale_are_none(endpoint: ScriptedEndpoint, grades: object):
    """A grade that is missing or no number from 0 to 5 is asked for again, once; the verdicts stand."""
    endpoint.answers(review(grades=grades))

    found = await judged(judge_for(endpoint, "grade_overall"))

    assert (found.grades, len(endpoint.asked), found.answer[0].claims[0].verdict) == (None, 3, "supported")


@pytest.mark.parametrize(
    "reply", [says("Hm"), says(None, refusal="no"), fails(413)], ids=["prose", "refusal", "too long"]
)
async def test_a_review_that_fails_costs_no_verdicts(endpoint: ScriptedEndpoint, reply: Reply):
    """Whatever the second request brings, the verdicts of the first stand."""
    endpoint.answers(with_verdicts, reply)

    found = await judged(judge_for(endpoint, "grade_overall"))

    assert (found.grades, found.answer[0].claims[0].verdict) == (None, "supported")


async def test_relevancy_is_measured_by_questions_generated_back(endpoint: ScriptedEndpoint):
    """Questions come from the same further request, their nearness from one embedding request."""
    endpoint.answers(review(questions=[*QUESTIONS, "A fourth?"], noncommittal=False, grades=GRADES))

    found = await judged(judge_for(endpoint, "answer_relevancy", "grade_overall"))

    assert found.relevancy == Relevancy(questions=tuple(QUESTIONS), cosines=(1.0, 0.0, 0.6))
    assert [asked.path for asked in endpoint.asked] == ["/v1/chat/completions"] * 2 + ["/v1/embeddings"]
    assert endpoint.asked[2].body["input"] == [KETTLE.question, *QUESTIONS]
    assert endpoint.asked[1].items["END"] == "grades questions"


async def test_a_noncommittal_answer_needs_no_vectors(endpoint: ScriptedEndpoint):
    """An evasive answer is irrelevant by definition."""
    endpoint.answers(review(questions=[], noncommittal=True))

    found = await judged(judge_for(endpoint, "answer_relevancy"))

    assert (found.relevancy, len(endpoint.asked)) == (Relevancy(questions=(), cosines=(), noncommittal=True), 2)


@pytest.mark.parametrize(
    "more", [{"questions": []}, {"questions": QUESTIONS}, {"questions": [], "noncommittal": False}]
)
async def test_questions_that_are_missing_are_none(endpoint: ScriptedEndpoint, more: dict[str, object]):
    """Without questions or without a word on evasion there is no relevancy."""
    endpoint.answers(review(**more))

    assert (await judged(judge_for(endpoint, "answer_relevancy"))).relevancy is None


@pytest.mark.parametrize(
    "vectors",
    [fails(404, "no such model"), Reply(body='{"data": []}'), Reply(body='{"data": [{"embedding": "x"}]}')],
    ids=["no model", "no vectors", "no numbers"],
)
async def test_without_vectors_there_is_no_relevancy(endpoint: ScriptedEndpoint, vectors: Reply):
    """An endpoint without embeddings locks nobody out: the verdicts stand, and other calls go on."""
    questions = review(questions=QUESTIONS, noncommittal=False)
    endpoint.answers(lambda asked: vectors if asked.path.endswith("/embeddings") else questions(asked))
    judge = judge_for(endpoint, "answer_relevancy")

    if vectors.status == 404:
        for _ in range(4):
            found = await judged(judge)
            assert (found.relevancy, found.answer[0].claims[0].verdict) == (None, "supported")
    else:
        with pytest.raises(Exception, match="vectors for 4 texts"):
            await judged(judge)


async def test_without_an_embedding_model_no_questions_are_asked_for(endpoint: ScriptedEndpoint):
    """answer_relevancy without an embedding model costs nothing."""
    judge = LlmJudge(endpoint.settings(), metrics=["answer_relevancy"])

    await judged(judge)

    assert len(endpoint.asked) == 1


async def test_what_was_asked_beside_is_cached_too(endpoint: ScriptedEndpoint, tmp_path: Path):
    """Needs, grades and relevancy come from the cache with the verdicts."""
    answers = review(questions=QUESTIONS, noncommittal=False, grades=GRADES)
    endpoint.answers(
        lambda asked: (
            with_verdicts(asked, needs=NEEDS)
            if not asked.path.endswith("/embeddings") and "N" in asked.items["END"].split()
            else answers(asked)
        )
    )
    names = ("answer_relevancy", "grade_overall", "sufficiency")
    first = await judged(judge_for(endpoint, *names, state=tmp_path / "s.sqlite"))
    before = len(endpoint.asked)

    again = await judged(judge_for(endpoint, *names, state=tmp_path / "s.sqlite"))

    assert (again.judge.cached, len(endpoint.asked)) == (True, before)
    assert (again.needs, again.grades, again.relevancy) == (first.needs, first.grades, first.relevancy)


async def test_passages_that_do_not_fit_are_left_out_of_a_review(endpoint: ScriptedEndpoint):
    """Grades see as many whole passages as the window takes."""
    endpoint.answers(
        lambda asked: (
            review(grades=GRADES)(asked)
            if "grades" in asked.items["END"]
            else says(verdicts(asked, {"A1": [claim("supported", "1")]}))
        )
    )
    judge = judge_for(endpoint, "grade_overall", judge_context_tokens=6_000)
    long = call(answer="It is red.", delivery=received("It is red.", "Filler. " * 4_000))

    found = await judge.judge(long)
    await judge.aclose()

    assert found.grades is not None
    assert list(endpoint.asked[-1].items) == ["1", "Q", "A", "END"]


async def test_the_wanted_scores_reach_the_judge_that_the_settings_choose(endpoint: ScriptedEndpoint):
    """`make_judge` hands on which scores will be computed."""
    judge = make_judge(endpoint.settings(), metrics=["sufficiency"])

    assert judge.fingerprint != make_judge(endpoint.settings()).fingerprint


def _embeddings(unclear: Sequence[int] = ()) -> Answer:
    """Vectors by which a paraphrase is nearer than another question, except in the languages at these places."""

    def answer(asked: Asked) -> Reply:
        if not asked.path.endswith("/embeddings"):
            return with_verdicts(asked)
        data = []
        for place in range(len(asked.body["input"])):
            language, part = divmod(place, 3)
            vector = [1.0, 0.0] if part < 2 or language in unclear else [0.0, 1.0]
            data.append({"index": place, "embedding": vector})
        return Reply(body=json.dumps({"data": data}))

    return answer


async def test_paraphrases_are_nearer_than_other_questions(endpoint: ScriptedEndpoint):
    """One request embeds a question, a paraphrase and another question in each language."""
    endpoint.answers(_embeddings(unclear=[1]))
    judge = judge_for(endpoint)

    found = await measure_separation(judge)
    await judge.aclose()

    assert [(s.language, s.paraphrase, s.unrelated, s.is_clear) for s in found] == [
        ("en", 1.0, 0.0, True),
        ("zh", 1.0, 1.0, False),
        ("ja", 1.0, 0.0, True),
        ("ru", 1.0, 0.0, True),
        ("de", 1.0, 0.0, True),
    ]
    assert len(endpoint.asked) == 1


async def test_vectors_that_never_come(endpoint: ScriptedEndpoint):
    """An endpoint that hangs is given up at the deadline."""
    endpoint.answers(lambda asked: Reply(body="", hangs=True))
    judge = judge_for(endpoint, judge_deadline_seconds=0.1)

    with pytest.raises(JudgeUnavailable, match=r"no vectors within 0\.1 s"):
        await judge.embed(["a"])
    await judge.aclose()


@pytest.mark.parametrize(
    ("answer", "level", "text"),
    [
        (_embeddings(), "ok", "vectors tells paraphrases from other questions: en, zh, ja, ru, de"),
        (
            _embeddings(unclear=[1, 3]),
            "note",
            "vectors hardly tells a paraphrase from an unrelated question (zh 1.00 against 1.00, ru 1.00 against 1.00)"
            ": do not rely on answer_relevancy in these languages",
        ),
        (lambda asked: fails(404, "no such model"), "fail", "check RAGTRACE_EMBEDDING_MODEL"),
    ],
    ids=["clear", "unclear", "no model"],
)
async def test_the_doctor_looks_at_the_embedding_model(endpoint: ScriptedEndpoint, answer, level, text):
    """Where an embedding model is set, the doctor says whether its cosines mean something in each language."""
    endpoint.answers(answer)

    findings = {f.subject: f for f in await examine(lambda: endpoint.settings(embedding_model="vectors"))}

    assert findings["embedding"].level == level
    assert text in findings["embedding"].text


async def test_an_embedding_model_alone_is_not_used():
    """The embedded judge asks no questions back, so there is nothing to embed."""
    findings = {f.subject: f for f in await examine(lambda: load_settings({"RAGTRACE_EMBEDDING_MODEL": "vectors"}))}

    assert (findings["embedding"].level, findings["embedding"].text) == (
        "note",
        "vectors is not used: answer_relevancy needs RAGTRACE_JUDGE_MODEL, too",
    )
