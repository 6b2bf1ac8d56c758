"""Labels of people beside verdicts: `calibrate`, `consistency` and the reader that the agreement benchmark uses."""

import asyncio
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ragtrace.cli import app
from ragtrace.errors import ConfigError
from ragtrace.judge.embedded import EmbeddedJudge
from ragtrace.judge.embedded_calibration import load_calibration
from ragtrace.model import Verdicts
from ragtrace.scorer.calibrating import run_calibrate
from ragtrace.scorer.consistency import compare, run_consistency
from ragtrace.scorer.labels import judge_labels, read_labels
from ragtrace.settings import load_settings
from ragtrace.stats import Estimate
from tests.build import claim, sentence, verdicts

ROW = {
    "id": "r1",
    "lang": "en",
    "contexts": ["The lid is blue. The pump restarts after 30 s."],
    "claims": [
        {"text": "The lid is blue.", "supported": True},
        {"text": "Is it?", "supported": False, "types": ["question"]},
        {"text": "The CEO left. He was tired.", "supported": False, "label3": "neutral"},
    ],
}
CALLS = [
    {"question": "What?", "contexts": ROW["contexts"], "answer": "The lid is blue. The CEO left."},
    {"question": "What?", "contexts": ROW["contexts"], "answer": "The lid is blue."},
]


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + "\n", encoding="utf-8")
    return path


def rows_of(*supported: bool | None) -> list[Verdicts]:
    """One verdict a row: supported, not supported, or undecided."""
    words = {True: "supported", False: "unsupported", None: "undecided"}
    return [verdicts([sentence(claim(words[one]))]) for one in supported]


def test_labels_stand_beside_what_the_judge_found(tmp_path):
    """All claims of a row are judged as one answer; what claims nothing has no support."""
    rows = read_labels(write(tmp_path / "some_en.jsonl", [ROW, {**ROW, "claims": []}]))

    judged = asyncio.run(judge_labels(EmbeddedJudge(), rows, concurrency=2))

    assert [(one.label.is_supported, one.label.kind, one.support and one.support > 0.5) for one in judged] == [
        (True, None, True),
        (False, "question", None),
        (False, "neutral", False),
    ]
    assert {(one.row.data_set, one.row.language) for one in judged} == {("some_en", "en")}


def test_labels_in_another_language_have_no_support(tmp_path):
    """Where the judge abstains there is no figure."""
    row = {**ROW, "claims": [{"text": "Гарантия составляет два года.", "supported": True}]}

    judged = asyncio.run(judge_labels(EmbeddedJudge(), read_labels(write(tmp_path / "x.jsonl", [row])), concurrency=1))

    assert [one.support for one in judged] == [None]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "not JSON"),
        ("[]", "`claims` is missing"),
        ('{"claims": ["x"]}', "a claim is 'x': expected an object with `text` and `supported`"),
        ('{"contexts": 5, "claims": []}', "`contexts` is 5"),
    ],
)
def test_a_line_in_another_format_is_named(tmp_path, line, problem):
    """The error names file, line and what was expected."""
    path = tmp_path / "x.jsonl"
    path.write_text(f"\n{line}\n", encoding="utf-8")

    with pytest.raises(ConfigError) as caught:
        read_labels(path)

    assert f"{path}:2: " in str(caught.value)
    assert problem in str(caught.value)


def test_files_that_are_not_there_are_named(tmp_path):
    """Labels and rows are read from files that exist."""
    for read in (lambda p: read_labels(p), lambda p: asyncio.run(run_consistency(load_settings({}), p))):
        with pytest.raises(ConfigError, match=r"nowhere\.jsonl: cannot be read"):
            read(tmp_path / "nowhere.jsonl")


def test_calibrate_writes_what_the_judge_loads(tmp_path):
    """Labels that call half-supported claims unsupported raise the threshold."""
    half = {"text": "The lid is blue and opens towards the left.", "supported": False}
    row = {**ROW, "claims": [ROW["claims"][0], half]}
    out = tmp_path / "calibration.json"

    found = asyncio.run(run_calibrate(write(tmp_path / "labels.jsonl", [row] * 20), out))

    assert (load_calibration(out), found.labels, found.balanced_accuracy) == (found, 40, 1.0)


def test_labels_that_cannot_be_judged_calibrate_nothing(tmp_path):
    """Questions are no claims."""
    row = {**ROW, "claims": [{"text": "Is it?", "supported": True}]}

    with pytest.raises(ConfigError, match="no claim that could be judged"):
        asyncio.run(run_calibrate(write(tmp_path / "labels.jsonl", [row]), tmp_path / "out.json"))


def test_two_runs_of_the_embedded_judge_agree(tmp_path):
    """The embedded judge gives the same verdicts twice; two rows are too few to say more."""
    found = asyncio.run(run_consistency(load_settings({}), write(tmp_path / "rows.jsonl", CALLS)))

    assert (found.judges, found.rows, found.correlation, found.ties) == (("lexical-v1", "lexical-v1"), 2, None, 0.5)
    assert (found.share_alpha and found.share_alpha.value, found.verdict_alpha and found.verdict_alpha.value) == (1, 1)
    assert found.flips == Estimate(
        value=None, low=None, high=None, n=2, effective_n=pytest.approx(1.8), quality="none", method="refused"
    )
    assert found.as_text().splitlines()[4] == "flip rate of 3 sentences: too few rows to say"
    assert not found.is_stable
    assert found.as_text().splitlines()[-2:] == [
        "warning: 2 rows; with fewer than 50 these figures move a lot by chance",
        "warning: a run gives every row the same share, or there are fewer than four: no rank correlation",
    ]


def test_a_second_judge_may_be_another_one(tmp_path):
    """Without a key the other model is refused before anything is judged twice."""
    with pytest.raises(ConfigError, match="OPENAI_API_KEY is not set"):
        asyncio.run(run_consistency(load_settings({}), write(tmp_path / "rows.jsonl", CALLS), other_model="some-model"))


def test_a_row_that_cannot_be_read_stops_a_comparison(tmp_path):
    """Both runs need the same rows, so a bad one is an error."""
    with pytest.raises(ConfigError, match=r"rows\.jsonl:1: "):
        asyncio.run(run_consistency(load_settings({}), write(tmp_path / "rows.jsonl", [{"answer": "x"}])))


def test_a_judge_that_flips_is_not_stable():
    """A third of the verdicts changed: the correlation is too low, and said to be so."""
    first = rows_of(*[True, False] * 30)
    second = rows_of(*[True, False, False, False, True, True] * 10)

    found = compare(("a", "a"), first, second)

    assert (found.rows, found.is_stable, round(found.flips.value, 2)) == (60, False, 0.33)
    assert found.as_text().splitlines()[-1] == "warning: the judge is not stable enough: 0.33 is below 0.7"


def test_few_rows_say_that_they_are_too_few():
    """An interval around 0 tells nothing about the judge."""
    found = compare(("a", "b"), rows_of(True, False, True, False, True), rows_of(True, True, True, False, False))

    assert found.as_text().splitlines()[-1] == "warning: too few samples: the interval includes 0"


def test_a_stable_judge_gets_no_warning():
    """Many rows that agree need no remark; rows without a decided claim, or without verdicts, are left out."""
    runs = [*rows_of(*[True, False] * 30), *rows_of(None), None]

    found = compare(("a", "a"), runs, runs)

    assert (found.is_stable, found.rows, found.as_text().splitlines()) == (
        True,
        60,
        [
            "60 rows, judged by a and a",
            "Spearman of the shares of supported claims: 1.000, 95 % interval 1.000 to 1.000, p 0",
            "Krippendorff's alpha of the shares: 1.000, 95 % interval 0.882 to 1.000",
            "Krippendorff's alpha of the verdicts: 1.000, 95 % interval 0.887 to 1.000",
            "flip rate of 61 sentences: 0.0%, 95 % interval 0.0% to 5.9%",
            "ties: 50% of the rows have the commonest share",
        ],
    )


def test_the_calibrate_command_says_what_changed(tmp_path):
    """One line names the file, the threshold and the accuracy before and now."""
    claims = [ROW["claims"][0], {"text": "The CEO left.", "supported": False}]
    labels = write(tmp_path / "labels.jsonl", [{**ROW, "claims": claims}] * 20)
    out = tmp_path / "calibration.json"

    result = CliRunner().invoke(app, ["calibrate", str(labels), "--out", str(out)])

    assert (result.exit_code, result.stdout) == (
        0,
        f"{out}: threshold +0.00 from 40 labels; balanced accuracy on them 1.000 before, 1.000 now\n",
    )


def test_the_consistency_command_fails_where_nothing_is_shown(tmp_path):
    """Two rows do not show that a judge is stable: exit code 1."""
    result = CliRunner().invoke(app, ["consistency", str(write(tmp_path / "rows.jsonl", CALLS))])

    assert (result.exit_code, result.stdout.splitlines()[0]) == (1, "2 rows, judged by lexical-v1 and lexical-v1")
