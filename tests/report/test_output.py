"""The report in a terminal, as JSON and as a file."""

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from ragtrace.errors import ConfigError
from ragtrace.report import words
from ragtrace.report.assemble import Frame, make_report
from ragtrace.report.command import as_line, print_report, write_page, write_table
from ragtrace.report.estimates import delivery_loss
from ragtrace.report.rates import judging_cost
from ragtrace.report.terminal import cut_passage
from tests.build import delivery
from tests.report.samples import (
    MADE_AT,
    SOURCE,
    STARTED_AT,
    clear,
    contradicted,
    refused,
    report,
    sample,
    unseen,
)
from tests.report.windows import window_of


def _printed(made) -> str:
    out = StringIO()
    print_report(made, Console(file=out, width=160))
    return out.getvalue()


def _row(text: str, name: str) -> str:
    """Return the line that begins with a metric's name, its columns one space apart."""
    return " ".join(next(line for line in text.splitlines() if line.startswith(f"{name} ")).split())


def test_terminal_shows_rates_and_the_worst_answers():
    """Rates with reasons, causes, then each bad claim with its reason and the passage that was cut."""
    text = _printed(report(contradicted(), clear(), refused(), unseen()))

    assert "1 of 2 judged answers says more than the generator was told." in text
    assert _row(text, "faithfulness") == "faithfulness 0.67 ≥ 0.8 fail 2 refusal 1"
    assert "What to try\ndelivery: delivery loss 0.25, 87% of retrieved text received: raise the token budget" in text
    assert "contradicted: “Batteries have 90 months.”\n     The passage says 24." in text
    assert "not supported: “Labels are free”" in text
    assert "passage 2 (r) cut: 64% arrived\n     …Labels are free in Europe." in text
    assert "http://127.0.0.1:9/project/p1/traces/t1" in text


def test_terminal_shows_the_pooled_rate():
    """The share over all claims stands beside the mean with its own interval."""
    records = [replace(r, units={"faithfulness": 2}) for r in window_of([1.0, 0.5] * 20)]
    row = _row(_printed(make_report(records, {}, source=SOURCE, made_at=MADE_AT)), "faithfulness")

    assert row == "faithfulness 0.75 0.66–0.83 0.75 (0.66–0.83) ≥ 0.8 fail 40"


def test_own_metrics_have_no_pass_mark():
    """A metric of the user's own has a mean and no threshold."""
    made = clear()

    assert _row(_printed(report(replace(made, record=replace(made.record, scores={"tone": 0.5})))), "tone") == (
        "tone 0.50 1"
    )


def test_terminal_shows_an_empty_window():
    """Nothing captured is a sentence, and means are dashes."""
    assert _row(_printed(report()), "faithfulness") == "faithfulness – ≥ 0.8 0"


def test_passage_whose_loss_matters_is_shown():
    """Of several cut passages the one that holds the reference is named; a call may have lost nothing."""
    assert [p and p.number for p in map(cut_passage, report(contradicted(), clear(), unseen()).shown)] == [
        2,
        None,
        None,
    ]


def test_terminal_obeys_no_text_of_others():
    """Escape sequences, turned writing, lone surrogates and markup in a question are shown, not obeyed."""
    hostile = sample(
        1, question="\x1b[2J\u202egnp\u202c \ud800 [red]x[/red]", answer="A.", delivered=delivery(), outcome=None
    )

    assert "1. \ufffd[2J\ufffdgnp\ufffd \ufffd [red]x[/red]" in _printed(report(hostile))


def test_terminal_compares_windows_and_segments():
    """The window before and each tag have a table; where nothing can be compared a line says so."""
    now = window_of([0.3] * 20 + [0.4] * 20, labels={"tag": ("[b]shop",)})
    frame = Frame(before=window_of([1.0, 0.9] * 20), compared_since=STARTED_AT, segment="tag")
    made = make_report(now, {}, source=SOURCE, made_at=MADE_AT, frame=frame)
    alone = make_report(now, {}, source=SOURCE, made_at=MADE_AT, frame=Frame(compared_since=STARTED_AT))

    assert _row(_printed(made), "faithfulness").startswith("faithfulness 0.35 0.")
    assert "-0.60 (-0.6" in _printed(made)
    assert "most likely since 1 Mar 2026" in _printed(made)
    assert _row(_printed(made), "[b]shop").startswith("[b]shop 40 0.35 (")
    assert "so nothing is compared." in _printed(alone)
    assert words.compared(report()) == ""


def test_table_is_written(tmp_path):
    """`--csv` writes the numbers."""
    write_table(report(clear()), tmp_path / "numbers.csv")

    assert (tmp_path / "numbers.csv").read_text(encoding="utf-8").startswith("part,group,metric,value,")


@pytest.mark.parametrize(
    ("cost", "said"),
    [
        ({}, "Cost of judging: no call of a model is on record."),
        (
            {"judge_calls": 2, "prompt_tokens": 1500, "completion_tokens": 80},
            "Cost of judging: 2 calls, 1,500 prompt and 80 completion tokens; set [prices] to see it in money.",
        ),
        (
            {"judge_calls": 1, "prompt_tokens": 9, "completion_tokens": 1, "cost": 0.25},
            "Cost of judging: 1 call, 9 prompt and 1 completion tokens, 0.2500 in the currency of [prices].",
        ),
    ],
)
def test_cost_of_judging_is_said(cost, said):
    """Tokens always, money where the judge's model has a price."""
    made = clear()
    assert made.record.outcome is not None
    dear = replace(made, record=replace(made.record, outcome=replace(made.record.outcome, **cost)))

    assert words.cost(report(dear).cost) == said


def test_cost_without_a_price_is_left_out_and_counted():
    """Of two judges one has no price: the money is that of the other, and says so."""
    made = [
        replace(r, outcome=replace(r.outcome, judge_calls=1, cost=cost))
        for r, cost in ((clear().record, 0.5), (contradicted().record, None))
        if r.outcome
    ]

    assert words.cost(judging_cost(made)).endswith(
        "0.5000 in the currency of [prices], 1 of the calls without a price."
    )


def test_delivery_loss_is_said():
    """What retrieval found and the generator was not sent, in recall and in text; or that it is not known."""
    many = [
        replace(r, scores={"retrieval_recall": 0.9, "context_recall": r.scores["x"], "context_delivery": 0.5})
        for r in window_of([0.4, 0.6] * 10, name="x")
    ]

    assert words.loss(delivery_loss(many)).startswith("Delivery: 0.40 (0.")
    assert words.loss(delivery_loss(many)).endswith(" of the retrieved text was received.")
    assert words.loss(delivery_loss([])) == "Delivery: not known for any answer."


def test_json_is_the_whole_report():
    """The JSON has every field, with times in ISO 8601."""
    read = json.loads(as_line(report(contradicted())))

    assert (read["calls"], read["made_at"], read["shown"][0]["passages"][1]["fate"]) == (
        1,
        "2026-03-02T09:30:00+00:00",
        "cut",
    )


def test_page_is_written_whole(tmp_path):
    """The page replaces an earlier one and leaves no draft behind; its folder is made."""
    path = tmp_path / "new" / "report.html"
    write_page(report(clear()), path)

    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert [p.name for p in path.parent.iterdir()] == ["report.html"]


def test_devices_and_links_stay_what_they_are(tmp_path):
    """A link is written through, a pipe or device written to, a directory refused; none becomes another file."""
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    write_table(report(clear()), tmp_path / "link.csv")
    write_table(report(clear()), Path("/dev/null"))

    with pytest.raises(ConfigError, match=r"^--csv .*: cannot be written \(Is a directory\): name another file$"):
        write_table(report(clear()), tmp_path)
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() != "old"
    assert Path("/dev/null").is_char_device()


def test_unwritable_page_is_one_line(tmp_path):
    """A path that cannot be written is named with its option."""
    (tmp_path / "file").write_text("")

    with pytest.raises(ConfigError, match=r"^--html .*file/report.html: cannot be written \(.*\): name another file$"):
        write_page(report(), tmp_path / "file" / "report.html")
