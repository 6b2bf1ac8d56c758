"""The report in a terminal, as JSON and as a file."""

import json
from io import StringIO

import pytest
from rich.console import Console

from ragtrace.errors import ConfigError
from ragtrace.report.command import as_line, print_report, write_page
from ragtrace.report.terminal import cut_passage
from tests.report.samples import clear, contradicted, refused, report, unseen


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


def test_unwritable_page_is_one_line(tmp_path):
    """A path that cannot be written is named with its option."""
    (tmp_path / "file").write_text("")

    with pytest.raises(ConfigError, match=r"^--html .*file/report.html: cannot be written \(.*\); name another file$"):
        write_page(report(), tmp_path / "file" / "report.html")
