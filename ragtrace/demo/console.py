"""Print what the demo found."""

from collections.abc import Iterable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ragtrace.demo.faults import FaultKind
from ragtrace.demo.findings import Findings, PlantedFault
from ragtrace.report import terminal
from ragtrace.report.content import Report

_WORST = 3
_KINDS: dict[FaultKind, str] = {
    "invented": "invented",
    "swapped": "swapped entity",
    "contradicted": "contradicted",
    "from_cut_text": "taken from cut text",
}


def print_findings(console: Console, report: Report, findings: Findings) -> None:
    """Print rates, planted faults caught and missed, and the three worst answers."""
    console.print(terminal.render_rates(report), "")
    if findings.faults:
        console.print(_fault_table(findings), "")
        for line in _misses(findings):
            console.print(line, soft_wrap=True)
    else:
        console.print("The generator is a real model: no fault was planted, so none can be counted.\n")
    console.print(Text("The three worst answers", style="bold"), "")
    console.print(terminal.render_calls(report.shown[:_WORST]), soft_wrap=True)


def _fault_table(findings: Findings) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for title in ("planted fault", "planted", "caught", "missed", "not judged"):
        table.add_column(title, justify="left" if title == "planted fault" else "right")
    for kind, faults in findings.by_kind().items():
        table.add_row(_KINDS[kind], *_counts(faults))
    table.add_row("all", *_counts(findings.faults), style="bold")
    return table


def _counts(faults: tuple[PlantedFault, ...]) -> tuple[str, ...]:
    caught = sum(fault.is_caught for fault in faults)
    judged = sum(fault.is_judged for fault in faults)
    return tuple(map(str, (len(faults), caught, judged - caught, len(faults) - judged)))


def _misses(findings: Findings) -> Iterable[Text]:
    for fault in findings.faults:
        if not fault.is_caught:
            how = "missed" if fault.is_judged else "not judged"
            yield Text.assemble((f"{how}, {_KINDS[fault.entry.kind]}: ", "yellow"), f"“{fault.entry.planted}”")
    alarms = len(findings.false_alarms)
    yield Text(f"False alarms: {alarms} of {findings.honest} sentences in which nothing was planted.", style="dim")
    for sentence in findings.false_alarms:
        yield Text.assemble(("false alarm: ", "dim"), f"“{sentence}”")
    yield Text()
