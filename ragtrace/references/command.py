"""What `ragtrace references` does between its arguments and its output."""

from dataclasses import dataclass, replace
from pathlib import Path

from ragtrace.errors import ConfigError
from ragtrace.judge.llm import LlmJudge
from ragtrace.judge.reference_check import Fit, check_references
from ragtrace.langfuse import open_langfuse
from ragtrace.langfuse.datasets import StoredItem, dataset_ids, read_items
from ragtrace.model import JsonValue
from ragtrace.references.book import ReferenceBook
from ragtrace.references.rows import ReferenceRow, read_file, read_row, replace_source, update
from ragtrace.settings import Settings

_MOST_NAMES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What became of a source."""

    source: str
    rows: int
    """References taken over."""
    lacking: int
    """Items without a question or an expected output."""
    total: int
    """References in the file now."""

    def as_text(self, path: Path) -> str:
        """Return one line for people."""
        left = f"; {self.lacking} items without question or expected output left out" if self.lacking else ""
        return f"{self.source}: {self.rows} references; {self.total} in {path}{left}"


async def sync_dataset(settings: Settings, dataset: str) -> Kept:
    """Take over the items of a Langfuse dataset, in place of those that came from it before.

    Raises:
        ConfigError: Langfuse is not named or has no such dataset, or the file of references is wrong.
        BackendError: Langfuse could not be read.
    """
    async with open_langfuse(settings) as api:
        known = await dataset_ids(api.connection)
        if dataset not in known:
            names = ", ".join(map(repr, sorted(known)[:_MOST_NAMES])) or "none"
            raise ConfigError(f"there is no dataset {dataset!r} in this project; there are: {names}")
        items = await read_items(api.connection, dataset)
    source = f"dataset:{dataset}"
    rows = [row for item in items if (row := _row(item, source)) is not None]
    total = replace_source(settings.references_file, source, rows)
    return Kept(source=source, rows=len(rows), lacking=len(items) - len(rows), total=total)


def load_file(settings: Settings, path: Path) -> Kept:
    """Take over the rows of a file, in place of those that came from it before.

    Raises:
        ConfigError: one of the files is wrong.
    """
    source = f"file:{path.name}"
    rows = [replace(row, source=source) for row in read_file(path)]
    return Kept(source=source, rows=len(rows), lacking=0, total=replace_source(settings.references_file, source, rows))


def match_question(settings: Settings, question: str) -> str:
    """Say which reference a question would get, in one line.

    Raises:
        ConfigError: there are no references.
    """
    book = ReferenceBook(
        _existing(settings), similarity=settings.references_similarity, is_gated=settings.references_gate
    )
    match, row = book.match(question)
    if match is None or row is None:
        return "ambiguous: references with different answers fit" if book.counts["ambiguous"] else "no reference"
    near = f" {match.similarity:.2f} to {match.question!r}" if match.how == "similar" else ""
    flaw = "; not used, it does not answer its question" if match.is_mismatch else ""
    return f"{match.how}{near}, {match.source}{flaw}: {row.answer}"


async def check_kept(settings: Settings) -> list[ReferenceRow]:
    """Ask the judge of every reference whether it answers its question, keep what it says, return those that do not.

    Raises:
        ConfigError: there are no references, or no language model to ask.
        JudgeError: the judge gave no answer.
    """
    rows = _existing(settings)
    if settings.judge_model is None:
        raise ConfigError(
            "the embedded judge cannot tell whether an answer answers a question: set RAGTRACE_JUDGE_MODEL"
        )
    judge = LlmJudge(settings)
    try:
        fits = await check_references(judge, [(row.question, row.answer) for row in rows])
    finally:
        await judge.aclose()
    found: dict[tuple[str, str], Fit] = {
        (row.question, row.answer): fit for row, fit in zip(rows, fits, strict=True) if fit is not None
    }

    def judged(row: ReferenceRow) -> ReferenceRow:
        fit = found.get((row.question, row.answer))
        return replace(row, fits=fit.fits, why=fit.why) if fit else row

    update(settings.references_file, judged)
    return [row for row in map(judged, rows) if row.fits is False]


def _existing(settings: Settings) -> tuple[ReferenceRow, ...]:
    if not settings.references_file.exists():
        raise ConfigError(
            f"RAGTRACE_REFERENCES_FILE={settings.references_file}: there are no references yet: "
            "`ragtrace references sync DATASET` or `load FILE` brings some"
        )
    return read_file(settings.references_file)


def _row(item: StoredItem, source: str) -> ReferenceRow | None:
    found: dict[str, JsonValue] = {"question": item.input, "answer": item.expected_output}
    row = read_row(found, source)
    return replace(row, trace_id=item.trace_id, other={}) if row else None
