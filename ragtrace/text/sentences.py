"""Split a text into its sentences, and what stands for one: list items, headings, table rows, code blocks."""

from collections.abc import Iterator

from ragtrace.model import Sentence, SentenceKind
from ragtrace.text.blocks import ITEM, Block, split_blocks
from ragtrace.text.boundaries import sentence_ends
from ragtrace.text.kinds import sentence_kind
from ragtrace.text.languages import detect_language


def split_sentences(text: str) -> tuple[Sentence, ...]:
    """Return the sentences in text order, numbered from 1; spans leave out the white space around them.

    Never empty for a text that is not blank. What claims nothing is still there and says so by its kind: headings
    (also the head of a table, and a line that announces a list), greetings, questions, refusals.
    """
    is_german = detect_language(text) == "de"
    blocks = split_blocks(text) or [Block(start=0, end=len(text), kind="text")]
    spans = [
        (*stripped, block)
        for block in blocks
        for start, end in _block_spans(text, block, is_german=is_german)
        if (stripped := _strip(text, start, end)) is not None
    ]
    return tuple(
        Sentence(
            number=number,
            text=text[start:end],
            start=start,
            end=end,
            kind=_kind(text[start:end], block, is_followed=number < len(spans)),
        )
        for number, (start, end, block) in enumerate(spans, 1)
    )


def _block_spans(text: str, block: Block, *, is_german: bool) -> Iterator[tuple[int, int]]:
    if block.kind not in ("text", "item"):
        yield block.start, block.end
        return
    opening = ITEM.match(text, block.start, block.end)
    start, words = block.start, opening.end() if opening else block.start
    for end in sentence_ends(text, start=words, end=block.end, is_german=is_german):
        yield start, end
        start = end
    yield start, block.end


def _strip(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the span without white space around it; None for a blank one."""
    piece = text[start:end]
    length = len(piece.strip())
    left = len(piece) - len(piece.lstrip())
    return (start + left, start + left + length) if length else None


def _kind(sentence: str, block: Block, *, is_followed: bool) -> SentenceKind:
    if block.kind in ("heading", "row", "code"):
        return block.kind
    return sentence_kind(sentence, is_followed=is_followed)
