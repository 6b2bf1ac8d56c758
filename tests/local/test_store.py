"""The SQLite file itself."""

import sqlite3
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from ragtrace.local.conditions import Condition
from ragtrace.local.score import Score
from ragtrace.local.store import Store
from ragtrace.local.store_records import Matching, Record
from ragtrace.local.store_scores import ScorePosition
from ragtrace.local.wire import from_metadata, iso, parse_loose_time, parse_strict_time, to_bytes, to_text

SCORE = Score(id="s", name="n", data_type="NUMERIC", value=1, timestamp_ms=0, trace_id="t")


def test_the_file_outlives_the_server(tmp_path: Path) -> None:
    """What was stored is there when the file is opened again, with the wall clock's time."""
    path = tmp_path / "langfuse.sqlite"
    with Store(path) as store:
        store.scores.put([SCORE])
        made = store.records.create(Record(kind="k", id="r"))
    with Store(path) as store:
        found = store.records.get("k", "r")
        count = store.scores.count()

    assert (found, count) == (made, 1)
    assert made.created_ms > 1_700_000_000_000


def test_a_file_of_another_version_is_refused(tmp_path: Path) -> None:
    """Tables of another version are not touched."""
    path = tmp_path / "langfuse.sqlite"
    Store(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()

    with pytest.raises(sqlite3.DatabaseError, match="its tables have version 99, not 1"):
        Store(path)


def test_a_failing_write_leaves_nothing(store: Store) -> None:
    """Scores are stored all or none."""
    with pytest.raises(UnicodeEncodeError):
        store.scores.put([SCORE, replace(SCORE, id="t", comment="\ud83d")])

    assert store.scores.count() == 0


def test_threads_share_the_file(store: Store) -> None:
    """Writes of several threads do not get into each other's transactions."""

    def write(number: int) -> None:
        for index in range(20):
            store.scores.merge([replace(SCORE, id=f"{number}-{index}")])

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert store.scores.count() == 80
    assert store.observations.count() == 0


def test_long_lists_of_ids_do_not_scan(tmp_path: Path) -> None:
    """The scores of some traces among many are found by index."""
    path = tmp_path / "langfuse.sqlite"
    Store(path).close()
    connection = sqlite3.connect(path)
    plans = [
        connection.execute(f"EXPLAIN QUERY PLAN SELECT * FROM {sql}").fetchall()[0][3]
        for sql in (
            "scores WHERE trace_id IN ('a', 'b') ORDER BY timestamp_ms DESC, id DESC LIMIT 9",
            "scores WHERE name IN ('a') ORDER BY timestamp_ms DESC, id DESC LIMIT 9",
            "scores WHERE id IN ('a', 'b') ORDER BY timestamp_ms DESC, id DESC LIMIT 9",
            "observations WHERE trace_id IN ('a', 'b') ORDER BY start_ms DESC, trace_hash DESC, id DESC LIMIT 9",
            "observations WHERE name = 'a' ORDER BY start_ms DESC, trace_hash DESC, id DESC LIMIT 9",
        )
    ]
    connection.close()

    assert [plan.split(" (")[0] for plan in plans] == [
        "SEARCH scores USING INDEX scores_by_trace",
        "SEARCH scores USING INDEX scores_by_name",
        "SEARCH scores USING INDEX sqlite_autoindex_scores_1",
        "SEARCH observations USING INDEX sqlite_autoindex_observations_1",
        "SEARCH observations USING INDEX observations_by_name",
    ]


def test_pages_keep_to_the_window(store: Store) -> None:
    """A page after a row has what lies below that row and below the window's end, whichever is lower."""
    store.scores.put([replace(SCORE, id=f"s{n}", timestamp_ms=n) for n in range(6)])
    after = ScorePosition(timestamp_ms=4, id="s4")

    def page(operator: str, end: int) -> list[str]:
        condition = Condition(column="timestamp", operator=operator, value=end)
        return [score.id for score in store.scores.list([condition], limit=9, after=after)]

    assert (page("<", 6), page("<=", 5)) == (["s3", "s2", "s1", "s0"],) * 2
    assert (page("<", 2), page("<=", 1)) == (["s1", "s0"],) * 2


def test_pages_of_records(store: Store) -> None:
    """Records are counted, and paged newest first."""
    for name in "abc":
        store.records.create(Record(kind="k", id="", name=name, parent="p"))

    records, total = store.records.page("k", Matching(parent="p"), limit=2, page=2)

    assert ([record.name for record in records], total) == (["a"], 3)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e5", 100000),
        (" 1 ", 1),
        ("0.10", 0.1),
        ("1e400", "1e400"),
        ("007", "007"),
        ("NaN", "NaN"),
        ("12345678901234567890", "12345678901234567890"),
        ("9" * 5000, "9" * 5000),
        ("[" * 100_000, "[" * 100_000),
    ],
)
def test_metadata_is_parsed_where_it_is_json(text: str, value: object) -> None:
    """Numbers read as JavaScript reads them; what a double cannot hold stays text."""
    assert from_metadata(text) == value


def test_json_is_written_as_javascript_writes_it() -> None:
    """Whole floats lose their point, lone surrogates are escaped, the rest is UTF-8."""
    assert to_text({"a": [1.0, 0.5, None], "ä": True}) == '{"a":[1,0.5,null],"ä":true}'
    assert to_bytes("ä\ud83d") == '"ä\\ud83d"'.encode()


def test_times() -> None:
    """Strict times need an offset; loose ones may be dates, in UTC; times before 1970 exist."""
    assert [parse_strict_time(text) for text in ("1970-01-01T00:00:01Z", "1970-01-01", "2026-02-30T00:00:00Z")] == [
        1000,
        None,
        None,
    ]
    assert parse_loose_time("1970-01-02") == 86_400_000
    assert iso(-1) == "1969-12-31T23:59:59.999Z"
