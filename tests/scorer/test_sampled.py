"""Strata and budgets against a real server: who is drawn, and with which probability."""

from datetime import timedelta

import pytest

from ragtrace.langfuse import CallQuery
from ragtrace.sampling.strata import Stratum
from ragtrace.scorer import Sampling, StateFile
from ragtrace.scorer.slots import thinned
from tests.scorer.judges import ExactJudge
from tests.scorer.test_window import adds_up, run
from tests.seed import STARTED_AT, TOWER, SeedCall, many, seed, stored_scores

NOW = STARTED_AT + timedelta(hours=1)


@pytest.fixture
def state_path(tmp_path):
    return tmp_path / "state.sqlite"


async def test_kinds_of_calls_have_rates_of_their_own(local_langfuse, state_path):
    """All calls of one kind and a share of the rest are scored; the scores say which and how likely that was."""
    seed(local_langfuse, [SeedCall(number=n, tags=("vip",) if n < 5 else ()) for n in range(105)])
    sampling = Sampling(rate=0.2, strata=(Stratum(name="vips", rate=1.0, tags=("vip",)),))

    tally = await run(local_langfuse, state_path, sampling=sampling)

    marks = [s["metadata"] for s in stored_scores(local_langfuse, name="rag_outcome")]
    assert [m["inclusion_probability"] for m in marks if m.get("stratum") == "vips"] == [1.0] * 5
    assert {m["inclusion_probability"] for m in marks if "stratum" not in m} == {0.2}
    assert 5 < tally.sampled < 60
    assert adds_up(tally)


async def test_every_condition_is_found_in_a_listing(local_langfuse, state_path):
    """Each kind of calls is told by what Langfuse lists without content, from name to length of the answer."""
    kinds = [
        (SeedCall(number=0, tags=("vip",)), Stratum(name="tag", rate=1.0, tags=("vip",))),
        (SeedCall(number=1, environment="prod"), Stratum(name="environment", rate=1.0, environments=("prod",))),
        (SeedCall(number=2, seconds=30.0), Stratum(name="latency", rate=1.0, latency_over_seconds=20.0)),
        (
            SeedCall(number=3, metadata={"ragtrace_passages_retrieved": 4, "ragtrace_passages_received": 1}),
            Stratum(name="delivery", rate=1.0, delivery_below=0.5),
        ),
        (SeedCall(number=4, metadata={"ragtrace_marks": "capped"}), Stratum(name="mark", rate=1.0, marks=("capped",))),
        (
            SeedCall(number=5, metadata={"ragtrace_answer_length": 900}),
            Stratum(name="long", rate=1.0, answer_over_characters=800),
        ),
    ]
    seed(local_langfuse, [*(call for call, _ in kinds), SeedCall(number=9)])
    sampling = Sampling(rate=0.0, strata=tuple(stratum for _, stratum in kinds))

    tally = await run(local_langfuse, state_path, sampling=sampling)

    found = {
        s["subject"]["traceId"]: s["metadata"]["stratum"] for s in stored_scores(local_langfuse, name="rag_outcome")
    }
    assert found == {call.key[0]: stratum.name for call, stratum in kinds}
    assert tally.not_sampled == 1


async def test_a_skewed_sample_estimates_without_bias(local_langfuse, state_path):
    """Weighted by the probabilities that are stored, the share of bad answers comes out as it is."""
    bad = [SeedCall(number=n, answer="It is 99 metres high.", tags=("thumbs-down",)) for n in range(60)]
    good = [SeedCall(number=n, answer=TOWER) for n in range(60, 600)]
    seed(local_langfuse, [*bad, *good])
    sampling = Sampling(rate=0.25, strata=(Stratum(name="disliked", rate=1.0, tags=("thumbs-down",)),))

    await run(local_langfuse, state_path, sampling=sampling)

    scores = stored_scores(local_langfuse, name="hallucination_rate")
    weights = [1 / s["metadata"]["inclusion_probability"] for s in scores]
    estimate = sum(w * s["value"] for w, s in zip(weights, scores, strict=True)) / sum(weights)
    naive = sum(s["value"] for s in scores) / len(scores)
    assert abs(estimate - 0.1) < 0.03
    assert naive > 0.2


async def test_a_budget_thins_each_slot(local_langfuse, state_path):
    """A slot with more calls than the budget pays for is thinned, a quiet one is whole; both know their probability."""
    busy = many(200, apart=timedelta(seconds=1))
    quiet = [SeedCall(number=900 + n, started_at=STARTED_AT + timedelta(minutes=30, seconds=n)) for n in range(4)]
    seed(local_langfuse, [*busy, *quiet])

    tally = await run(
        local_langfuse,
        state_path,
        query=CallQuery(since=STARTED_AT, until=NOW),
        tokens_per_hour=1_500_000,
        now=lambda: NOW,
    )

    probabilities = [s["metadata"]["inclusion_probability"] for s in stored_scores(local_langfuse, name="rag_outcome")]
    thinned_ = [p for p in probabilities if p < 1]
    assert probabilities.count(1.0) == 4
    assert len(set(thinned_)) == 1
    assert 0.1 < thinned_[0] < 0.9
    assert abs(len(thinned_) - 200 * thinned_[0]) < 40
    assert adds_up(tally)


async def test_thresholds_are_fixed_once(local_langfuse, state_path):
    """Calls that arrive late do not change the threshold that others of their slot were drawn with."""
    seed(local_langfuse, many(50))
    query = CallQuery(since=STARTED_AT, until=STARTED_AT + timedelta(minutes=5))
    options = {"query": query, "tokens_per_hour": 600_000, "now": lambda: NOW}

    first = await run(local_langfuse, state_path, judge=ExactJudge(), **options)
    seed(local_langfuse, [SeedCall(number=500 + n, started_at=STARTED_AT) for n in range(50)])
    await run(local_langfuse, state_path, **options)

    probabilities = {s["metadata"]["inclusion_probability"] for s in stored_scores(local_langfuse, name="rag_outcome")}
    assert first.not_sampled > 0
    assert len(probabilities) == 1


async def test_without_a_budget_nothing_is_counted(local_langfuse, state_path):
    """No budget, no thresholds, and no request for them."""
    with StateFile(state_path, project="p") as state:
        sampling = Sampling(rate=0.5)
        query = CallQuery(since=STARTED_AT)

        found = await thinned(None, state, sampling=sampling, query=query, tokens_per_hour=None, now=NOW)  # type: ignore[arg-type]  # nothing may be asked

    assert found is sampling
