"""Cut text into blocks by its lines: paragraphs, list items, headings, table rows, code."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

BlockKind = Literal["text", "item", "heading", "row", "code"]

_FENCE = re.compile(r"[ \t]*(```|~~~)")
_RULE = re.compile(r"(?:-[ \t]*){3,}$|(?:\*[ \t]*){3,}$|(?:_[ \t]*){3,}$")
_UNDERLINE = re.compile(r"(?:={3,}|-{3,})$")
_HEADING = re.compile(r"#{1,6}[ \t]+\S|\*\*[^*]{1,100}\*\*[:：]?$|【[^】]{1,40}】$")
_TABLE_RULE = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)+\|?$|\|[ \t]*:?-{3,}:?[ \t]*\|$")
ITEM = re.compile(
    r"[ \t>]*(?:[-*+–—][ \t]+(?:\[[ xX]\][ \t]+)?|[•·・‣◦▪▫●○■□◆►➤➢✓✔✅❌※][ \t]*"
    r"|\(?\d{1,3}[.)](?:[ \t]+|(?=[^\W\d]))|（\d{1,3}）[ \t]*|\d{1,3}[、．)）][ \t]*|\(?[a-zа-я]\)[ \t]+"
    r"|\(?[ivx]{1,4}[.)][ \t]+|（?[一二三四五六七八九十]{1,3}[、．.）][ \t]*|[①-⑳][ \t]*)(?=\S)"
)
"""What opens a list item; the item's own words follow."""
_PAIR = re.compile(r"[ \t]*[^\s:：][^:：]{0,40}[:：](?!//)[ \t]*\S")
_ENDED = re.compile(r"[。！？｡!?.…:：;；][\"”’»」』）)\]】*_]*[ \t]*$")
_RUNS_ON = re.compile(
    r"(?:[,，、;(（\"«„“—–-]|\b(?:a|an|the|of|to|in|on|at|by|for|from|with|and|or|but|is|are|was|were|be|that|which|as|its"
    r"|der|die|das|den|dem|des|ein|eine|einen|einem|einer|und|oder|von|zu|im|am|mit|für|auf|ist|sind|beträgt"
    r"|и|в|во|на|с|со|к|по|из|от|для|не|что|или|о|у|за)|\d)[ \t]*$",
    re.IGNORECASE,
)
_TAIL = 48
"""Characters of a line's end that tell whether its sentence ended there."""
_WIDE = "\u2e80"
_SHORT_LINE = 40
"""A line shorter than any wrapping width is a line by choice, if the next starts like a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Lines that belong together; offsets in the whole text, end exclusive."""

    start: int
    end: int
    kind: BlockKind


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    start: int
    end: int
    text: str
    """Without the line break."""


def split_blocks(text: str) -> list[Block]:
    """Return the blocks in text order; blank lines and rulers between them belong to none."""
    lines = list(_lines(text))
    blocks: list[Block] = []
    last = -1
    """Number of the line that the newest block ends with; -1 where nothing may be added to it."""
    number, in_table = 0, False
    while number < len(lines):
        line = lines[number]
        bare, following = line.text.strip(), lines[number + 1].text.strip() if number + 1 < len(lines) else ""
        if fence := _FENCE.match(line.text):
            after = _after_fence(lines, number, fence.group(1))
            blocks.append(Block(start=line.start, end=lines[after - 1].end, kind="code"))
            number, last, in_table = after, -1, False
            continue
        is_table_rule = bool(_TABLE_RULE.match(bare))
        in_table = is_table_rule or (in_table and "|" in bare)
        kind = "heading" if is_table_rule else "row" if in_table else _kind(bare, following, is_first=not number)
        if kind is None:
            last = -1
        elif kind == "text" and 0 <= last == number - 1 and _continues(lines[last].text, line.text):
            blocks[-1] = Block(start=blocks[-1].start, end=line.end, kind=blocks[-1].kind)
            last = number
        else:
            blocks.append(Block(start=line.start, end=line.end, kind=kind))
            last = number if kind in ("text", "item") else -1
        number += 1
    return blocks


def _lines(text: str) -> Iterator[_Line]:
    start = 0
    for line in text.splitlines(keepends=True):
        yield _Line(start=start, end=start + len(line), text=line.rstrip("\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029"))
        start += len(line)


def _after_fence(lines: list[_Line], opening: int, mark: str) -> int:
    """Return the number of the line after the closing fence; an unclosed one holds the rest."""
    for number in range(opening + 1, len(lines)):
        if lines[number].text.strip().startswith(mark):
            return number + 1
    return len(lines)


def _kind(line: str, following: str, *, is_first: bool) -> BlockKind | None:
    """Return what a line outside tables begins or continues; None for a blank line or a ruler."""
    if not line:
        return None
    if "|" in line and _TABLE_RULE.match(following):
        return "heading"
    if "\t" in line or (line[0] == line[-1] == "|" and len(line) > 1):
        return "row"
    if _RULE.match(line) or (not is_first and _UNDERLINE.match(line)):
        return None
    if _HEADING.match(line) or (_UNDERLINE.match(following) and not ITEM.match(line)):
        return "heading"
    return "item" if ITEM.match(line) else "text"


def _continues(previous: str, line: str) -> bool:
    """Tell whether a line goes on with the sentence of the line before, as wrapped text does."""
    tail = previous[-_TAIL:]
    if _ENDED.search(tail) or tail.endswith("  ") or (_PAIR.match(previous) and _PAIR.match(line)):
        return False
    first = line.lstrip(" \t>")[:1]
    if first >= _WIDE and tail.rstrip()[-1:] >= _WIDE:
        # A script without capitals, of characters twice as wide.
        return len(previous.strip()) * 2 >= _SHORT_LINE or bool(_RUNS_ON.search(tail))
    starts_fresh = first.isupper() or first.isdigit()
    return not starts_fresh or len(previous.strip()) >= _SHORT_LINE or bool(_RUNS_ON.search(tail))
