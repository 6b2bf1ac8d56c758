"""Judging rows without Langfuse."""

import asyncio
import json
import threading

import pytest
import uvloop

from ragtrace.errors import ConfigError
from ragtrace.model import Delivery, RagCall
from ragtrace.scorer import ajudge_calls, judge_calls
from ragtrace.scorer.judge_file import JudgeFileSummary, run_judge_file
from ragtrace.scorer.judging import MetricChoice
from ragtrace.scorer.offline import judge_rows
from ragtrace.scorer.rows import BadRow, parse_line, read_row
from ragtrace.settings import load_settings
from tests.scorer.judges import ExactJudge, unavailable
from tests.seed import RIVER, TOWER

SETTINGS = load_settings({})
ROW = {"id": "a", "question": "How high?", "contexts": [TOWER, RIVER], "answer": TOWER, "reference": TOWER}
LONG = "The tower was built in 1372. It leans by four degrees. Nobody may climb it in winter. Tickets cost nine euros."


def read(**row: object) -> RagCall:
    found = read_row({"question": "q", "answer": "a", **row}, 7)
    assert isinstance(found, RagCall), found
    return found


def outline(delivery: Delivery | None) -> list[tuple[str, str, str, str]]:
    assert delivery is not None
    return [(d.passage.source, d.status, d.received_text, d.withheld_text) for d in delivery.passages]


def test_names_of_others_are_understood():
    """The names that ragas uses mean the same as ours."""
    ours = read_row(
        {
            "question": "q",
            "contexts": ["c"],
            "answer": "a",
            "reference": "r",
            "reference_contexts": ["rc"],
            "relevant_ids": ["d1", 2],
        },
        1,
    )
    theirs = read_row(
        {
            "user_input": "q",
            "retrieved_contexts": ["c"],
            "response": "a",
            "ground_truth": "r",
            "reference_contexts": [{"page_content": "rc"}],
            "relevant_ids": ["d1", 2],
        },
        1,
    )

    assert ours == theirs
    assert isinstance(ours, RagCall)
    assert (ours.id, ours.reference, ours.reference_passages, ours.relevant_ids) == ("1", "r", ("rc",), ("d1", "2"))


def test_contexts_may_be_texts_or_objects():
    """A context's id, score and metadata are kept, under any of the usual names of its text."""
    call = read(
        contexts=[
            "plain",
            {"text": "t", "id": 5, "score": 0.5, "metadata": {"page": 1}},
            {"page_content": "p", "metadata": None},
            {"content": ""},
        ]
    )

    assert call.delivery is not None
    assert [
        (d.passage.text, d.passage.id, d.passage.score, dict(d.passage.metadata)) for d in call.delivery.passages
    ] == [("plain", None, None, {}), ("t", "5", 0.5, {"page": 1}), ("p", None, None, {}), ("", None, None, {})]
    assert call.delivery.prompt_order == (0, 1, 2, 3)
    assert [d.received_text for d in call.delivery.passages] == ["plain", "t", "p", ""]


def test_unknown_contexts_are_not_empty_ones():
    """Contexts that are missing or null are unknown; an empty list is a retrieval that found nothing."""
    assert read().delivery is None
    assert read(contexts=None).delivery is None
    assert read(contexts=[]).delivery == Delivery()


def test_retrieved_text_that_was_not_received_is_withheld():
    """With the retrieved list, contexts are what was received of it; text that nobody retrieved counts as received."""
    call = read(
        retrieved=[{"text": LONG, "id": "long"}, "Dropped on the way, alas."],
        contexts=["From somewhere else entirely.", LONG[:54]],
    )

    assert outline(call.delivery) == [
        ("retriever", "partial", LONG[:54], LONG[54:]),
        ("retriever", "absent", "", "Dropped on the way, alas."),
        ("prompt", "full", "From somewhere else entirely.", ""),
    ]
    assert call.delivery is not None
    assert call.delivery.prompt_order == (2, 0)


def test_an_answer_may_be_missing_in_a_row_that_says_so():
    """null and "" are an answer that was not given."""
    assert (read(answer=None).answer, read(answer="").answer) == ("", "")


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"answer": "a"}, '`question` or `user_input` or `query` is missing: every row needs it ("" if there is none)'),
        ({"question": "q"}, '`answer` or `response` is missing: every row needs it ("" if there is none)'),
        ({"question": 3, "answer": "a"}, "`question` is 3: expected text"),
        (
            {"question": "q", "answer": "a", "contexts": "oops"},
            '`contexts` is "oops": expected a list of texts or of objects with `text`',
        ),
        (
            {"question": "q", "answer": "a", "retrieved_contexts": [3]},
            "`retrieved_contexts[0]` is 3: expected text, or an object with `text`",
        ),
        (
            {"question": "q", "answer": "a", "contexts": [{"txt": "x" * 90}]},
            '`contexts[0]` is {"txt": "' + "x" * 50 + "…: expected text, or an object with `text`",
        ),
        ({"question": "q", "answer": "a", "relevant_ids": "d1"}, '`relevant_ids` is "d1": expected a list of ids'),
    ],
)
def test_bad_rows_say_what_is_wrong(row, problem):
    """The field, its value and what was expected are named."""
    assert read_row(row, 7) == BadRow(number=7, problem=problem)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("[1]", "a JSON list: write one JSON object a line"),
        ("{", "not JSON (Expecting property name enclosed in double quotes: line 1 column 2 (char 1))"),
    ],
)
def test_bad_lines_say_what_is_wrong(line, problem):
    """A line that is no JSON object is named as that."""
    found = parse_line(line, 3)

    assert isinstance(found, BadRow)
    assert (found.number, found.problem.startswith(problem)) == (3, True)


async def test_outputs_come_in_order_and_are_whole():
    """One output a row in the order of the rows, with scores or reasons, sentences and judge."""
    outputs: list[dict] = []
    calls = [read(id=str(n), contexts=[TOWER], answer=TOWER if n % 2 else "Else.") for n in range(7)]

    judge = ExactJudge()
    await judge_rows(calls, judge, choice=MetricChoice(), concurrency=3, write=outputs.append)

    assert [output["id"] for output in outputs] == [str(n) for n in range(7)]
    assert [output["scores"]["faithfulness"] for output in outputs] == [
        {"value": float(n % 2), "reason": None} for n in range(7)
    ]
    assert outputs[1]["scores"]["context_recall"] == {"value": None, "reason": "no_reference"}
    assert outputs[1]["sentences"][0]["verdict"] == "supported"
    assert outputs[1]["judge"]["fingerprint"] == "exact-1"
    assert judge.most_in_flight <= 3


async def test_an_error_on_one_row_is_that_rows_alone(caplog):
    """A metric that breaks gives an output that says so, and the other rows theirs."""

    class Broken(MetricChoice):
        def compute(self, call, verdicts):
            if call.id == "1":
                raise ZeroDivisionError
            return super().compute(call, verdicts)

    outputs: list[dict] = []
    calls = [read(id=str(n), contexts=[TOWER]) for n in range(3)]

    await judge_rows(calls, ExactJudge(), choice=Broken(), concurrency=2, write=outputs.append)

    assert [output.get("error") for output in outputs] == [None, "could not be scored; the log says why", None]
    assert "row 1 could not be scored" in caplog.text


async def test_rows_are_judged_from_python():
    """Rows in, outputs out; a row that cannot be read says why and does not stop the others."""
    outputs = await ajudge_calls([ROW, {"question": "q"}], settings=SETTINGS)

    assert outputs[0]["id"] == "a"
    assert outputs[0]["scores"]["rag_outcome"] == {"value": "scored", "reason": None}
    assert outputs[1] == {
        "id": "2",
        "scores": {},
        "sentences": [],
        "judge": None,
        "error": '`answer` or `response` is missing: every row needs it ("" if there is none)',
    }


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_the_synchronous_form_works_in_a_running_loop(new_loop):
    """Called inside a coroutine, on asyncio's loop or uvloop's, it returns its outputs and leaves the loop alone."""

    async def application() -> tuple[list, str]:
        loop = asyncio.get_running_loop()
        outputs = judge_calls([ROW], settings=SETTINGS, metric_names=["faithfulness"])
        assert asyncio.get_running_loop() is loop
        return outputs, await asyncio.sleep(0, "still works")

    with asyncio.Runner(loop_factory=new_loop) as runner:
        outputs, after = runner.run(application())

    assert list(outputs[0]["scores"]) == ["faithfulness", "rag_outcome"]
    assert after == "still works"
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("ragtrace-judge")]


def test_the_synchronous_form_raises_in_the_callers_thread():
    """A wrong name of a metric is the caller's exception."""
    with pytest.raises(ConfigError, match="metric 'nope': unknown"):
        judge_calls([ROW], settings=SETTINGS, metric_names=["nope"])


async def test_a_file_is_judged_line_by_line(tmp_path):
    """Each line gives one line; blank lines count for nothing, bad ones are reported and do not stop the others."""
    source, out = tmp_path / "calls.jsonl", tmp_path / "out.jsonl"
    lines = [
        json.dumps(ROW).encode(),
        b"",
        b"nonsense",
        b'{"question": "\xff"}',
        json.dumps({**ROW, "contexts": [], "reference": None}).encode(),
    ]
    source.write_bytes(b"\xef\xbb\xbf" + b"\n".join(lines))
    seen: list[int] = []

    summary = await run_judge_file(SETTINGS, str(source), out=str(out), on_row=lambda s: seen.append(s.written))

    outputs = [json.loads(line) for line in out.read_text().splitlines()]
    assert [output["id"] for output in outputs] == ["a", "3", "4", "a"]
    assert [row.number for row in summary.bad] == [3, 4]
    assert (summary.rows, summary.written, summary.scored, summary.exit_code) == (4, 4, 1, 0)
    assert seen == [1, 2, 3, 4]
    assert summary.as_text() == "4 rows: 1 scored, 1 unscored, 2 not readable."


@pytest.mark.parametrize(
    ("summary", "exit_code"),
    [
        (JudgeFileSummary(rows=2, written=2, scored=1), 0),
        (JudgeFileSummary(rows=2, written=2, scored=0), 1),
        (JudgeFileSummary(rows=1, written=1, bad=[BadRow(number=1, problem="p")]), 2),
        (JudgeFileSummary(), 2),
    ],
)
def test_exit_codes_of_a_file(summary, exit_code):
    """0 where some row was judged, 1 where none could be, 2 where the input is of no use."""
    assert summary.exit_code == exit_code


async def test_files_that_cannot_be_opened_are_named(tmp_path):
    """A source or a target that is none ends it before anything is written."""
    out = tmp_path / "out.jsonl"

    with pytest.raises(ConfigError, match="cannot be read"):
        await run_judge_file(SETTINGS, str(tmp_path / "none.jsonl"), out=str(out))
    (tmp_path / "some.jsonl").write_text("{}")
    with pytest.raises(ConfigError, match=r"--out .* cannot be written"):
        await run_judge_file(SETTINGS, str(tmp_path / "some.jsonl"), out=str(tmp_path))
    with pytest.raises(ConfigError, match="metric 'x': unknown"):
        await run_judge_file(SETTINGS, str(tmp_path / "some.jsonl"), out=str(out), metric_names=["x"])

    assert not out.exists()


async def test_a_judge_that_is_away_leaves_rows_unscored():
    """Every row says that the judge was away."""
    outputs: list[dict] = []

    await judge_rows(
        [read(contexts=[TOWER])],
        ExactJudge(before=unavailable),
        choice=MetricChoice(),
        concurrency=2,
        write=outputs.append,
    )

    assert outputs[0]["scores"]["faithfulness"] == {"value": None, "reason": "judge_unavailable"}
    assert outputs[0]["scores"]["rag_outcome"] == {"value": None, "reason": "judge_unavailable"}
