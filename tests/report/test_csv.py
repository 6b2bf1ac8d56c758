"""The numbers as a table for other programs."""

import csv
import io
from dataclasses import replace

from ragtrace.report.as_csv import HEADER, to_csv
from ragtrace.report.assemble import Frame, make_report
from tests.report.samples import MADE_AT, SOURCE
from tests.report.windows import window_of


def _table(**frame) -> list[dict[str, str]]:
    labels = {"tag": ("=HYPERLINK(1)",)}
    made = make_report(
        window_of([1.0, 0.9] * 20, labels=labels), {}, source=SOURCE, made_at=MADE_AT, frame=Frame(**frame)
    )
    return list(csv.DictReader(io.StringIO(to_csv(made))))


def test_each_estimate_is_a_row():
    """Window, delivery, trend, comparison and segments each have their rows, with interval and counts."""
    rows = _table(before=window_of([0.2, 0.3] * 20), segment="tag")

    assert tuple(rows[0]) == HEADER
    assert list(dict.fromkeys(row["part"] for row in rows)) == ["window", "delivery", "hour", "before", "change", "tag"]
    assert (rows[0]["metric"], rows[0]["value"], rows[0]["n"]) == ("faithfulness", "0.95", "40")
    assert float(rows[0]["low"]) < 0.95 < float(rows[0]["high"])


def test_pooled_rates_are_rows():
    """The share over all claims stands beside the mean over answers, with what was pooled as its group."""
    records = [replace(r, units={"faithfulness": 2}) for r in window_of([1.0, 0.5] * 20)]
    rows = csv.DictReader(io.StringIO(to_csv(make_report(records, {}, source=SOURCE, made_at=MADE_AT))))

    assert [(r["group"], r["metric"], r["value"], r["n"]) for r in rows if r["part"] == "pooled"] == [
        ("claims", "faithfulness", "0.75", "40")
    ]


def test_cells_are_no_formulas():
    """A tag that a spreadsheet would run is text."""
    assert {row["group"] for row in _table(segment="tag") if row["part"] == "tag"} == {"'=HYPERLINK(1)"}
