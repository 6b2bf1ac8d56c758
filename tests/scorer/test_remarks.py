"""Comments on answers that fail, in a real server on loopback."""

import logging

import httpx

from ragtrace.langfuse import CallQuery, Connection, LangfuseApi, RetryPolicy
from ragtrace.scorer import ScoringOptions, StateFile, Tally, score_calls
from tests.scorer.judges import ExactJudge
from tests.seed import TOWER, SeedCall, seed, span_id

QUICK = RetryPolicy(timeout_seconds=10, attempts=2, first_pause_seconds=0.001)
CALLS = [
    SeedCall(number=0, answer="It has [a *lift*](http://lift.example). " + "And so on " * 100),
    SeedCall(number=1, answer=TOWER),
]


async def run(server, path, **options: bool) -> None:
    connection = Connection(server.base_url, public_key=server.public_key, secret_key=server.secret_key, policy=QUICK)
    with StateFile(path, project="p") as state:
        async with LangfuseApi(connection) as api:
            chosen = ScoringOptions(concurrency=4, **options)
            await score_calls(api, ExactJudge(), state, query=CallQuery(), options=chosen, tally=Tally())


def comments(server) -> list[dict]:
    url = f"{server.base_url}/api/public/comments"
    return httpx.get(url, auth=(server.public_key, server.secret_key)).json()["data"]


async def test_an_answer_that_fails_is_commented_once(local_langfuse, tmp_path):
    """The comment is on the failing answer, short and without markup; judging again adds no second one."""
    seed(local_langfuse, CALLS)
    await run(local_langfuse, tmp_path / "state", has_comments=True)
    await run(local_langfuse, tmp_path / "state", has_comments=True, is_rescore=True)

    (comment,) = comments(local_langfuse)
    assert (comment["objectType"], comment["objectId"]) == ("OBSERVATION", span_id(0))
    assert comment["content"].startswith(
        r"ragtrace: Not supported: “It has \[a \*lift\*\](http://lift.example). And so"
    )
    assert comment["content"].endswith("0 of 1 claims supported.")
    assert len(comment["content"]) <= 500


async def test_nothing_is_commented_unasked(local_langfuse, tmp_path):
    """Scores say enough unless comments are asked for."""
    seed(local_langfuse, CALLS)
    await run(local_langfuse, tmp_path / "state")

    assert comments(local_langfuse) == []


async def test_comments_that_are_refused_spoil_nothing(local_langfuse, tmp_path, caplog):
    """The run goes on, and the log says how many answers lack a comment."""
    seed(local_langfuse, CALLS)
    local_langfuse.faults.apply({"path": "/api/public/comments", "method": "POST", "status": 403})

    with caplog.at_level(logging.WARNING):
        await run(local_langfuse, tmp_path / "state", has_comments=True)

    assert "1 answers have no comment in Langfuse" in caplog.text
    assert comments(local_langfuse) == []
