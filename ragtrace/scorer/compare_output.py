"""Show a comparison: lines for people, JSON, a CSV file."""

import csv
import io
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Final

from ragtrace import files
from ragtrace.extract import json_text
from ragtrace.model import JsonValue
from ragtrace.scorer.compare import FEWEST_ROWS, Change, Comparison, Ruling
from ragtrace.stats import Estimate

_COLUMNS: Final = (
    "layer",
    "metric",
    "kind",
    "baseline",
    "candidate",
    "difference",
    "low",
    "high",
    "effect",
    "pairs",
    "baseline_n",
    "candidate_n",
)


def as_text(found: Comparison) -> str:
    """Return the comparison by layer, the kinds of questions below each metric, then what the gate says."""
    lines = [
        f"baseline {found.baseline_rows} rows, candidate {found.candidate_rows} rows, {found.pairs} questions on both"
    ]
    if found.is_rough:
        lines.append(f"A rough screening: fewer than {FEWEST_ROWS} rows on a side decide nothing.")
    lines += _by_layer(found)
    if not found.changes:
        lines.append("No metric has numbers on both sides.")
    lines += [_ruling(ruling) for ruling in found.rulings]
    return "\n".join(lines)


def as_json(found: Comparison) -> dict[str, JsonValue]:
    """Return the same, every number unrounded."""
    return {
        "baseline_rows": found.baseline_rows,
        "candidate_rows": found.candidate_rows,
        "pairs": found.pairs,
        "is_rough": found.is_rough,
        "passes": found.passes,
        "changes": [_change_json(change) for change in found.changes],
        "rulings": [
            {"metric": r.metric, "role": "target" if r.is_target else "guard", "holds": r.holds, "margin": r.margin}
            for r in found.rulings
        ],
    }


def write_csv(found: Comparison, path: Path) -> None:
    """Write a row a metric and kind.

    Raises:
        ConfigError: the file cannot be written.
    """
    out = io.StringIO(newline="")
    table = csv.DictWriter(out, _COLUMNS)
    table.writeheader()
    table.writerows(_cells(change) for change in found.changes)
    files.write_text(path, out.getvalue(), named=f"--csv {path}")


def _by_layer(found: Comparison) -> Iterator[str]:
    overall = [change for change in found.changes if change.kind is None]
    for number, change in enumerate(overall):
        if number == 0 or change.layer != overall[number - 1].layer:
            yield change.layer
        yield _line(change, change.metric, indent=2)
        of_kinds = (c for c in found.changes if c.kind is not None and c.metric == change.metric)
        yield from (_line(c, str(c.kind), indent=4) for c in of_kinds)


def _line(change: Change, name: str, *, indent: int) -> str:
    label = f"{' ' * indent}{name}"
    sides = f"{_shown(change.baseline)} -> {_shown(change.candidate)}"
    how = f"{change.pairs} pairs" if change.pairs else f"{change.baseline.n} against {change.candidate.n}"
    return f"{label:<28} {sides:<16} {_difference(change):<28} {change.effect:<8} ({how})".rstrip()


def _difference(change: Change) -> str:
    value, low, high = change.difference.value, change.difference.low, change.difference.high
    if value is None or low is None or high is None:
        return ""
    return f"{value:+.3f} [{low:+.3f}, {high:+.3f}]"


def _shown(estimate: Estimate) -> str:
    return "-" if estimate.value is None else f"{estimate.value:.3f}"


def _ruling(ruling: Ruling) -> str:
    role = "target" if ruling.is_target else "guard"
    if ruling.change is None:
        return f"FAILED {role} {ruling.metric}: no number on both sides"
    change = _difference(ruling.change) or "too few rows to tell"
    rule = "must be better by its whole interval" if ruling.is_target else f"may lose less than {ruling.margin:g}"
    return f"{'passed' if ruling.holds else 'FAILED'} {role} {ruling.metric}: {change}; {rule}"


def _change_json(change: Change) -> dict[str, JsonValue]:
    return json_text.clean_object(
        {
            "metric": change.metric,
            "layer": change.layer,
            "kind": change.kind,
            "baseline": asdict(change.baseline),
            "candidate": asdict(change.candidate),
            "difference": asdict(change.difference),
            "pairs": change.pairs,
            "effect": change.effect,
        }
    )


def _cells(change: Change) -> dict[str, str | float | None]:
    return {
        "layer": change.layer,
        "metric": change.metric,
        "kind": change.kind,
        "baseline": change.baseline.value,
        "candidate": change.candidate.value,
        "difference": change.difference.value,
        "low": change.difference.low,
        "high": change.difference.high,
        "effect": change.effect,
        "pairs": change.pairs,
        "baseline_n": change.baseline.n,
        "candidate_n": change.candidate.n,
    }
