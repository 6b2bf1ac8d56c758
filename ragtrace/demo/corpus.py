"""Read the demo's documents and questions, written for this project about a company that does not exist."""

import json
import re
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal

QuestionKind = Literal["single", "multi", "negation", "unanswerable"]
_HEADING = re.compile(r"^## +(.+)$", re.MULTILINE)
_FOLDER = files("ragtrace.demo")


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusPassage:
    """One section of a document."""

    id: str
    """File name and number of the section from 1: `en-leave#1`."""
    document: str
    """The document's title."""
    heading: str
    body: str
    language: str

    @property
    def text(self) -> str:
        """What the index holds and the generator is sent: the heading, then the section."""
        return f"{self.heading}\n{self.body}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question with what a person says about it."""

    id: str
    lang: str
    question: str
    kind: QuestionKind
    reference: str | None
    """None where the corpus holds no answer."""
    passages: tuple[str, ...]
    """Ids of the passages that answer it."""


def load_passages() -> tuple[CorpusPassage, ...]:
    """Return all passages, by document and section."""
    documents = sorted((_FOLDER / "corpus").iterdir(), key=lambda file: file.name)
    return tuple(
        passage
        for document in documents
        if document.name.endswith(".md")
        for passage in _sections(document.name.removesuffix(".md"), document.read_text(encoding="utf-8"))
    )


def load_questions() -> tuple[Question, ...]:
    """Return all questions in file order."""
    lines = (_FOLDER / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return tuple(Question(**{**row, "passages": tuple(row["passages"])}) for row in rows)


def _sections(stem: str, markdown: str) -> list[CorpusPassage]:
    title, *parts = _HEADING.split(markdown)
    return [
        CorpusPassage(
            id=f"{stem}#{number}",
            document=title.strip().removeprefix("# "),
            heading=heading.strip(),
            body=body.strip(),
            language=stem.split("-")[0],
        )
        for number, (heading, body) in enumerate(zip(parts[::2], parts[1::2], strict=True), start=1)
    ]
