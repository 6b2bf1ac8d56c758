"""Judging again, where the judge gives no number any more."""

import logging

from ragtrace.errors import JudgeRefused
from ragtrace.langfuse import CallQuery, Connection, LangfuseApi, RetryPolicy
from ragtrace.model import RagCall
from ragtrace.scorer import ScoringOptions, StateFile, Tally, score_calls
from ragtrace.scorer.summary import RunSummary
from tests.scorer.judges import ExactJudge
from tests.seed import many, seed, stored_scores

QUICK = RetryPolicy(timeout_seconds=10, attempts=2, first_pause_seconds=0.001)


def refuse(call: RagCall) -> None:
    raise JudgeRefused("no")


async def run(server, path, judge: ExactJudge, *, is_rescore: bool) -> Tally:
    tally = Tally()
    connection = Connection(server.base_url, public_key=server.public_key, secret_key=server.secret_key, policy=QUICK)
    with StateFile(path, project="p") as state:
        async with LangfuseApi(connection) as api:
            options = ScoringOptions(concurrency=4, is_rescore=is_rescore)
            await score_calls(api, judge, state, query=CallQuery(), options=options, tally=tally)
    return tally


async def test_a_number_that_no_longer_holds_is_deleted(local_langfuse, tmp_path):
    """What the new judge gives no number for is gone; what needs no judge stays, and the mark says why."""
    seed(local_langfuse, many(3))
    await run(local_langfuse, tmp_path / "state", ExactJudge(), is_rescore=False)

    tally = await run(local_langfuse, tmp_path / "state", ExactJudge(before=refuse), is_rescore=True)

    left = stored_scores(local_langfuse)
    assert (tally.unscored, tally.withdrawn, tally.outdated) == ({"judge_refused": 3}, 12, 0)
    assert sorted({(s["name"], s["value"]) for s in left}) == [
        ("context_delivery", 1),
        ("rag_outcome", "judge_refused"),
    ]
    assert len(left) == 6


async def test_a_number_that_cannot_be_deleted_is_reported(local_langfuse, tmp_path, caplog):
    """Langfuse Cloud allows few deletions a day: what stays is counted and logged, and the run is not a success."""
    seed(local_langfuse, many(1))
    await run(local_langfuse, tmp_path / "state", ExactJudge(), is_rescore=False)
    limit = {"path": "/api/public/scores", "method": "DELETE", "status": 429, "retry_after": 86400}
    local_langfuse.faults.apply(limit)

    with caplog.at_level(logging.ERROR):
        tally = await run(local_langfuse, tmp_path / "state", ExactJudge(before=refuse), is_rescore=True)
    local_langfuse.faults.clear()
    again = await run(local_langfuse, tmp_path / "state", ExactJudge(before=refuse), is_rescore=True)

    summary = RunSummary(tally=tally, seconds=0, judge="exact", window="in all")
    assert (tally.withdrawn, tally.outdated, again.withdrawn, again.outdated) == (0, 4, 4, 0)
    assert "4 outdated scores stay in Langfuse" in caplog.text
    assert "withdrawn       0 old numbers, 4 could not be deleted" in summary.as_text()
    assert summary.exit_code == 1
