"""Read rows of a user's own data set as calls."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from ragtrace import align
from ragtrace.errors import ConfigError
from ragtrace.extract import json_text
from ragtrace.model import Delivery, JsonValue, Passage, PassageDelivery, RagCall, TextSpan

_QUESTION = ("question", "user_input", "query")
_ANSWER = ("answer", "response")
_CONTEXTS = ("contexts", "retrieved_contexts")
_REFERENCE = ("reference", "ground_truth")
_RECALL_NEEDS = (*_REFERENCE, "reference_contexts", "relevant_ids")
"""A row with one of these measures retrieval, also without an answer."""
_TEXT = ("text", "page_content", "content")
KIND_TAG = "kind:"
_START = datetime(1970, 1, 1, tzinfo=UTC)
Row = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class BadRow:
    """A row that cannot be read as a call."""

    number: int
    """Line of the file, or place in the list, from 1."""
    problem: str
    """What is wrong and what was expected."""


def parse_line(line: str, number: int) -> RagCall | BadRow:
    """Read one line of JSON."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as exc:
        return BadRow(number=number, problem=f"not JSON ({exc}): write one JSON object a line")
    if not isinstance(row, dict):
        kind = "null" if row is None else type(row).__name__
        return BadRow(number=number, problem=f"a JSON {kind}: write one JSON object a line")
    return read_row(json_text.clean_object(row), number)


def read_row(row: Row, number: int) -> RagCall | BadRow:
    """Read one row; the names that ragas uses are understood too."""
    try:
        return _call(row, number)
    except ConfigError as exc:
        return BadRow(number=number, problem=str(exc))


def _call(row: Row, number: int) -> RagCall:
    contexts = _passages(row, _named(row, _CONTEXTS))
    retrieved = _passages(row, "retrieved") if row.get("retrieved") is not None else None
    if contexts is None:
        delivery = None
    else:
        delivery = _all_received(contexts) if retrieved is None else _held_against(retrieved, contexts)
    return RagCall(
        id=json_text.as_text(row.get("id")) or str(number),
        question=_text(row, _QUESTION, is_required=True) or "",
        answer=_text(row, _ANSWER, is_required=not any(row.get(name) for name in _RECALL_NEEDS)) or "",
        delivery=delivery,
        started_at=_START,
        reference=_text(row, _REFERENCE),
        reference_passages=tuple(p.text for p in _passages(row, "reference_contexts") or ()),
        relevant_ids=_ids(row.get("relevant_ids")),
        tags=_kind_tags(row.get("kind")),
    )


def _kind_tags(kind: JsonValue) -> tuple[str, ...]:
    """A kind of question travels as a tag, as it does on calls in Langfuse."""
    return (KIND_TAG + kind,) if isinstance(kind, str) and kind else ()


def _named(row: Row, names: tuple[str, ...]) -> str:
    """Return the name that the row uses, the first where it uses none."""
    return next((name for name in names if name in row), names[0])


def _text(row: Row, names: tuple[str, ...], *, is_required: bool = False) -> str | None:
    name = _named(row, names)
    if name not in row:
        if is_required:
            raise ConfigError(f'`{"` or `".join(names)}` is missing: every row needs it ("" if there is none)')
        return None
    value = row[name]
    if value is not None and not isinstance(value, str):
        raise ConfigError(f"`{name}` is {_shown(value)}: expected text")
    return value


def _ids(value: JsonValue) -> tuple[str, ...]:
    if value is not None and not isinstance(value, list):
        raise ConfigError(f"`relevant_ids` is {_shown(value)}: expected a list of ids")
    return json_text.as_strings(value)


def _passages(row: Row, name: str) -> list[Passage] | None:
    """Return a list of passages; None where the row says nothing or null: which there were is unknown."""
    value = row.get(name)
    if value is None:
        return None
    if not isinstance(value, list):
        raise ConfigError(f"`{name}` is {_shown(value)}: expected a list of texts or of objects with `text`")
    return [_passage(item, rank, name) for rank, item in enumerate(value)]


def _passage(item: JsonValue, rank: int, name: str) -> Passage:
    if item is None or isinstance(item, str):
        return Passage(text=item or "", rank=rank)
    if isinstance(item, dict):
        text = next((item[key] for key in _TEXT if isinstance(item.get(key), str)), None)
        metadata = item.get("metadata")
        if isinstance(text, str):
            return Passage(
                text=text,
                rank=rank,
                id=json_text.as_text(item.get("id")),
                score=json_text.as_number(item.get("score")),
                metadata=metadata if isinstance(metadata, dict) else {},
            )
    raise ConfigError(f"`{name}[{rank}]` is {_shown(item)}: expected text, or an object with `text`")


def _all_received(contexts: list[Passage]) -> Delivery:
    """Without a list of what was retrieved, the received passages are all there are."""
    deliveries, offset = [], 0
    for passage in contexts:
        length = len(passage.text)
        span = TextSpan(passage_start=0, passage_end=length, prompt_start=offset, prompt_end=offset + length)
        spans = (span,) if length else ()
        deliveries.append(PassageDelivery(passage=passage, status="full", coverage=1.0, spans=spans))
        offset += length + len(align.PART_SEPARATOR)
    return Delivery(passages=tuple(deliveries), prompt_order=tuple(range(len(deliveries))))


def _held_against(retrieved: list[Passage], contexts: list[Passage]) -> Delivery:
    """Find out what of the retrieved passages was received; received text that nobody retrieved is kept as it is."""
    found = align.align(retrieved, [passage.text for passage in contexts])
    extra = _unretrieved(found, contexts)
    deliveries = (*found.passages, *extra)
    placed = [i for i, d in enumerate(deliveries) if d.spans]
    order = sorted(placed, key=lambda i: min(span.prompt_start for span in deliveries[i].spans))
    return Delivery(passages=deliveries, prompt_order=tuple(order))


def _unretrieved(found: Delivery, contexts: list[Passage]) -> list[PassageDelivery]:
    """Return the contexts of which most is explained by no retrieved passage."""
    extra: list[PassageDelivery] = []
    offset = 0
    for context in contexts:
        end = offset + len(context.text)
        unknown = sum(max(0, min(end, b) - max(offset, a)) for a, b in found.unknown_spans)
        if unknown * 2 > len(context.text):
            span = TextSpan(passage_start=0, passage_end=len(context.text), prompt_start=offset, prompt_end=end)
            passage = Passage(
                text=context.text,
                rank=len(found.passages) + len(extra),
                id=context.id,
                metadata=context.metadata,
                source="prompt",
            )
            extra.append(PassageDelivery(passage=passage, status="full", coverage=1.0, spans=(span,)))
        offset = end + len(align.PART_SEPARATOR)
    return extra


def _shown(value: JsonValue) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:59] + "…"
