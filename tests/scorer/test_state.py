"""What the scorer remembers."""

import sqlite3
from datetime import UTC, datetime, timedelta

import pytest

from ragtrace.errors import ConfigError
from ragtrace.langfuse import OutgoingScore
from ragtrace.scorer.records import CallScores
from ragtrace.scorer.state import Finished, Retry, StateFile

A, B, C = ("trace-a", "1"), ("trace-b", "1"), ("trace-b", "2")
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def scores(key: tuple[str, str], *names: str, outcome: str = "scored", body: bytes = b"{}") -> CallScores:
    prefix = "".join(key)
    return CallScores(
        scores=tuple(OutgoingScore(id=f"{prefix}-{name}", body=body) for name in names),
        mark=OutgoingScore(id=f"{prefix}-mark", body=b"{mark}"),
        outcome=outcome,
    )


@pytest.fixture
def state(tmp_path):
    with StateFile(tmp_path / "deep" / "state.sqlite", project="p") as opened:
        yield opened


def ids(outgoing: tuple[OutgoingScore, ...]) -> list[str]:
    return [score.id for score in outgoing]


def test_a_mark_waits_for_its_scores(state):
    """The mark of a call goes out only when its scores have arrived; then the call is done."""
    state.enqueue(A, scores(A, "x", "y"))
    state.enqueue(B, scores(B, outcome="no_contexts"))

    first = ids(state.outgoing())
    after_x = state.acknowledge(["trace-a1-x", "trace-b1-mark"])
    without_mark = ids(state.outgoing())
    after_y = state.acknowledge(["trace-a1-y"])
    with_mark = ids(state.outgoing())
    after_mark = state.acknowledge(["trace-a1-mark", "unknown"])

    assert first == ["trace-a1-x", "trace-a1-y", "trace-b1-mark"]
    assert after_x == (Finished(key=B, outcome="no_contexts"),)
    assert without_mark == ["trace-a1-y"]
    assert after_y == ()
    assert with_mark == ["trace-a1-mark"]
    assert after_mark == (Finished(key=A, outcome="scored"),)
    assert state.outgoing() == ()
    assert state.known([A, B, C]) == {A: "done", B: "done"}


def test_what_is_known(state):
    """Queued, done and refused calls are known, those of other traces with the same observation id are not."""
    state.enqueue(A, scores(A, "x"))
    state.remember_done([B])
    state.remember_done([B])

    assert state.known([A, B, C]) == {A: "queued", B: "done"}
    assert state.known([]) == {}
    assert state.known([(f"t{n}", "1") for n in range(900)]) == {}


def test_scoring_again_replaces_what_waits(state):
    """A call that is judged again before its scores went out has one set of them, the newer."""
    state.enqueue(A, scores(A, "x", "y", body=b"old"))
    state.enqueue(A, scores(A, "x", body=b"newer"))

    assert [(s.id, s.body) for s in state.outgoing()] == [("trace-a1-x", b"newer")]
    assert state.outbox_bytes() == len(b"newer") + len(b"{mark}")


def test_a_refused_score_leaves_its_call_without_a_mark(state):
    """A call of which a score was refused is given up, and the others are not."""
    state.enqueue(B, scores(B, "x", "y"))
    state.enqueue(C, scores(C, "x"))

    refused = state.refuse(["trace-b1-x", "unknown"])

    assert refused == (B,)
    assert ids(state.outgoing()) == ["trace-b2-x"]
    assert state.known([B, C]) == {B: "refused", C: "queued"}


def test_everything_survives_a_restart(tmp_path):
    """Ledger, outbox, retries and positions are there when the file is opened again."""
    path = tmp_path / "state.sqlite"
    with StateFile(path, project="p") as state:
        state.enqueue(A, scores(A, "x"))
        state.postpone(B, started_at=NOW, now=NOW - timedelta(minutes=1), reason="judge_unavailable")
        state.move_position("read", NOW)

    with StateFile(path, project="p") as state:
        assert ids(state.outgoing()) == ["trace-a1-x"]
        assert state.known([A]) == {A: "queued"}
        assert state.due(NOW, limit=9) == (Retry(key=B, started_at=NOW, tries=1),)
        assert state.position("read") == NOW


def test_projects_do_not_mix(tmp_path):
    """What was done in one project says nothing about another that shares the file."""
    path = tmp_path / "state.sqlite"
    with StateFile(path, project="p") as ours, StateFile(path, project="q") as theirs:
        ours.enqueue(A, scores(A, "x"))
        ours.move_position("read", NOW)
        ours.postpone(B, started_at=NOW, now=NOW, reason="r")

        assert theirs.known([A]) == {}
        assert theirs.outgoing() == ()
        assert theirs.outbox_bytes() == 0
        assert theirs.position("read") is None
        assert theirs.due(NOW + timedelta(days=1), limit=9) == ()
        assert theirs.postponed([B]) == set()
        assert theirs.acknowledge(["trace-a1-x"]) == ()
        assert ids(ours.outgoing()) == ["trace-a1-x"]


def test_calls_are_tried_again_when_due(state):
    """A call comes back after a minute, then after twice as long each time up to an hour, until it is scored."""
    waits: list[int] = []
    now = NOW
    for _ in range(8):
        state.postpone(A, started_at=NOW, reason="r", now=now)
        minutes = next(n for n in range(99) if state.due(now + timedelta(minutes=n), limit=9))
        waits.append(minutes)
        now += timedelta(minutes=minutes)

    assert waits == [1, 2, 4, 8, 16, 32, 60, 60]
    assert state.due(now, limit=9) == (Retry(key=A, started_at=NOW, tries=8),)
    assert state.postponed([A, B]) == {A}
    state.enqueue(A, scores(A, "x"))
    assert state.due(now, limit=9) == ()


def test_due_calls_come_in_order_and_end(state):
    """The longest overdue come first, no more than asked for; very old ones are given up."""
    for key, minutes in ((A, 2), (B, 1), (C, 3)):
        state.postpone(
            key, started_at=NOW + timedelta(minutes=minutes), reason="r", now=NOW + timedelta(minutes=minutes)
        )
    later = NOW + timedelta(hours=1)

    due = [retry.key for retry in state.due(later, limit=2)]
    expired = state.expire(NOW + timedelta(minutes=3))

    assert due == [B, A]
    assert expired == 2
    assert [retry.key for retry in state.due(later, limit=9)] == [C]


def test_positions_move(state):
    """A position is what it was moved to last."""
    state.move_position("read", NOW)
    state.move_position("read", NOW + timedelta(seconds=1))

    assert state.position("read") == NOW + timedelta(seconds=1)
    assert state.position("other") is None


def _database_of_others(path):
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 99")
    database.close()


@pytest.mark.parametrize(
    ("prepare", "why"),
    [
        (lambda path: path.write_bytes(b"this is no database at all, not by any means"), "file is not a database"),
        (lambda path: path.mkdir(), "unable to open database file"),
        (_database_of_others, "written by another version of ragtrace, schema 99"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(tmp_path, prepare, why):
    """A state file that is none is named with its setting, and left alone."""
    path = tmp_path / "state.sqlite"
    prepare(path)

    with pytest.raises(ConfigError) as caught:
        StateFile(path, project="p")

    assert str(caught.value) == (
        f"RAGTRACE_STATE={str(path)!r}: cannot be used ({why}): name a writable file, or move this one away"
    )


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    """A file where a folder should be is said."""
    (tmp_path / "file").write_text("")

    with pytest.raises(ConfigError, match="RAGTRACE_STATE="):
        StateFile(tmp_path / "file" / "state.sqlite", project="p")
