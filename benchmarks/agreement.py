"""How far a judge agrees with people: balanced accuracy, AUROC and Spearman by data set, language and kind of claim.

Run: make agreement DATA=dir [JUDGE=endpoint MODEL=name], or python benchmarks/agreement.py --data dir
     [--judge embedded|endpoint] [--model name] [--limit rows]
An endpoint is taken from OPENAI_BASE_URL and OPENAI_API_KEY. The format of the data is in docs/agreement.md.
"""

import argparse
import asyncio
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

from ragtrace.errors import RagtraceError
from ragtrace.judge import make_judge
from ragtrace.scorer.labels import JudgedLabel, judge_labels, read_labels
from ragtrace.settings import Settings, load_settings
from ragtrace.stats.agreement import auroc, balanced_accuracy, spearman

NEEDED = (
    "make agreement needs DATA=dir: a folder of JSON lines files, each row with `contexts` and `claims` of `text` and "
    "`supported`; see docs/agreement.md"
)
HEAD = f"{'data set':<22}{'lang':<6}{'claims':>7}{'BAcc':>7}{'AUROC':>7}{'Spearman':>10}{'undec.':>8}{'none':>6}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Hold a judge against labels of people.")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--judge", choices=("embedded", "endpoint"), default="embedded")
    parser.add_argument("--model")
    parser.add_argument("--limit", type=int, help="rows of each file")
    arguments = parser.parse_args()
    if arguments.data is None:
        print(NEEDED)
        return 0
    try:
        files = sorted(arguments.data.glob("*.jsonl"))
        if not files:
            print(f"{arguments.data}: no *.jsonl there. {NEEDED}", file=sys.stderr)
            return 2
        settings = choose_settings(arguments.judge, arguments.model)
        asyncio.run(measure(settings, files, limit=arguments.limit))
    except RagtraceError as exc:
        print(f"agreement: {exc}", file=sys.stderr)
        return 2
    return 0


def choose_settings(judge: str, model: str | None) -> Settings:
    if judge == "embedded":
        settings = load_settings()
        return settings.model_copy(update={"judge_model": None})
    return load_settings(overrides={"judge_model": model})


async def measure(settings: Settings, files: Sequence[Path], *, limit: int | None) -> None:
    judge = make_judge(settings)
    try:
        print(
            f"judge {judge.model}, fingerprint {judge.fingerprint}, {'' if judge.is_calibrated else 'not '}calibrated"
        )
        print(HEAD)
        totals = []
        for path in files:
            rows = read_labels(path)[:limit]
            began = time.process_time()
            judged = await judge_labels(judge, rows, concurrency=settings.concurrency)
            seconds = time.process_time() - began
            if any(one.support is not None for one in judged):
                show(path.stem, judged)
                totals.append((judged, seconds))
            else:
                print(f"{path.stem:<22}no claim was judged: questions, or passages in another language")
        if totals:
            summarise(totals)
    finally:
        await judge.aclose()


def show(name: str, judged: Sequence[JudgedLabel]) -> None:
    print(line(name, judged[0].row.language, judged))
    for kind, of_kind in by_kind(judged).items():
        print(line(f"  against {kind}", "", of_kind))


def by_kind(judged: Sequence[JudgedLabel]) -> Mapping[str, list[JudgedLabel]]:
    """Return the supported claims with each kind of unsupported ones."""
    supported = [one for one in judged if one.label.is_supported]
    found: dict[str, list[JudgedLabel]] = defaultdict(lambda: list(supported))
    for one in judged:
        if not one.label.is_supported and one.label.kind:
            found[one.label.kind].append(one)
    return found


def line(name: str, language: str, judged: Sequence[JudgedLabel]) -> str:
    actual = [one.label.is_supported for one in judged]
    supports = [0.5 if one.support is None else one.support for one in judged]
    undecided = fmean(0.4 < support < 0.6 for support in supports)
    numbers = "".join(
        f"{'-' if value is None else f'{value:.3f}':>{width}}"
        for value, width in (
            (balanced_accuracy([support > 0.5 for support in supports], actual), 7),
            (auroc(supports, actual), 7),
            (by_row(judged), 10),
            (undecided, 8),
        )
    )
    return f"{name:<22}{language:<6}{len(judged):>7}{numbers}{sum(one.support is None for one in judged):>6}"


def by_row(judged: Sequence[JudgedLabel]) -> float | None:
    """Return Spearman's correlation of the share of supported claims a row; None with one claim a row."""
    rows: dict[int, list[JudgedLabel]] = defaultdict(list)
    for one in judged:
        rows[id(one.row)].append(one)
    if all(len(labels) == 1 for labels in rows.values()):
        return None
    correlation = spearman(
        [fmean(one.label.is_supported for one in labels) for labels in rows.values()],
        [fmean(0.5 if one.support is None else one.support for one in labels) for labels in rows.values()],
    )
    return correlation.rho if correlation else None


def summarise(totals: Sequence[tuple[Sequence[JudgedLabel], float]]) -> None:
    accuracies, areas = [], []
    for judged, _ in totals:
        actual = [one.label.is_supported for one in judged]
        supports = [0.5 if one.support is None else one.support for one in judged]
        accuracies.append(balanced_accuracy([support > 0.5 for support in supports], actual))
        areas.append(auroc(supports, actual))
    claims = sum(len(judged) for judged, _ in totals)
    milliseconds = 1_000 * sum(seconds for _, seconds in totals) / claims
    print(
        f"mean of {len(totals)} sets: BAcc {mean(accuracies)}, AUROC {mean(areas)}; {milliseconds:.2f} ms CPU a claim"
    )


def mean(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{fmean(known):.3f}" if known else "-"


if __name__ == "__main__":
    sys.exit(main())
