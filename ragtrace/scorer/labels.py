"""Read claims that people labelled, judge them, and hold the verdicts beside the labels."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from ragtrace import files
from ragtrace.errors import ConfigError
from ragtrace.extract import json_text
from ragtrace.judge import Judge, judge_calls
from ragtrace.model import Claim, JsonValue, JudgedSentence, RagCall, Verdicts
from ragtrace.scorer.rows import BadRow, Row, read_row

_BETWEEN = "\n\n"
"""Between the claims of a row, which are judged as the paragraphs of one answer."""
_SUPPORT = {"supported": 1.0, "undecided": 0.5, "unsupported": 0.0, "contradicted": 0.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """One claim and what a person said about it."""

    start: int
    end: int
    """Where it stands in the answer of its row's call, in characters."""
    is_supported: bool
    kind: str | None = None
    """What kind of claim it is, where the file tells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledRow:
    """Claims about the same passages."""

    data_set: str
    language: str
    call: RagCall
    """Its answer is made of the claims."""
    labels: tuple[Label, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedLabel:
    """A label beside what the judge found."""

    row: LabelledRow
    label: Label
    support: float | None
    """Probability that the claim is supported; 1, 0.5 or 0 of a judge that gives verdicts only; None without any."""


def read_labels(path: Path) -> list[LabelledRow]:
    """Read a file of labelled rows; its data set is called like the file.

    Raises:
        ConfigError: the file cannot be read, or a line is not in the documented format.
    """
    text = files.read_text(path, expected="a file of JSON lines")
    rows = (_read(line, f"{path}:{number}", path.stem) for number, line in files.lines(text))
    return [row for row in rows if row.labels]


def _read(line: str, place: str, data_set: str) -> LabelledRow:
    stored = files.parse_object(line, place)
    found = stored.get("claims")
    if not isinstance(found, list):
        raise ConfigError(f"{place}: `claims` is missing: expected a list of objects with `text` and `supported`")
    claims = [_claim(claim, place) for claim in found]
    texts = [str(claim["text"]) for claim in claims]
    row: Row = json_text.clean_object({"question": "", **stored, "answer": _BETWEEN.join(texts)})
    call = read_row(row, 0)
    if isinstance(call, BadRow):
        raise ConfigError(f"{place}: {call.problem}")
    starts = [sum(len(text) + len(_BETWEEN) for text in texts[:i]) for i in range(len(texts))]
    labels = (
        Label(start=start, end=start + len(text), is_supported=claim["supported"] is True, kind=_kind(claim))
        for claim, text, start in zip(claims, texts, starts, strict=True)
    )
    return LabelledRow(data_set=data_set, language=str(stored.get("lang", "und")), call=call, labels=tuple(labels))


def _claim(claim: JsonValue, place: str) -> dict[str, JsonValue]:
    if (
        not isinstance(claim, dict)
        or not isinstance(claim.get("text"), str)
        or not isinstance(claim.get("supported"), bool)
    ):
        raise ConfigError(f"{place}: a claim is {str(claim)[:60]!r}: expected an object with `text` and `supported`")
    return claim


def _kind(claim: dict[str, JsonValue]) -> str | None:
    """Return the first of the types that the file gives, or the label of an inference data set."""
    types = claim.get("types")
    if isinstance(types, list) and types:
        return str(types[0])
    label = claim.get("label3")
    return label if isinstance(label, str) else None


async def judge_labels(judge: Judge, rows: Sequence[LabelledRow], *, concurrency: int) -> list[JudgedLabel]:
    """Return every label with the judge's finding, in the order of the rows."""
    numbers = {id(row.call): number for number, row in enumerate(rows)}
    found: dict[int, Verdicts | None] = {}
    async for call, outcome in judge_calls(judge, [row.call for row in rows], concurrency):
        found[numbers[id(call)]] = outcome if isinstance(outcome, Verdicts) else None
    return [
        JudgedLabel(row=row, label=label, support=_support(found[number], label))
        for number, row in enumerate(rows)
        for label in row.labels
    ]


def _support(verdicts: Verdicts | None, label: Label) -> float | None:
    """Return the mean over the claims that a judge found in the labelled text; None where it found none."""
    if verdicts is None or verdicts.abstained:
        return None
    supports = [_claim_support(claim) for claim in _claims_within(verdicts.answer, label)]
    return fmean(supports) if supports else None


def _claims_within(sentences: Sequence[JudgedSentence], label: Label) -> Iterator[Claim]:
    for judged in sentences:
        if label.start <= judged.sentence.start < label.end:
            yield from judged.claims


def _claim_support(claim: Claim) -> float:
    return _SUPPORT[claim.verdict] if claim.support is None else claim.support
