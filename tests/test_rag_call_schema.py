"""The JSON Schema of the rag-call observation says what capture writes and what the scorer reads."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from importlib.resources import files

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, ValidationError

from ragtrace.capture import CapturedCall
from ragtrace.capture.in_memory import CapturedCalls
from ragtrace.capture.place import make_record
from ragtrace.extract import ObservationRow, complete_delivery, read_rag_call
from ragtrace.model import Citation, JsonValue, Passage, RagCall
from ragtrace.semconv import LANGFUSE_INPUT, LANGFUSE_METADATA_PREFIX, LANGFUSE_OUTPUT
from tests.capture.calls import TEXT, call, config, passages

SCHEMA = json.loads((files("ragtrace") / "schema" / "rag-call-1.json").read_text(encoding="utf-8"))
OTHER = "The lamp draws nine watts and weighs two kilograms, said the sheet that came with it."
AFTER = "Pets are welcome in the annex after five o'clock, provided that they are on a lead."


def closed(schema: JsonValue) -> JsonValue:
    """Return the schema with no room for members that it does not describe; conditions stay as they are."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: value if key == "allOf" else closed(value) for key, value in schema.items()}
    if "properties" not in schema:
        return inner
    own_keys = {"^(?!ragtrace_)": True} if "ragtrace_schema" in schema["properties"] else {}
    return {**inner, "additionalProperties": False, "patternProperties": own_keys}


WRITTEN = Draft202012Validator(closed(SCHEMA))
READ = Draft202012Validator(SCHEMA)


def documents(*captured: CapturedCall, **options: object) -> list[dict[str, JsonValue]]:
    """What capture puts on the spans of some calls, as the schema sees it."""
    calls = CapturedCalls(config(**options))
    for each in captured:
        calls.accept(each)
    return [_document(dict(span.attributes or {})) for span in calls.spans]


def _document(attributes: dict[str, JsonValue]) -> dict[str, JsonValue]:
    prefix = LANGFUSE_METADATA_PREFIX
    output = {"output": attributes[LANGFUSE_OUTPUT]} if LANGFUSE_OUTPUT in attributes else {}
    metadata = {key.removeprefix(prefix): value for key, value in attributes.items() if key.startswith(prefix)}
    return {"input": json.loads(str(attributes[LANGFUSE_INPUT])), "metadata": metadata, **output}


def read(document: dict[str, JsonValue]) -> RagCall:
    """What the scorer makes of a document."""
    row = ObservationRow(
        id="o",
        trace_id="t",
        name="rag-call",
        type="CHAIN",
        start_time=datetime(2026, 3, 1, tzinfo=UTC),
        input=json.dumps(document["input"]),
        output=document.get("output"),
        metadata=document["metadata"],
    )
    return complete_delivery(read_rag_call(row))


def test_the_schema_is_a_schema():
    """The file in the package is valid JSON Schema, 2020-12."""
    Draft202012Validator.check_schema(SCHEMA)


KNOWN = call(
    TEXT,
    OTHER,
    AFTER,
    prompt=[TEXT[:40], OTHER, OTHER],
    candidates=(Passage(text="x", rank=0), *passages(AFTER)),
    reference="3 EUR",
    relevant_ids=("d0",),
    citations=(Citation(start=0, end=5, passages=(0,)),),
    question_rewritten="fee?",
    confidence="medium",
    model="gpt",
    marks=("indirect",),
    metadata={"tenant": "t1", "long": "x" * 500, **{f"key{n}": n for n in range(40)}},
)
ODD = (
    Passage(text=TEXT, rank=0, score=float("nan"), metadata={"when": "now", "page": [1, {"a": None}]}, source="tool"),
    Passage(text=OTHER, rank=1, score=Decimal("0.5"), source="history"),  # type: ignore[arg-type]  # as users give it
    Passage(text="", rank=2, id="empty"),
)
SHAPES = {
    "plain": call(TEXT),
    "head": call(TEXT, OTHER, prompt=[TEXT[:50], OTHER]),
    "tail": call(TEXT, prompt=[TEXT[40:]]),
    "pieces": call(TEXT + OTHER + AFTER, prompt=[TEXT, AFTER]),
    "dropped": call(TEXT, OTHER, prompt=[TEXT]),
    "rewritten on the way": call(TEXT, prompt=["A summary in words of its own, that no passage holds."]),
    "unknown passages": call(passages=None),
    "no passages": call(),
    "no prompt": call(TEXT, prompt=[]),
    "no answer": call(TEXT, answer=None, error=ValueError("no")),
    "everything known": KNOWN,
    "odd values": call(TEXT, passages=ODD, question="\ud83d \0"),
}


@pytest.mark.parametrize("align_in_app", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_what_capture_writes_is_in_the_schema(shape: str, align_in_app: bool):
    """Every shape of call is valid, and holds no member that the schema does not describe."""
    (document,) = documents(SHAPES[shape], capture_align_in_app=align_in_app)

    WRITTEN.validate(document)


@given(
    kept=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 60), st.integers(5, 90)), max_size=5),
    align_in_app=st.booleans(),
    limit=st.sampled_from([300, 500, 700, 1_000, 4_000_000]),
)
@settings(max_examples=60, deadline=None)
def test_however_passages_were_cut(kept, align_in_app, limit):
    """Any cuts, in any order, under any size limit."""
    texts = (TEXT, OTHER, AFTER)
    captured = call(*texts, prompt=[texts[number][start : start + length] for number, start, length in kept])
    record = make_record(captured, mask=None, align_in_app=align_in_app, limit_bytes=limit)

    WRITTEN.validate({"input": json.loads(record.input), "metadata": {"ragtrace_schema": 1}})


def test_a_sampled_call_says_at_which_rate():
    """The capture rate stands on the record of a call that it let through."""
    found = documents(*(call(f"{TEXT} {number}") for number in range(20)), capture_rate=0.5)
    for document in found:
        WRITTEN.validate(document)

    assert found
    assert {read(document).capture_probability for document in found} == {0.5}


def test_the_smallest_document_is_read():
    """A question, passages and the version: the rest has defaults."""
    smallest = {"input": {"question": "Fee?", "passages": None}, "metadata": {"ragtrace_schema": 1}}
    READ.validate(smallest)
    call_read = read(smallest)

    assert (call_read.question, call_read.delivery, call_read.answer, call_read.marks) == ("Fee?", None, "", ())


def test_a_document_that_leaves_placing_to_the_scorer_is_read():
    """Undetermined passages and the whole prompt: the scorer finds out what was received."""
    document = {
        "input": {
            "question": "Fee?",
            "passages": [{"text": TEXT, "received": "undetermined"}, {"text": OTHER, "received": "undetermined"}],
            "prompt_rest": [{"at": 0, "text": f"Answer from this: {TEXT}\n\nFee?"}],
        },
        "output": "Three euros.",
        "metadata": {"ragtrace_schema": 1},
    }
    READ.validate(document)
    delivery = read(document).delivery

    assert delivery is not None
    assert [(d.status, d.received_text, d.withheld_text) for d in delivery.passages] == [
        ("full", TEXT, ""),
        ("absent", "", OTHER),
    ]


def test_a_document_with_everything_is_read():
    """Every member of the schema has a place in the call that is scored."""
    document = {
        "input": {
            "question": "Fee?",
            "question_rewritten": "fee per night",
            "passages": [
                {
                    "id": "a",
                    "rank": 3,
                    "text": "The fee is three euros",
                    "cut": " per night.",
                    "received": "partial",
                    "kind": "head",
                    "coverage": 0.7,
                    "at": 10,
                    "copies": 2,
                    "score": 0.5,
                    "metadata": {"page": 3},
                    "source": "tool",
                },
                {"text": "one\n[…]\nthree", "cut": " two ", "received": "partial", "kind": "fragments"}
                | {"spans": [[0, 3], [8, 13]], "at": 40},
                {"text": OTHER, "received": "undetermined", "lost": 4},
            ],
            "prompt_rest": [{"at": 60, "text": OTHER}],
            "candidates": [{"id": "c", "text": AFTER}],
            "reference": "3 EUR",
            "reference_passages": [TEXT],
            "relevant_ids": ["a"],
            "citations": [{"start": 0, "end": 5, "passages": [0]}],
        },
        "output": "Three euros.",
        "metadata": {
            "ragtrace_schema": 1,
            "ragtrace_model": "gpt",
            "ragtrace_capture_probability": 0.5,
            "ragtrace_confidence": "low",
            "ragtrace_marks": "indirect,capped",
        },
    }
    WRITTEN.validate(document)
    found = read(document)

    assert found.delivery is not None
    assert [(d.status, d.received_text, d.withheld_text) for d in found.delivery.passages] == [
        ("partial", "The fee is three euros", " per night."),
        ("partial", "one\n[…]\nthree", " two "),
        ("full", OTHER, ""),
    ]
    first = found.delivery.passages[0]
    assert (first.passage.id, first.passage.rank, first.passage.score, first.passage.source, first.copies) == (
        "a",
        3,
        0.5,
        "tool",
        2,
    )
    assert (found.question_rewritten, found.reference, found.reference_passages, found.relevant_ids) == (
        "fee per night",
        "3 EUR",
        (TEXT,),
        ("a",),
    )
    assert (found.citations, found.model, found.capture_probability, found.confidence, found.marks) == (
        (Citation(start=0, end=5, passages=(0,)),),
        "gpt",
        0.5,
        "low",
        ("indirect", "capped"),
    )


WHOLE = {"text": TEXT, "received": "full"}


@pytest.mark.parametrize(
    "passage",
    [
        {"text": TEXT},
        {**WHOLE, "received": "mostly"},
        {**WHOLE, "received": "partial"},
        {**WHOLE, "received": "partial", "kind": "middle"},
        {**WHOLE, "received": "absent"},
        {**WHOLE, "cut": OTHER},
        {**WHOLE, "kind": "head"},
        {**WHOLE, "coverage": 1.5},
    ],
)
def test_a_passage_that_says_too_little_or_contradicts_itself_is_refused(passage):
    """A service that validates what it writes finds its mistake before the scorer does."""
    with pytest.raises(ValidationError):
        READ.validate({"input": {"question": "q", "passages": [passage]}, "metadata": {"ragtrace_schema": 1}})
