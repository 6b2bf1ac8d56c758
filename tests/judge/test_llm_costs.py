"""What is not judged twice, what judging costs, and when it stops."""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragtrace.errors import JudgeOverBudget
from ragtrace.judge.batch import judge_calls
from ragtrace.judge.budget import Bounds, Budget, Usage, costs
from ragtrace.judge.state import JudgeState
from ragtrace.model import Claim, JudgeInfo, RagCall, Unscored, Verdicts
from ragtrace.settings import Price
from tests.build import absent, call, delivery, received, whole
from tests.judge.conftest import Judges
from tests.judge.endpoint import Asked, Reply, ScriptedEndpoint, claim, fails, says, verdicts


def about(number: int = 0) -> RagCall:
    return call(question=f"Which {number}?", answer="It is red.", delivery=received("It is red."))


async def test_nothing_is_judged_twice(endpoint: ScriptedEndpoint, judges: Judges, tmp_path: Path):
    """The same content costs one request, also for the next process, and says that it came from the cache."""
    state = tmp_path / "deep" / "state.sqlite"
    first = judges(state=state)
    found = await first.judge(about())
    again = await first.judge(about())
    await first.aclose()
    later = await judges(state=state).judge(about())

    cached = JudgeInfo(fingerprint=first.fingerprint, model="scripted", cached=True, parameters=again.judge.parameters)
    assert (again.judge, later.judge, len(endpoint.asked)) == (cached, cached, 1)
    assert found.answer == again.answer == later.answer


async def test_cached_evidence_follows_the_passages(endpoint: ScriptedEndpoint, judges: Judges, tmp_path: Path):
    """The same texts at other places of the retrieved list are the same content, with the other indexes."""
    endpoint.answers(
        lambda asked: says(
            verdicts(asked, {"A1": [claim("supported", "2")], "R1": [claim("unsupported", "W1", reason="Left out.")]})
        )
    )
    judge = judges(state=tmp_path / "s.sqlite")
    texts = (whole("Small."), whole("Red.", rank=1), absent("Kept cold.", rank=2))

    await judge.judge(call(answer="It is red.", delivery=delivery(*texts), reference="It is kept cold."))
    moved = delivery(texts[2], texts[1], texts[0], order=(2, 1))
    found = await judge.judge(call(answer="It is red.", delivery=moved, reference="It is kept cold."))

    assert (found.judge.cached, found.useful) == (True, (1,))
    assert (found.answer[0].claims, found.reference[0].claims) == (
        (Claim(text="It is red.", verdict="supported", evidence=(1,)),),
        (Claim(text="It is kept cold.", verdict="unsupported", withheld_evidence=(0,), reason="Left out."),),
    )


@pytest.mark.parametrize(
    "other",
    [
        call(question="Which?", answer="It is red.", delivery=received("It is red.")),
        call(answer="It is red!", delivery=received("It is red.")),
        call(answer="It is red.", delivery=received("It is", "red.")),
        call(answer="It is red.", delivery=received("It is red."), reference="It is red."),
    ],
)
async def test_other_content_is_judged_anew(endpoint: ScriptedEndpoint, judges: Judges, tmp_path: Path, other: RagCall):
    """Question, answer, passages and reference all belong to the content."""
    judge = judges(state=tmp_path / "s.sqlite")
    await judge.judge(call(answer="It is red.", delivery=received("It is red.")))

    await judge.judge(other)

    assert len(endpoint.asked) == 2


async def test_undecided_verdicts_are_not_kept(endpoint: ScriptedEndpoint, judges: Judges, tmp_path: Path):
    """What the judge left open is asked anew the next time."""

    def answer(asked: Asked) -> Reply:
        return says(verdicts(asked, {"A1": [claim("supported", "1")]}))

    endpoint.answers(answer)
    judge = judges(state=tmp_path / "s.sqlite")
    open_call = call(answer="It is red. It is big.", delivery=received("It is red."))

    first, second = await judge.judge(open_call), await judge.judge(open_call)

    assert (first.answer[1].claims[0].verdict, second.judge.cached, len(endpoint.asked)) == ("undecided", False, 4)


async def test_a_file_that_cannot_be_used_stops_nothing(
    endpoint: ScriptedEndpoint, judges: Judges, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    """Without a readable state file judging goes on, and says so once."""
    broken = tmp_path / "s.sqlite"
    broken.write_text("This is no database, whatever its name says. " * 40)
    judge = judges(state=broken)

    await judge.judge(about(1))
    await judge.judge(about(2))

    assert [record.name for record in caplog.records] == ["ragtrace.judge.state"]


def test_a_locked_file_is_tried_again(tmp_path: Path):
    """Another process that writes just now costs one look-up, not the cache."""
    path = tmp_path / "s.sqlite"
    state = JudgeState(path)
    state.put("k", {"a": 1}, 1.0)
    state.write()
    with sqlite3.connect(path) as other:
        other.execute("BEGIN EXCLUSIVE")
        state.spend("m", 1, prompt=1, completion=1, now=0.0)
        other.rollback()
    other.close()

    assert (state.get("k"), state.spent(0.0)) == ({"a": 1}, 0)
    state.close()


def test_the_cache_keeps_the_newest(tmp_path: Path):
    """Of too many entries the oldest go."""
    state = JudgeState(tmp_path / "s.sqlite", most_entries=20)
    for number in range(64 * 16):
        state.put(f"k{number}", number, float(number))

    kept = [number for number in range(64 * 16) if state.get(f"k{number}") is not None]

    assert kept == list(range(64 * 16 - 20, 64 * 16))
    state.close()
    state.close()


async def test_tokens_and_money_are_counted_by_model(endpoint: ScriptedEndpoint, judges: Judges):
    """Each call says what it cost at the prices of the settings; the judge knows the sum, failures included."""
    endpoint.answers(
        lambda asked: says("Hm", usage=(1_000, 200)),
        lambda asked: says(verdicts(asked, {"A1": [claim("supported", "1")]}), usage=(1_000, 100)),
    )
    judge = judges(prices={"scripted": {"prompt": 2.0, "completion": 10.0}})

    info = (await judge.judge(about())).judge

    assert (info.calls, info.prompt_tokens, info.completion_tokens, info.cost) == (2, 2_000, 300, pytest.approx(0.007))
    assert judge.usage == {"scripted": Usage(calls=2, prompt_tokens=2_000, completion_tokens=300)}
    assert costs(judge.usage, {"scripted": Price(prompt=2.0, completion=10.0)}) == pytest.approx(0.007)
    assert costs(judge.usage, {}) is None


async def test_a_spent_budget_stops_the_run_cleanly(endpoint: ScriptedEndpoint, judges: Judges):
    """When the run's tokens are spent, every further call is `over_budget` and nothing is asked."""
    endpoint.answers(lambda asked: says(verdicts(asked, {"A1": [claim("supported", "1")]}), usage=(2_000, 1_000)))
    judge = judges(judge_tokens_per_run=10_000)

    found = [outcome async for _, outcome in judge_calls(judge, map(about, range(10)), 1)]

    kinds = [outcome.reason if isinstance(outcome, Unscored) else "judged" for outcome in found]
    assert kinds == ["judged"] * 3 + ["over_budget"] * 7
    last = found[-1]
    assert isinstance(last, Unscored)
    assert last.detail is not None
    assert last.detail.startswith("RAGTRACE_JUDGE_TOKENS_PER_RUN=10000: 9000 tokens are spent or in flight")
    assert len(endpoint.asked) == 3


async def test_the_hours_budget_counts_other_processes(endpoint: ScriptedEndpoint, judges: Judges, tmp_path: Path):
    """Judges that share a state file share the hour's tokens."""
    endpoint.answers(lambda asked: says(verdicts(asked, {"A1": [claim("supported", "1")]}), usage=(8_000, 500)))
    state = tmp_path / "s.sqlite"
    await judges(judge_tokens_per_hour=10_000, state=state).judge(about(1))

    with pytest.raises(JudgeOverBudget, match="RAGTRACE_JUDGE_TOKENS_PER_HOUR=10000: 8500 tokens"):
        await judges(judge_tokens_per_hour=10_000, state=state).judge(about(2))


def test_an_hour_ends():
    """In the next clock hour the budget is whole again, with or without a state file."""
    now = 3_600.0
    budget = Budget(Bounds(per_run=None, per_hour=1_000), JudgeState(Path("/dev/null/s")), lambda: now)
    budget.reserve(600)
    budget.release(600)
    budget.spend("m", Usage(calls=1, prompt_tokens=600))
    budget.spend("m", Usage(calls=1, prompt_tokens=100))
    with pytest.raises(JudgeOverBudget):
        budget.reserve(600)

    now = 7_200.0

    budget.reserve(600)
    assert budget.by_model == {"m": Usage(calls=2, prompt_tokens=700)}


def test_what_is_in_flight_counts_as_spent():
    """Many calls at once do not overshoot the budget."""
    budget = Budget(Bounds(per_run=1_000, per_hour=None), JudgeState(Path("/dev/null/s")))
    budget.reserve(600)

    with pytest.raises(JudgeOverBudget):
        budget.reserve(600)
    budget.release(600)
    budget.reserve(600)


async def test_a_failed_call_still_counts(endpoint: ScriptedEndpoint, judges: Judges):
    """Tokens of replies that held nothing are spent all the same; a call without a reply costs none."""
    endpoint.answers(says("Hm", usage=(500, 50)), says("Hm", usage=(500, 50)), fails(401))
    judge = judges(judge_tokens_per_hour=100_000)

    found = [outcome async for _, outcome in judge_calls(judge, map(about, range(2)), 1)]

    assert [outcome.reason for outcome in found if isinstance(outcome, Unscored)] == [
        "judge_reply_invalid",
        "judge_unavailable",
    ]
    assert judge.usage == {"scripted": Usage(calls=2, prompt_tokens=1_000, completion_tokens=100)}


class FailingJudge:
    """A judge with a bug, and one call that it can judge."""

    fingerprint = "f"
    model = "failing"
    is_calibrated = False

    async def judge(self, call: RagCall) -> Verdicts:
        if call.question != "Which 1?":
            raise ZeroDivisionError(call.question)
        return Verdicts(judge=JudgeInfo(fingerprint="f", model="failing"))

    async def aclose(self) -> None:
        return


async def test_a_bug_met_on_one_call_loses_no_other():
    """Nothing raises out of a batch; the call is unscored and says what happened."""
    found = {c.question: outcome async for c, outcome in judge_calls(FailingJudge(), map(about, range(3)), 2)}

    failed = found["Which 0?"]
    assert isinstance(failed, Unscored)
    assert (failed.reason, failed.detail) == ("judge_reply_invalid", "ZeroDivisionError: Which 0?")
    assert isinstance(found["Which 1?"], Verdicts)


async def test_calls_that_cannot_be_drawn_are_the_callers_error():
    """An error of the iterable that gives the calls reaches the caller, after what was judged."""

    def calls() -> Iterator[RagCall]:
        yield about(1)
        raise LookupError("no more")

    outcomes = judge_calls(FailingJudge(), calls(), 2)
    assert isinstance((await anext(outcomes))[1], Verdicts)

    with pytest.raises(LookupError):
        await anext(outcomes)


async def test_a_batch_may_be_left_early(endpoint: ScriptedEndpoint, judges: Judges):
    """Closing the generator cancels what is in flight, and draws no further calls."""
    drawn: list[int] = []

    def calls() -> Iterator[RagCall]:
        for number in range(100):
            drawn.append(number)
            yield about(number)

    outcomes = judge_calls(judges(), calls(), 4)
    await anext(outcomes)
    await outcomes.aclose()

    assert len(drawn) < 20


async def test_findings_are_stored_as_they_are_written(endpoint: ScriptedEndpoint, judges: Judges, tmp_path: Path):
    """The cache holds texts as themselves, not as escapes."""
    judge = judges(state=tmp_path / "s.sqlite")
    await judge.judge(call(answer="保修期为两年。", delivery=received("保修期为两年。")))
    await judge.aclose()

    with sqlite3.connect(tmp_path / "s.sqlite") as connection:
        ((stored,),) = connection.execute("SELECT findings FROM judge_cache").fetchall()
    connection.close()
    assert json.loads(stored)["claims"] == {"A1": [["保修期为两年。", "supported", [0], [], None]]}
    assert "保修期" in stored
