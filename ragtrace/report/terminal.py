"""Write a report for a terminal."""

import unicodedata
from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ragtrace.report import words
from ragtrace.report.content import MetricRates, Report, ShownCall, ShownPassage
from ragtrace.stats import Estimate

_TURNING = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
"""Bidirectional classes of characters that turn the direction of what follows."""
_STYLES = {"contradicted": "bold red", "unsupported": "yellow", "clear": "green", "unscored": "dim"}


def render_rates(report: Report) -> RenderableType:
    """Return headline, window and one row a metric."""
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("metric", no_wrap=True)
    table.add_column("mean", justify="right", no_wrap=True)
    table.add_column("95 %", no_wrap=True)
    table.add_column("pooled (95 %)", no_wrap=True)
    table.add_column("threshold", no_wrap=True)
    table.add_column("scored", justify="right", no_wrap=True)
    table.add_column("no number, because")
    for rates in report.rates:
        table.add_row(
            _line(rates.name),
            mean(rates),
            _interval(rates.estimate),
            _pooled(rates),
            _pass_mark(rates),
            str(rates.scored),
            Text(unscored(rates), style="dim"),
        )
    return Group(Text(report.headline, style="bold"), Text(words.window(report), style="dim"), "", table)


def render_causes(report: Report) -> RenderableType:
    """Return how often answers went wrong at each place."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(justify="right")
    for cause in report.causes:
        table.add_row(str(cause.calls), cause.title, Text(cause.text, style="dim"))
    return table


def render_changes(report: Report) -> RenderableType:
    """Return each headline metric beside the window before."""
    table = _plain_table("metric", "before", "now", "difference")
    for change in report.changes:
        table.add_row(change.name, words.estimate(change.before), words.estimate(change.now), words.change(change))
    return table


def render_corrected(report: Report) -> RenderableType:
    """Return the share of wholly supported answers by the judge beside the corrected one."""
    table = _plain_table("wholly supported answers", "by the judge", "corrected")
    for share in report.corrected:
        name = _line(f"{share.judge}, {share.language}")
        table.add_row(name, words.estimate(share.raw), words.estimate(share.corrected))
    return Group(table, *(_line(words.stands_on(share), style="dim") for share in report.corrected))


def render_segments(report: Report) -> RenderableType:
    """Return the headline metrics of each segment."""
    names = [name for name in words.HEADLINE_METRICS if any(s.estimates[name].n for s in report.segments)]
    table = _plain_table(str(report.segmented_by), "calls", *names)
    for segment in report.segments:
        table.add_row(
            _line(segment.value), str(segment.calls), *(words.estimate(segment.estimates[name]) for name in names)
        )
    return table


def _plain_table(*headings: str) -> Table:
    return Table(*headings, box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))


def render_advice(report: Report) -> RenderableType:
    """Return what the means point to, first step first."""
    lines = [Text(f"{a.layer}: {a.pattern}: {', then '.join(a.steps)}") for a in report.advice]
    return Group(Text("What to try", style="bold"), *lines)


def render_calls(calls: Iterable[ShownCall]) -> RenderableType:
    """Return each answer's worst claim and the passage that was cut."""
    return Group(*(line for call in calls for line in (*_call_lines(call), Text())))


def printable(text: str) -> str:
    """Replace what a terminal obeys in place of showing: escapes, and marks that turn the direction of writing."""
    return "".join("\ufffd" if _is_obeyed(character) else character for character in text)


def _is_obeyed(character: str) -> bool:
    if unicodedata.category(character) in ("Cc", "Cs"):
        return character not in "\n\t"
    return unicodedata.bidirectional(character) in _TURNING


def mean(rates: MetricRates) -> str:
    """Write a mean with two digits, or a dash where nothing was scored."""
    return "–" if rates.mean is None else f"{rates.mean:.2f}"


def _interval(found: Estimate) -> str:
    return "" if found.low is None or found.high is None else f"{found.low:.2f}–{found.high:.2f}"


def _pooled(rates: MetricRates) -> str:
    found = rates.pooled
    return "" if found is None or found.value is None else f"{found.value:.2f} ({_interval(found)})"


def _pass_mark(rates: MetricRates) -> str:
    if rates.pass_mark is None:
        return ""
    verdict = {True: "pass", False: "fail", None: ""}[rates.has_passed]
    return f"{'≤' if rates.is_lower_better else '≥'} {rates.pass_mark:g} {verdict}".rstrip()


def unscored(rates: MetricRates) -> str:
    """Write the reasons, as the scores name them, with their counts."""
    return ", ".join(f"{reason} {count}" for reason, count in rates.unscored.items())


def cut_passage(call: ShownCall) -> ShownPassage | None:
    """Return the passage whose loss matters most: it holds the reference, or what the answer says, or is the first."""
    lost = [passage for passage in call.passages or () if passage.fate in ("cut", "dropped")]
    quoted = {sentence.in_cut_text for sentence in call.answer}
    return min(lost, key=lambda p: (not p.holds_reference, p.number not in quoted, p.number), default=None)


def _call_lines(call: ShownCall) -> Iterable[Text]:
    yield _line(f"{call.number}. {call.question}", style="bold")
    yield _line(f"   {call.verdict}", style=_STYLES[call.severity])
    for sentence in call.answer:
        for claim in sentence.claims:
            if claim.verdict != "supported":
                yield _line(f"   {words.VERDICTS[claim.verdict]}: “{claim.text or sentence.text}”")
                if claim.reason:
                    yield _line(f"     {claim.reason}", style="dim")
    for finding in call.findings:
        yield _line(f"   {finding.text}", style="dim")
    lost = cut_passage(call)
    if lost:
        yield _line(f"   passage {lost.number} ({lost.id}) {words.fate(lost)}", style="dim")
        yield _line(f"     …{_excerpt(lost)}", style="dim strike")
    yield _line(f"   {call.url}", style="dim")


def _line(text: str, *, style: str = "") -> Text:
    return Text(printable(text), style=style)


def _excerpt(passage: ShownPassage) -> str:
    withheld = " ".join(piece.text for piece in passage.pieces if not piece.arrived)
    folded = " ".join(withheld.split())
    return folded if len(folded) <= 160 else folded[:159] + "…"
