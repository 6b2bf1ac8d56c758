"""`ragtrace doctor`, `ragtrace calibrate` and `ragtrace consistency`: may this judge be trusted?"""

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer

from ragtrace.cli.app import START, TRUST, app
from ragtrace.cli.common import Concurrency, JudgeModel, extra
from ragtrace.settings import load_settings


@app.command(rich_help_panel=START)
def doctor() -> None:
    """Look at everything that scoring needs, and say how to mend what is wrong."""
    with extra("score"):
        from ragtrace.scorer import doctor as doctor_
    findings = asyncio.run(doctor_.examine(load_settings))
    for finding in findings:
        typer.echo(f"{finding.level:<5} {finding.subject:<9} {finding.text}")
    sys.exit(1 if any(finding.level == "fail" for finding in findings) else 0)


@app.command(rich_help_panel=TRUST)
def calibrate(
    labels: Annotated[Path, typer.Argument(help="JSON lines with 30 to 60 claims that people labelled.")],
    out: Annotated[Path, typer.Option(help="File to write; RAGTRACE_JUDGE_CALIBRATION names it then.")],
) -> None:
    """Place the embedded judge's threshold where your own labels say."""
    with extra("score"):
        from ragtrace.scorer.calibrating import run_calibrate
    found = asyncio.run(run_calibrate(labels, out))
    typer.echo(
        f"{out}: threshold {found.log_odds:+.2f} from {found.labels} labels; balanced accuracy on them "
        f"{found.before:.3f} before, {found.balanced_accuracy:.3f} now"
    )


@app.command(rich_help_panel=TRUST)
def consistency(
    file: Annotated[Path, typer.Argument(help="JSON lines, as `ragtrace judge` takes them; at least 50.")],
    judge_model: JudgeModel = None,
    other_model: Annotated[str | None, typer.Option(help="Second judge; default: the same one again.")] = None,
    concurrency: Concurrency = None,
) -> None:
    """Judge the same rows twice and say whether the judge is stable; exit code 1 where it is not."""
    with extra("score"):
        from ragtrace.scorer.consistency import run_consistency
    settings = load_settings(overrides={"judge_model": judge_model, "concurrency": concurrency})
    found = asyncio.run(run_consistency(settings, file, other_model=other_model))
    typer.echo(found.as_text())
    sys.exit(0 if found.is_stable else 1)
