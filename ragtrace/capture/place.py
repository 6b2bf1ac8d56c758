"""Turn a captured call into the JSON of its rag-call observation: what was retrieved, and what of it arrived."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import pairwise

from ragtrace import align
from ragtrace.capture.guard import guard
from ragtrace.capture.pace import give_way
from ragtrace.capture.record import CapturedCall
from ragtrace.capture.rewrite import cut, hidden_fragments, mask_rest
from ragtrace.capture.serialise import clean_text, to_json
from ragtrace.capture.shrink import shrink
from ragtrace.masking import MASK_FAILED, Mask, apply, mask_text
from ragtrace.model import PIECE_SEPARATOR, Delivery, DeliveryKind, JsonValue, Passage, PassageDelivery
from ragtrace.semconv import MARK_CONTEXTS_UNKNOWN, MARK_ERROR, MARK_MASKED, MARK_PROMPT_UNKNOWN
from ragtrace.text import suspicions

_UNPLACED = ("undetermined", "transformed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A rag-call observation, ready to be written on a span."""

    input: str
    """JSON of the contract between capture and scorer."""
    output: str | None
    size: int
    """Bytes of input and output."""
    marks: tuple[str, ...]
    retrieved: int | None
    """How many passages retrieval returned; None: unknown."""
    received: int | None
    """How many of them arrived, in whole or in part; None: unknown, or not all are placed."""
    prompt_length: int
    prompt_digest: str | None
    """None under a mask: a digest of a short prompt can be guessed."""


def make_record(call: CapturedCall, *, mask: Mask | None, align_in_app: bool, limit_bytes: int) -> Record:
    """Place the passages in the prompt and write down the call, in at most `limit_bytes`."""
    parts = tuple(map(clean_text, call.prompt_parts))
    passages = None if call.passages is None else tuple(map(_clean_passage, call.passages))
    delivery = None if passages is None else _deliver(call, passages, parts, align_in_app=align_in_app)
    prompt = align.PART_SEPARATOR.join(parts)
    give_way()
    content = _describe(call, delivery, prompt, mask=mask)
    give_way()
    answer = None if call.answer is None else mask_text(mask, clean_text(call.answer))
    shrunk = shrink(content, answer, limit_bytes=limit_bytes)
    return Record(
        input=shrunk.text,
        output=shrunk.answer,
        size=shrunk.size,
        marks=(*_marks(call, parts), *shrunk.marks, *_mask_marks(shrunk.text, shrunk.answer, mask=mask)),
        retrieved=None if delivery is None else len(delivery.passages),
        received=_count_received(delivery),
        prompt_length=len(prompt),
        prompt_digest=sha256(prompt.encode()).hexdigest()[:16] if mask is None else None,
    )


def _deliver(call: CapturedCall, passages: Sequence[Passage], parts: Sequence[str], *, align_in_app: bool) -> Delivery:
    if not parts and call.answer is not None:
        # An answer without a prompt: somebody told us the passages only. They are what we know was used.
        whole = tuple(PassageDelivery(passage=p, status="full", coverage=1.0) for p in passages)
        return Delivery(passages=whole, prompt_order=tuple(range(len(whole))))
    with guard("placing passages"):
        return align.align(passages, parts) if align_in_app else align.quick(passages, parts)
    unplaced = tuple(PassageDelivery(passage=p, status="undetermined") for p in passages)
    return Delivery(passages=unplaced, unknown_spans=((0, len(align.PART_SEPARATOR.join(parts))),))


def _clean_passage(passage: Passage) -> Passage:
    text = clean_text(passage.text)
    return passage if text is passage.text else replace(passage, text=text)


def _describe(call: CapturedCall, delivery: Delivery | None, prompt: str, *, mask: Mask | None) -> dict[str, JsonValue]:
    def text(value: str) -> str:
        return mask_text(mask, clean_text(value))

    content: dict[str, JsonValue] = {
        "question": text(call.question),
        "passages": None if delivery is None else [_passage(p, mask=mask) for p in delivery.passages],
    }
    if delivery is not None and any(p.status == "undetermined" for p in delivery.passages):
        fragments = hidden_fragments((p.passage.text for p in delivery.passages), mask)
        content["prompt_rest"] = [
            {"at": start, "text": mask_rest(prompt[start:end], mask=mask, fragments=fragments)}
            for start, end in delivery.unknown_spans
        ]
    if call.candidates:
        content["candidates"] = [_candidate(p, mask=mask) for p in call.candidates]
    if call.reference is not None:
        content["reference"] = text(call.reference)
    if call.relevant_ids:
        content["relevant_ids"] = [text(relevant) for relevant in call.relevant_ids]
    if call.citations:
        content["citations"] = _citations(call, mask=mask)
    if call.question_rewritten is not None and call.question_rewritten != call.question:
        content["question_rewritten"] = text(call.question_rewritten)
    return content


def _passage(delivery: PassageDelivery, *, mask: Mask | None) -> dict[str, JsonValue]:
    passage = delivery.passage
    described: dict[str, JsonValue] = {
        "id": None if passage.id is None else mask_text(mask, clean_text(passage.id)),
        "rank": passage.rank,
        **describe_received(delivery, mask=mask),
        "received": delivery.status,
        "coverage": round(delivery.coverage, 4),
    }
    if delivery.copies > 1:
        described["copies"] = delivery.copies
    if isinstance(score := to_json(passage.score), int | float):
        described["score"] = score
    if passage.metadata:
        described["metadata"] = apply(mask, to_json(passage.metadata))
    if passage.source != "retriever":
        described["source"] = passage.source
    return described


def describe_received(delivery: PassageDelivery, *, mask: Mask | None) -> dict[str, JsonValue]:
    """Write the received and the withheld text, each once."""
    text = delivery.passage.text
    if delivery.status == "full" or delivery.status in _UNPLACED:
        at = {"at": _first_place(delivery)} if delivery.spans else {}
        return {"text": mask_text(mask, text), **at}
    if not delivery.spans:
        return {"text": "", "cut": mask_text(mask, text)}
    spans, kind = _simplify(delivery)
    pieces = cut(text, spans, mask=mask)
    written: dict[str, JsonValue] = {"text": PIECE_SEPARATOR.join(pieces.inside), "kind": kind}
    if kind in ("head", "tail"):
        return {**written, "cut": "".join(pieces.outside), "at": _first_place(delivery)}
    withheld = PIECE_SEPARATOR.join(piece for piece in pieces.outside if piece.strip())
    return {
        **written,
        "cut": withheld,
        "at": _first_place(delivery),
        "spans": [list(span) for span in pieces.spans],
    }


def _simplify(delivery: PassageDelivery) -> tuple[list[tuple[int, int]], DeliveryKind | None]:
    """Return the received spans and what to call them: head and tail mean one stretch from or to the very end."""
    text, kind = delivery.passage.text, delivery.kind
    spans = [(s.passage_start, s.passage_end) for s in delivery.spans]
    first, last = spans[0][0], spans[-1][1]
    gaps = "".join(text[end:start] for (_, end), (start, _) in pairwise(spans))
    if any(map(str.isalnum, gaps)):
        return spans, kind if kind == "middle" else "fragments"
    if kind == "head" and not any(map(str.isalnum, text[:first])):
        return [(0, last)], kind
    if kind == "tail" and not any(map(str.isalnum, text[last:])):
        return [(first, len(text))], kind
    return spans, "middle" if len(spans) == 1 else "fragments"


def _first_place(delivery: PassageDelivery) -> int:
    return min(span.prompt_start for span in delivery.spans)


def _candidate(passage: Passage, *, mask: Mask | None) -> dict[str, JsonValue]:
    identity = {} if passage.id is None else {"id": mask_text(mask, clean_text(passage.id))}
    return {**identity, "text": mask_text(mask, clean_text(passage.text))}


def _citations(call: CapturedCall, *, mask: Mask | None) -> list[JsonValue]:
    answer = clean_text(call.answer or "")
    return [
        {"start": start, "end": end, "passages": list(citation.passages)}
        for citation in call.citations
        for start, end in cut(answer, [(citation.start, citation.end)], mask=mask).spans
    ]


def _count_received(delivery: Delivery | None) -> int | None:
    if delivery is None or any(p.status in _UNPLACED for p in delivery.passages):
        return None
    return sum(p.status in ("full", "partial") for p in delivery.passages)


def _marks(call: CapturedCall, parts: Sequence[str]) -> Iterable[str]:
    yield from call.marks
    if call.passages is None and MARK_CONTEXTS_UNKNOWN not in call.marks:
        yield MARK_CONTEXTS_UNKNOWN
    if call.error is not None and MARK_ERROR not in call.marks:
        yield MARK_ERROR
    if call.passages and not parts and call.answer is not None:
        yield MARK_PROMPT_UNKNOWN
    yield from suspicions(call.answer)


def _mask_marks(text: str, answer: str | None, *, mask: Mask | None) -> Iterable[str]:
    if mask is not None and (MASK_FAILED in text or answer == MASK_FAILED):
        yield MARK_MASKED
