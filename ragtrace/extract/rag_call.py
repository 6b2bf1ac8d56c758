"""Read a rag-call observation back into the call that was captured."""

from dataclasses import replace

from ragtrace import align
from ragtrace.extract import passages
from ragtrace.extract.json_text import (
    JsonObject,
    as_integer,
    as_number,
    as_strings,
    as_text,
    metadata_value,
    parse_object,
    without_surrogates,
)
from ragtrace.extract.row import ObservationRow
from ragtrace.model import Citation, Confidence, Delivery, JsonValue, PassageDelivery, PromptPiece, RagCall
from ragtrace.semconv import (
    MARK_CAPPED,
    MARK_UNREADABLE,
    META_CAPTURE_PROBABILITY,
    META_CONFIDENCE,
    META_MARKS,
    META_MODEL,
    META_SCHEMA,
    SCHEMA_VERSION,
)


def read_rag_call(observation: ObservationRow) -> RagCall:
    """Rebuild the call from its record.

    A record that cannot be read (cut, replaced by a mask, or of a newer schema) gives a call with unknown passages
    and the mark `unreadable`: it is counted, never guessed at.
    """
    call = _without_content(observation)
    record = parse_object(observation.input)
    schema = as_integer(metadata_value(observation.metadata, META_SCHEMA)) or SCHEMA_VERSION
    if record is None or schema > SCHEMA_VERSION:
        return replace(call, marks=(*call.marks, MARK_UNREADABLE))
    try:
        return _with_content(call, record)
    except (TypeError, ValueError, LookupError):
        return replace(call, marks=(*call.marks, MARK_UNREADABLE))


def complete_delivery(call: RagCall) -> RagCall:
    """Place what the application could not, with `align.full` over the prompt text that was left.

    Where that text was given up to the size cap, nothing can be placed: the passages stay `undetermined`.
    """
    if call.delivery is None or (MARK_CAPPED in call.marks and not call.prompt_rest):
        return call
    delivery = align.place_rest(call.delivery, call.prompt_rest)
    return call if delivery is call.delivery else replace(call, delivery=delivery, prompt_rest=())


def _without_content(row: ObservationRow) -> RagCall:
    """Return what the columns and the metadata say; passages unknown."""
    marks = metadata_value(row.metadata, META_MARKS)
    confidence = as_text(metadata_value(row.metadata, META_CONFIDENCE))
    probability = as_number(metadata_value(row.metadata, META_CAPTURE_PROBABILITY))
    return RagCall(
        id=row.id,
        trace_id=row.trace_id,
        observation_id=row.id,
        started_at=row.start_time,
        question="",
        answer=without_surrogates(row.output or ""),
        delivery=None,
        model=row.model or as_text(metadata_value(row.metadata, META_MODEL)),
        environment=row.environment,
        tags=row.tags,
        session=row.session_id,
        user=row.user_id,
        release=row.release,
        confidence=_CONFIDENCES.get(confidence or "", "high"),
        marks=as_strings(marks),
        capture_probability=probability if probability is not None and 0 < probability <= 1 else 1.0,
    )


_CONFIDENCES: dict[str, Confidence] = {"high": "high", "medium": "medium", "low": "low"}


def _with_content(call: RagCall, record: JsonObject) -> RagCall:
    rest = tuple(
        PromptPiece(text=str(piece["text"]), start=_whole(piece["at"])) for piece in _objects(record.get("prompt_rest"))
    )
    listed = record.get("passages")
    return replace(
        call,
        question=as_text(record.get("question")) or "",
        delivery=None if listed is None else _delivery(_objects(listed), rest),
        prompt_rest=rest,
        question_rewritten=as_text(record.get("question_rewritten")),
        reference=as_text(record.get("reference")),
        reference_passages=as_strings(record.get("reference_passages")),
        relevant_ids=as_strings(record.get("relevant_ids")),
        citations=tuple(_citation(citation) for citation in _objects(record.get("citations"))),
    )


def _delivery(records: list[JsonObject], rest: tuple[PromptPiece, ...]) -> Delivery:
    deliveries: list[PassageDelivery] = [passages.read(record, rank) for rank, record in enumerate(records)]
    return Delivery(
        passages=tuple(deliveries),
        prompt_order=passages.order_in_prompt(deliveries),
        unknown_spans=tuple((piece.start, piece.start + len(piece.text)) for piece in rest),
    )


def _citation(record: JsonObject) -> Citation:
    named = record.get("passages")
    numbers = named if isinstance(named, list) else []
    return Citation(
        start=_whole(record["start"]), end=_whole(record["end"]), passages=tuple(_whole(number) for number in numbers)
    )


def _objects(value: JsonValue) -> list[JsonObject]:
    """Return a list of objects; anything else in its place is a broken record."""
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise TypeError("expected a list of objects")
    return [item for item in value if isinstance(item, dict)]


def _whole(value: JsonValue) -> int:
    number = as_integer(value)
    if number is None:
        raise TypeError("expected a whole number")
    return number
