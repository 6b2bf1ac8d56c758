"""Two sides held against each other: files and Langfuse, pairs, kinds of questions, the gate."""

import csv
import json
from dataclasses import replace
from datetime import timedelta

import pytest
from typer.testing import CliRunner

from ragtrace.cli import app
from ragtrace.errors import ConfigError
from ragtrace.langfuse import CallQuery, Connection, LangfuseApi, OutgoingScore, ScoreRecord
from ragtrace.scorer.compare import Gate, Sample, compare, parse_gate
from ragtrace.scorer.compare_command import CompareRequest, run_compare
from ragtrace.scorer.compare_langfuse import Calls, parse_side
from ragtrace.scorer.compare_output import as_json, as_text, write_csv
from ragtrace.scorer.compare_rows import read_file
from ragtrace.settings import load_settings
from tests.seed import STARTED_AT, SeedCall, seed, span_id, trace_id

NO_GATE = Gate(guards={})
RECALL, FAITH, HALLUCINATION = "context_recall", "faithfulness", "hallucination_rate"


def side(count: int, metric: str = RECALL, *, up_to: int, rate: float = 1.0, kind: str | None = None) -> list[Sample]:
    """Rows of which the first `up_to` have the number `rate`, the others 0."""
    return [
        Sample(values={metric: rate if number < up_to else 0.0}, item=str(number), kind=kind) for number in range(count)
    ]


def one(found, metric: str = RECALL, kind: str | None = None):
    (change,) = [c for c in found.changes if (c.metric, c.kind) == (metric, kind)]
    return change


def test_rows_of_the_same_ids_are_pairs():
    """The same rows before and after are compared row by row, which tells a smaller change from chance."""
    found = compare(side(60, up_to=30), side(60, up_to=45), NO_GATE)
    change = one(found)

    assert (found.pairs, change.pairs, change.baseline.value, change.candidate.value) == (60, 60, 0.5, 0.75)
    assert change.difference.value == pytest.approx(0.25)
    assert change.effect == "better"
    assert change.gain == pytest.approx(0.25)


def test_rows_that_do_not_pair_are_independent():
    """Without common ids or questions the sides are two samples, and the interval is wider."""
    after = [replace(sample, item=None) for sample in side(60, up_to=45)]
    apart, paired = (
        compare(side(60, up_to=30), after, NO_GATE),
        compare(side(60, up_to=30), side(60, up_to=45), NO_GATE),
    )

    assert (apart.pairs, one(apart).pairs, one(apart).difference.method) == (0, 0, "mover")
    assert one(apart).difference.low < one(paired).difference.low


def test_few_common_questions_do_not_make_pairs():
    """Ten questions in common of sixty say less than the sixty."""
    after = [replace(s, item=s.item if number < 10 else f"x{number}") for number, s in enumerate(side(60, up_to=45))]
    found = compare(side(60, up_to=30), after, NO_GATE)

    assert (found.pairs, one(found).pairs) == (10, 0)


def test_the_same_question_pairs_where_ids_do_not():
    """Calls of production carry no row's id; the same question pairs them, several answers to it count by their mean."""
    before = [Sample(values={RECALL: n % 2}, question=f"q{n // 2}") for n in range(40)]
    after = [Sample(values={RECALL: 1.0}, question=f"q{n}", item=str(n)) for n in range(20)]
    change = one(compare(before, after, NO_GATE))

    assert (change.pairs, change.difference.value) == (20, 0.5)


def test_lower_is_better_for_rates_of_errors():
    """A hallucination rate that falls is a gain."""
    found = compare(side(60, HALLUCINATION, up_to=40), side(60, HALLUCINATION, up_to=10), NO_GATE)
    change = one(found, HALLUCINATION)

    assert change.difference.value == pytest.approx(-0.5)
    assert (change.gain, change.effect) == (pytest.approx(0.5), "better")


@pytest.mark.parametrize(("up_to", "effect"), [(5, "worse"), (30, "unclear")])
def test_other_effects(up_to, effect):
    """A fall is told as one, and no change as none."""
    assert one(compare(side(60, up_to=30), side(60, up_to=up_to), NO_GATE)).effect == effect


def test_kinds_and_layers_stand_apart():
    """Each metric is shown for each kind of question, in the order retrieval, delivery, generation, others."""
    metrics = ("own", FAITH, HALLUCINATION, RECALL, "mrr")
    rows = [
        Sample(values=dict.fromkeys(metrics, 1.0), item=str(n), kind="negation" if n < 20 else "simple")
        for n in range(60)
    ]
    found = compare(rows, rows, NO_GATE)

    assert [(c.layer, c.metric) for c in found.changes if c.kind is None] == [
        ("retrieval", "mrr"),
        ("delivery", RECALL),
        ("generation", FAITH),
        ("generation", HALLUCINATION),
        ("other", "own"),
    ]
    assert {(c.kind, c.pairs) for c in found.changes} == {(None, 60), ("negation", 20), ("simple", 40)}
    assert as_text(found).count("\ngeneration\n") == 1


def rulings(gate: Gate, before: list[Sample], after: list[Sample]) -> list[tuple[str, bool]]:
    return [(ruling.metric, ruling.holds) for ruling in compare(before, after, gate).rulings]


def both(recall: int, faith: int) -> list[Sample]:
    return [Sample(values={RECALL: float(n < recall), FAITH: float(n < faith)}, item=str(n)) for n in range(100)]


@pytest.mark.parametrize(
    ("recall", "faith", "holds"),
    [
        (70, 90, (True, True)),
        (70, 89, (True, True)),
        (70, 88, (True, False)),
        (51, 90, (False, True)),
        (30, 95, (False, True)),
    ],
)
def test_the_gate(recall, faith, holds):
    """The target must be better by its whole interval; a guard may lose less than its margin."""
    gate = parse_gate(RECALL, f"{FAITH}=0.02")

    assert rulings(gate, both(50, 90), both(recall, faith)) == [(RECALL, holds[0]), (FAITH, holds[1])]


def test_a_guard_without_room_holds_where_nothing_is_lost():
    """A margin of 0 allows no loss, and what stays the same has lost nothing."""
    gate = parse_gate(None, f"{FAITH}=0")

    assert rulings(gate, both(50, 90), both(50, 90)) == [(FAITH, True)]
    assert rulings(gate, both(50, 90), both(50, 89)) == [(FAITH, False)]


def test_what_cannot_be_told_does_not_pass():
    """A target or guard that has no number on both sides, or too few, fails the gate."""
    gate = parse_gate("mrr", f"{RECALL},{FAITH}")
    found = compare(side(5, up_to=5), side(5, up_to=5), gate)

    assert not found.passes
    assert found.is_rough
    text = as_text(found)
    assert "FAILED target mrr: no number on both sides" in text
    assert f"FAILED guard {RECALL}: too few rows to tell; may lose less than 0.02" in text
    assert one(found).effect == "too few"
    assert one(found).gain is None


@pytest.mark.parametrize("guard", ["faithfulness=much", "faithfulness=-1", "faithfulness=inf"])
def test_a_margin_is_a_number_from_0(guard):
    """Anything else is refused in one line."""
    with pytest.raises(ConfigError, match="--guard"):
        parse_gate(None, guard)


def test_what_people_read():
    """By layer, with both sides, the difference, its interval, and the ruling."""
    kinds = [replace(s, kind="negation") for s in side(60, up_to=30)]
    found = compare(kinds, side(60, up_to=45), parse_gate(RECALL, None))

    assert as_text(found).splitlines() == [
        "baseline 60 rows, candidate 60 rows, 60 questions on both",
        "delivery",
        "  context_recall             0.500 -> 0.750   +0.250 [+0.130, +0.380]      better   (60 pairs)",
        "passed target context_recall: +0.250 [+0.130, +0.380]; must be better by its whole interval",
    ]


def test_kinds_stand_below_their_metric():
    """A kind with too few rows is shown with their number and without any other."""
    rows = [*side(60, up_to=30, kind="simple"), *side(3, up_to=1, kind="negation")]
    rows = [replace(row, item=str(number)) for number, row in enumerate(rows)]

    assert as_text(compare(rows, rows, NO_GATE)).splitlines()[2:] == [
        "  context_recall             0.492 -> 0.492   +0.000 [-0.057, +0.057]      unclear  (63 pairs)",
        "    negation                 - -> -                                        too few  (3 against 3)",
        "    simple                   0.500 -> 0.500   +0.000 [-0.060, +0.060]      unclear  (60 pairs)",
    ]


def test_nothing_in_common():
    """Sides without a common metric say so."""
    assert "No metric has numbers on both sides." in as_text(compare([Sample()], [Sample()], NO_GATE))


def test_files(tmp_path):
    """JSON lines of `ragtrace judge` and tables are read alike; what has no number is left out."""
    lines = tmp_path / "judged.jsonl"
    row = {
        "id": "a",
        "kind": "negation",
        "scores": {
            FAITH: {"value": 0.5},
            RECALL: {"value": None, "reason": "no_reference"},
            "rag_outcome": {"value": "scored"},
        },
    }
    lines.write_text(json.dumps(row) + "\n\n" + json.dumps({"id": "b", "scores": {FAITH: 1}}) + "\n")
    table = tmp_path / "judged.csv"
    table.write_text("question,kind,faithfulness,context_recall\nHow HIGH?,negation,0.5,\n")

    assert read_file(lines) == [
        Sample(values={FAITH: 0.5}, item="a", kind="negation"),
        Sample(values={FAITH: 1.0}, item="b"),
    ]
    assert read_file(table) == [Sample(values={FAITH: 0.5}, question="how high", kind="negation")]


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.jsonl", "{", "a.jsonl:1: not JSON"),
        ("a.jsonl", "[]", "a.jsonl:1: `scores` is missing"),
        ("a.jsonl", "\n", "holds no row"),
        ("a.csv", "id,faithfulness\na,high\n", "a.csv:2: faithfulness is 'high': expected a number"),
        ("a.csv", "id,faithfulness\na\n", "a.csv:2: 2 columns expected"),
        ("a.csv", "id,faithfulness\na,1,2\n", "a.csv:2: 2 columns expected"),
    ],
)
def test_files_that_are_none(tmp_path, name, content, problem):
    """The line and what was expected are named."""
    path = tmp_path / name
    path.write_text(content)

    with pytest.raises(ConfigError, match=problem):
        read_file(path)


def test_a_file_that_is_not_there(tmp_path):
    """The file is named."""
    with pytest.raises(ConfigError, match="cannot be read"):
        read_file(tmp_path / "none.jsonl")


def test_sides_are_windows(tmp_path):
    """`24h..12h` ends; `2026-03-01..` goes on until now; anything else is refused."""
    now = STARTED_AT
    side = parse_side("24h..12h", since=now, now=now)
    assert isinstance(side, Calls)
    assert side.query == CallQuery(since=now - timedelta(hours=24), until=now - timedelta(hours=12))
    assert parse_side("2h..", since=now, now=now).query == CallQuery(since=now - timedelta(hours=2))
    with pytest.raises(ConfigError, match=r"'nothing\.csv': no such file; expected a file, a window"):
        parse_side("nothing.csv", since=now, now=now)


def settings_of(server):
    return load_settings(
        {
            "LANGFUSE_BASE_URL": server.base_url,
            "LANGFUSE_PUBLIC_KEY": server.public_key,
            "LANGFUSE_SECRET_KEY": server.secret_key,
        }
    )


async def write(server, numbers: dict[int, float], **changes) -> None:
    records = [
        ScoreRecord(
            id=f"s{n}",
            trace_id=trace_id(n),
            observation_id=span_id(n),
            name=FAITH,
            value=value,
            data_type="NUMERIC",
            timestamp=STARTED_AT,
            metadata={"inclusion_probability": 0.5},
        )
        for n, value in numbers.items()
    ]
    written = [replace(record, **changes) for record in records]
    async with LangfuseApi(
        Connection(server.base_url, public_key=server.public_key, secret_key=server.secret_key)
    ) as api:
        async for _ in api.write_scores([OutgoingScore(id=r.id, body=r.body()) for r in written]):
            pass


async def test_sides_from_langfuse(local_langfuse):
    """Calls of two tags pair by their question; kinds come from metadata or a tag, numbers of others are not ours."""
    count = 24
    before = [SeedCall(number=n, question=f"Question {n}?", tags=("old", "kind:simple")) for n in range(count)]
    after = [
        SeedCall(number=count + n, question=f"QUESTION {n}", tags=("new",), metadata={"kind": "simple"})
        for n in range(count)
    ]
    seed(local_langfuse, [*before, *after])
    await write(local_langfuse, {**dict.fromkeys(range(12), 1.0), **dict.fromkeys(range(12, 24), 0.0)})
    await write(local_langfuse, dict.fromkeys(range(24, 48), 1.0))
    await write(local_langfuse, {0: 0.0}, id="theirs", name="their_score", metadata={})
    request = CompareRequest(
        baseline="tag:old", candidate="tag:new", gate=parse_gate(FAITH, None), since=STARTED_AT - timedelta(days=1)
    )
    found = await run_compare(settings_of(local_langfuse), request, now=STARTED_AT + timedelta(hours=1))

    assert [(c.metric, c.kind, c.pairs) for c in found.changes] == [(FAITH, None, 24), (FAITH, "simple", 24)]
    assert one(found, FAITH).difference.value == 0.5
    assert found.passes


async def test_a_release_and_a_file(local_langfuse, tmp_path):
    """A side from Langfuse and one from a file are compared as they are; a call without a score is not in it."""
    seed(local_langfuse, [SeedCall(number=0), SeedCall(number=1)])
    await write(local_langfuse, {0: 1.0})
    table = tmp_path / "rows.csv"
    table.write_text("question,faithfulness\nHow high is the tower?,0\n")
    request = CompareRequest(baseline="2026-02-28..2026-03-02", candidate=str(table), gate=NO_GATE, since=STARTED_AT)
    found = await run_compare(settings_of(local_langfuse), request, now=STARTED_AT)
    none = await run_compare(settings_of(local_langfuse), replace(request, baseline="release:r9"), now=STARTED_AT)

    assert (found.baseline_rows, found.candidate_rows, found.pairs) == (1, 1, 1)
    assert none.baseline_rows == 0


def test_tables_and_json(tmp_path):
    """The file has a row a metric and kind; JSON has the same unrounded, with the rulings."""
    found = compare(side(60, up_to=30), side(60, up_to=45), parse_gate(RECALL, FAITH))
    path = tmp_path / "out.csv"
    write_csv(found, path)
    with path.open(newline="") as file:
        (row,) = csv.DictReader(file)
    shown = as_json(found)

    assert (row["layer"], row["metric"], row["kind"], row["difference"], row["effect"]) == (
        "delivery",
        RECALL,
        "",
        str(one(found).difference.value),
        "better",
    )
    assert shown["rulings"] == [
        {"metric": RECALL, "role": "target", "holds": True, "margin": None},
        {"metric": FAITH, "role": "guard", "holds": False, "margin": 0.02},
    ]
    assert shown["changes"][0]["difference"]["n"] == 60
    with pytest.raises(ConfigError, match=r"--csv .*: cannot be written"):
        write_csv(found, tmp_path)


def test_the_command_is_a_gate(tmp_path):
    """`ragtrace compare` ends with 0 where the gate holds and with 1 where it does not; the kind survives judging."""
    rows = [
        {
            "id": str(n),
            "kind": "simple",
            "question": "How high?",
            "contexts": ["It is 57 metres."],
            "answer": "It is 57 metres.",
        }
        for n in range(12)
    ]
    source, good, bad = (tmp_path / name for name in ("rows.jsonl", "good.jsonl", "bad.csv"))
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    runner = CliRunner()
    assert runner.invoke(app, ["judge", str(source), "--out", str(good)]).exit_code == 0
    bad.write_text("id,faithfulness\n" + "".join(f"{n},0\n" for n in range(12)))
    better = runner.invoke(app, ["compare", str(bad), str(good), "--target", FAITH])
    worse = runner.invoke(
        app, ["compare", str(good), str(bad), "--target", FAITH, "--json", "--csv", str(tmp_path / "t.csv")]
    )

    assert better.exit_code == 0, better.output
    assert "A rough screening: fewer than 50 rows" in better.stdout
    assert worse.exit_code == 1
    assert json.loads(worse.stdout)["passes"] is False
    assert [s.kind for s in read_file(good)] == ["simple"] * 12
    assert (tmp_path / "t.csv").exists()
