"""Keep a rag-call observation under its size cap, giving up first what judging needs least."""

from dataclasses import dataclass

from ragtrace.capture.serialise import dump
from ragtrace.model import JsonValue
from ragtrace.semconv import MARK_CAPPED

_SMALLEST_PASSAGE_BYTES = 400
_SLACK = 200
_DISPENSABLE = (("cut",), ("prompt_rest",), ("metadata", "candidates"))
_LAST_RESORT = ("question_rewritten", "relevant_ids", "citations", "reference", "question")

Content = dict[str, JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shrunk:
    """A record that fits, and what it cost."""

    text: str
    """The input as JSON."""
    answer: str | None
    size: int
    marks: tuple[str, ...]


def shrink(content: Content, answer: str | None, *, limit_bytes: int) -> Shrunk:
    """Return the record in at most `limit_bytes`, with a mark if anything was left out.

    Withheld text goes first, then prompt text not placed, then metadata and candidates. A passage that loses
    received text says how much (`lost`, in characters) and is no longer `full`.
    """
    text, over = _measure(content, answer, limit_bytes)
    if over <= 0:
        return Shrunk(text=text, answer=answer, size=limit_bytes + over, marks=())
    for keys in _DISPENSABLE:
        content = _without(content, keys)
        text, over = _measure(content, answer, limit_bytes)
        if over <= 0:
            break
    if over > 0:
        content = _cut_passages(content, over, most=limit_bytes // _SMALLEST_PASSAGE_BYTES)
        text, over = _measure(content, answer, limit_bytes)
    if over > 0 and answer is not None:
        answer = _cut_text(answer, over)
        text, over = _measure(content, answer, limit_bytes)
    if over > 0:
        content = _cut_rest(content, over)
        text, over = _measure(content, answer, limit_bytes)
    return Shrunk(text=text, answer=answer, size=limit_bytes + over, marks=(MARK_CAPPED,))


def _measure(content: Content, answer: str | None, limit_bytes: int) -> tuple[str, int]:
    """Return the JSON, and by how many bytes record and answer are over the limit."""
    text = dump(content)
    return text, len(text.encode()) + len((answer or "").encode()) - limit_bytes


def _passages(content: Content) -> list[Content]:
    passages = content["passages"]
    return [p for p in passages if isinstance(p, dict)] if isinstance(passages, list) else []


def _without(content: Content, keys: tuple[str, ...]) -> Content:
    smaller = {key: value for key, value in content.items() if key not in keys}
    if content["passages"] is not None:
        smaller["passages"] = [
            {key: value for key, value in passage.items() if key not in keys} for passage in _passages(content)
        ]
    return smaller


def _cut_passages(content: Content, over: int, *, most: int) -> Content:
    """Cut received text from the last passages on, so that the best ranked stay whole."""
    if content["passages"] is None:
        return content
    kept: list[JsonValue] = []
    for passage in reversed(_passages(content)[:most]):
        shortened = _shortened(passage, over) if over > 0 else passage
        if shortened is not passage:
            # What says so takes room, too: with hundreds of passages as much as a question and an answer.
            over -= _size(passage) - _size(shortened)
        kept.append(shortened)
    return {**content, "passages": kept[::-1]}


def _shortened(passage: Content, over: int) -> Content:
    text = str(passage["text"])
    kept = _cut_text(text, over)
    return {**passage, "text": kept, **_loss(passage, len(text) - len(kept))} if kept != text else passage


def _size(passage: Content) -> int:
    return len(dump(passage).encode())


def _loss(passage: Content, lost: int) -> Content:
    known = {} if passage["received"] == "undetermined" else {"received": "partial", "kind": "head"}
    return {**known, "lost": lost}


def _cut_text(text: str, over: int) -> str:
    # A character takes at least one byte, so this many characters are enough.
    return text[: max(0, len(text) - over - _SLACK)]


def _cut_rest(content: Content, over: int) -> Content:
    question = str(content["question"])
    kept = {key: value for key, value in content.items() if key not in _LAST_RESORT}
    return {**kept, "question": _cut_text(question, over)}
