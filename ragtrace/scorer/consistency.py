"""What `ragtrace consistency` does: judge the same rows twice and say whether the verdicts can be relied on."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Final

from ragtrace import files
from ragtrace.errors import ConfigError
from ragtrace.judge import judge_calls, make_judge
from ragtrace.model import Claim, RagCall, Verdicts
from ragtrace.scorer.rows import BadRow, parse_line
from ragtrace.settings import Settings
from ragtrace.stats import Estimate, agreement, ratio
from ragtrace.stats.alpha import Alpha, alpha_of_categories, alpha_of_numbers

STABLE_FROM: Final = 0.7
FEWEST_ROWS: Final = 50
_ORDER: Final = ("contradicted", "unsupported", "undecided", "supported")


@dataclass(frozen=True, slots=True, kw_only=True)
class Consistency:
    """How far two runs agree."""

    judges: tuple[str, str]
    rows: int
    """Rows for which both runs have a share of supported claims."""
    correlation: agreement.Correlation | None
    """Of these shares; None where one run gives every row the same."""
    share_alpha: Alpha | None
    verdict_alpha: Alpha | None
    """Of sentences, clustered by row."""
    flips: Estimate
    """Share of the sentences whose verdict differs, clustered by row."""
    sentences: int
    ties: float
    """Rows that have the commonest share of the first run."""

    @property
    def is_stable(self) -> bool:
        """The runs agree well enough to compare numbers."""
        return self.correlation is not None and self.correlation.rho >= STABLE_FROM

    def as_text(self) -> str:
        """Return lines for people: figures first, then what to make of them."""
        return "\n".join((*self._figures(), *self._warnings()))

    def _figures(self) -> list[str]:
        rho = self.correlation
        return [
            f"{self.rows} rows, judged by {self.judges[0]} and {self.judges[1]}",
            "Spearman of the shares of supported claims: "
            + (
                f"{rho.rho:.3f}, 95 % interval {rho.low:.3f} to {rho.high:.3f}, p {rho.p:.2g}" if rho else "not defined"
            ),
            f"Krippendorff's alpha of the shares: {_shown(self.share_alpha)}",
            f"Krippendorff's alpha of the verdicts: {_shown(self.verdict_alpha)}",
            f"flip rate of {self.sentences} sentences: {_shown_share(self.flips)}",
            f"ties: {self.ties:.0%} of the rows have the commonest share",
        ]

    def _warnings(self) -> list[str]:
        found = []
        if self.rows < FEWEST_ROWS:
            found.append(f"warning: {self.rows} rows; with fewer than {FEWEST_ROWS} these figures move a lot by chance")
        if self.correlation is None:
            found.append(
                "warning: a run gives every row the same share, or there are fewer than four: no rank correlation"
            )
        elif self.correlation.includes_zero:
            found.append("warning: too few samples: the interval includes 0")
        elif not self.is_stable:
            found.append(f"warning: the judge is not stable enough: {self.correlation.rho:.2f} is below {STABLE_FROM}")
        return found


def _shown(alpha: Alpha | None) -> str:
    if alpha is None:
        return "not defined"
    return f"{alpha.value:.3f}, 95 % interval {alpha.low:.3f} to {alpha.high:.3f}"


def _shown_share(share: Estimate) -> str:
    if share.value is None or share.low is None or share.high is None:
        return "too few rows to say"
    return f"{share.value:.1%}, 95 % interval {share.low:.1%} to {share.high:.1%}"


def read_calls(path: Path) -> list[RagCall]:
    """Read the rows that `ragtrace judge` takes.

    Raises:
        ConfigError: the file or a row cannot be read.
    """
    calls = []
    for number, line in files.lines(files.read_text(path, expected="a file of JSON lines")):
        row = parse_line(line, number)
        if isinstance(row, BadRow):
            raise ConfigError(f"{path}:{number}: {row.problem}")
        calls.append(row)
    return calls


async def run_consistency(settings: Settings, path: Path, *, other_model: str | None = None) -> Consistency:
    """Judge the rows of a file twice, the second time by another model if one is named.

    Raises:
        ConfigError: a setting is wrong, or the file cannot be read.
    """
    calls = read_calls(path)
    second = settings.model_copy(update={"judge_model": other_model}) if other_model else settings
    name, first_run = await _judge(settings, calls)
    other_name, second_run = await _judge(second, calls)
    return compare((name, other_name), first_run, second_run)


async def _judge(settings: Settings, calls: Sequence[RagCall]) -> tuple[str, list[Verdicts | None]]:
    """Judge with an empty state: a reply out of the cache is the same reply, not the same judgement."""
    with TemporaryDirectory() as folder:
        judge = make_judge(settings.model_copy(update={"state": Path(folder) / "state.sqlite"}))
        try:
            numbers = {id(call): number for number, call in enumerate(calls)}
            found: list[Verdicts | None] = [None] * len(calls)
            async for call, outcome in judge_calls(judge, calls, settings.concurrency):
                found[numbers[id(call)]] = outcome if isinstance(outcome, Verdicts) else None
        finally:
            await judge.aclose()
        return judge.model, found


def compare(
    judges: tuple[str, str], first: Sequence[Verdicts | None], second: Sequence[Verdicts | None]
) -> Consistency:
    """Return how far two runs over the same rows agree; rows without a share in either run are left out."""
    both = [(a, b) for a, b in zip(first, second, strict=True) if a and b]
    pairs = [(_share(a), _share(b)) for a, b in both]
    shares = [(a, b) for a, b in pairs if a is not None and b is not None]
    rows = [_sentence_pairs(a, b) for a, b in both]
    verdicts = [(pair, number) for number, row in enumerate(rows) for pair in row]
    return Consistency(
        judges=judges,
        rows=len(shares),
        correlation=agreement.spearman([a for a, _ in shares], [b for _, b in shares]),
        share_alpha=alpha_of_numbers(shares),
        verdict_alpha=alpha_of_categories([pair for pair, _ in verdicts], [row for _, row in verdicts]),
        flips=ratio([sum(a != b for a, b in row) for row in rows], [len(row) for row in rows]),
        sentences=len(verdicts),
        ties=agreement.share_of_ties([a for a, _ in shares]),
    )


def _share(verdicts: Verdicts) -> float | None:
    """Return the share of the answer's decided claims that are supported."""
    decided = [c for sentence in verdicts.answer for c in sentence.claims if c.verdict != "undecided"]
    return fmean(claim.verdict == "supported" for claim in decided) if decided else None


def _sentence_pairs(one: Verdicts, other: Verdicts) -> list[tuple[str, str]]:
    """Return both runs' worst verdict on each sentence that both found claims in."""
    others = {sentence.sentence.number: sentence.claims for sentence in other.answer}
    return [
        (_worst(sentence.claims), _worst(claims))
        for sentence in one.answer
        if sentence.claims and (claims := others.get(sentence.sentence.number))
    ]


def _worst(claims: Sequence[Claim]) -> str:
    return min((claim.verdict for claim in claims), key=_ORDER.index)
