"""Put a recorded passage together again: received text, withheld text, and where they stood."""

from collections.abc import Iterator, Sequence
from typing import get_args

from ragtrace.extract.json_text import JsonObject, as_integer, as_number, as_text
from ragtrace.model import (
    PIECE_SEPARATOR,
    DeliveryKind,
    DeliveryStatus,
    JsonValue,
    Passage,
    PassageDelivery,
    PassageSource,
    TextSpan,
)

_STATUSES: dict[str, DeliveryStatus] = {name: name for name in get_args(DeliveryStatus)}
_KINDS: dict[str, DeliveryKind] = {name: name for name in get_args(DeliveryKind)}
_SOURCES: dict[str, PassageSource] = {name: name for name in get_args(PassageSource)}
Range = tuple[int, int]


def read(record: JsonObject, rank: int) -> PassageDelivery:
    """Return the passage and its delivery as capture saw them.

    Raises:
        LookupError, TypeError: the record is not what schema 1 says.
    """
    status = _STATUSES[str(record["received"])]
    kind = _KINDS[str(record["kind"])] if record.get("kind") else None
    text, ranges = _whole_text(record, status, kind)
    metadata = record.get("metadata")
    stated_rank = as_integer(record.get("rank"))
    coverage = as_number(record.get("coverage"))
    return PassageDelivery(
        passage=Passage(
            text=text,
            rank=rank if stated_rank is None else stated_rank,
            id=as_text(record.get("id")),
            score=as_number(record.get("score")),
            metadata=metadata if isinstance(metadata, dict) else {},
            source=_SOURCES.get(str(record.get("source")), "retriever"),
        ),
        status=status,
        kind=kind,
        coverage=(1.0 if status == "full" else 0.0) if coverage is None else min(max(coverage, 0.0), 1.0),
        spans=_spans(ranges, as_integer(record.get("at"))),
        copies=max(1, as_integer(record.get("copies")) or 1),
    )


def order_in_prompt(deliveries: Sequence[PassageDelivery]) -> tuple[int, ...]:
    """Return indexes of received passages by their first place in the prompt; unplaced ones by rank, last."""
    received = [i for i, d in enumerate(deliveries) if d.status in ("full", "partial", "transformed")]
    return tuple(sorted(received, key=lambda i: (_first_place(deliveries[i]), i)))


def _first_place(delivery: PassageDelivery) -> float:
    return min((span.prompt_start for span in delivery.spans), default=float("inf"))


def _whole_text(record: JsonObject, status: DeliveryStatus, kind: DeliveryKind | None) -> tuple[str, tuple[Range, ...]]:
    """Return the passage as retrieved and which stretches of it were received."""
    text, cut = as_text(record.get("text")) or "", as_text(record.get("cut")) or ""
    if status == "absent":
        return text + cut, ()
    if status != "partial":
        return text + cut, ((0, len(text)),) if text and status == "full" else ()
    if kind == "head":
        return text + cut, ((0, len(text)),)
    if kind == "tail":
        return cut + text, ((len(cut), len(cut) + len(text)),)
    ranges = _ranges(record["spans"])
    return "".join(_interleaved(text, cut, ranges)), ranges


def _ranges(value: JsonValue) -> tuple[Range, ...]:
    pairs = value if isinstance(value, list) else []
    ranges = []
    for pair in pairs:
        start, end = pair if isinstance(pair, list) and len(pair) == 2 else (None, None)
        first, last = as_integer(start), as_integer(end)
        if first is None or last is None:
            raise TypeError("a span is a pair of offsets")
        ranges.append((first, last))
    return tuple(ranges)


def _interleaved(text: str, cut: str, ranges: Sequence[Range]) -> Iterator[str]:
    """Yield received and withheld pieces in passage order.

    The spans tell the lengths, so a separator that stands in the passage itself does no harm. Capture leaves blank
    gaps out of `cut`; they come back as spaces, which no comparison counts.
    """
    position = 0
    for start, end in ranges:
        piece, cut = _take_gap(cut, start - position)
        yield piece
        yield text[: end - start]
        text = text[end - start :].removeprefix(PIECE_SEPARATOR)
        position = end
    yield cut


def _take_gap(cut: str, length: int) -> tuple[str, str]:
    piece, rest = cut[:length], cut[length:]
    is_recorded = len(piece) == length and piece.strip() and (not rest or rest.startswith(PIECE_SEPARATOR))
    if not is_recorded:
        return " " * length, cut
    return piece, rest.removeprefix(PIECE_SEPARATOR)


def _spans(ranges: Sequence[Range], at: int | None) -> tuple[TextSpan, ...]:
    """Place the stretches one after the other from `at`; only the first place in the prompt is known."""
    if at is None:
        at = 0
    offset = at - (ranges[0][0] if ranges else 0)
    return tuple(
        TextSpan(passage_start=start, passage_end=end, prompt_start=start + offset, prompt_end=end + offset)
        for start, end in ranges
    )
