"""Reading back what capture wrote."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtrace import align
from ragtrace.capture.place import make_record
from ragtrace.capture.record import CapturedCall
from ragtrace.extract import ObservationRow, complete_delivery, read_rag_call
from ragtrace.model import (
    Citation,
    Delivery,
    JsonValue,
    Passage,
    PassageDelivery,
    PromptPiece,
    RagCall,
    TextSpan,
)
from ragtrace.semconv import MARK_CAPPED, MARK_UNREADABLE

STARTED_AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
LONG = "The tower was built in 1372. It leans by four degrees. Nobody may climb it in winter. Tickets cost nine euros."


def row(record: JsonValue = None, *, raw: str | None = None, **fields: object) -> ObservationRow:
    text = raw if raw is not None or record is None else json.dumps(record)
    base = ObservationRow(
        id="0" * 15 + "a", trace_id="0" * 31 + "b", name="rag-call", type="CHAIN", start_time=STARTED_AT, input=text
    )
    return replace(base, **fields)


def captured(*passages: str, prompt: str, **fields: object) -> CapturedCall:
    call = CapturedCall(
        question="How high?",
        answer="57 metres.",
        passages=tuple(Passage(text=text, rank=rank, id=f"d{rank}") for rank, text in enumerate(passages)),
        prompt_parts=(prompt,),
        start_ns=0,
        end_ns=1,
    )
    return replace(call, **fields)


def read_back(call: CapturedCall, *, limit_bytes: int = 1_000_000, align_in_app: bool = False) -> RagCall:
    """Through capture's record and back."""
    record = make_record(call, mask=None, align_in_app=align_in_app, limit_bytes=limit_bytes)
    marks = {"ragtrace_marks": ",".join(record.marks)} if record.marks else {}
    return read_rag_call(row(raw=record.input, output=record.output, metadata=marks))


def outline(delivery: Delivery | None) -> list[tuple[str, str, str]]:
    assert delivery is not None
    return [(d.status, d.received_text, d.withheld_text) for d in delivery.passages]


def test_what_capture_placed_is_read_back():
    """Whole, cut and dropped passages come back with the text that was received and the text that was not."""
    call = captured(
        "One whole passage.", LONG, "Dropped passage.", prompt=f"Use: One whole passage.\n{LONG[:54]}\nHow high?"
    )

    found = read_back(call)

    assert (found.question, found.answer) == ("How high?", "57 metres.")
    assert outline(found.delivery) == [
        ("full", "One whole passage.", ""),
        ("partial", LONG[:54], LONG[54:]),
        ("absent", "", "Dropped passage."),
    ]
    assert found.delivery is not None
    assert found.delivery.prompt_order == (0, 1)
    assert [d.passage.text for d in found.delivery.passages] == ["One whole passage.", LONG, "Dropped passage."]
    assert [d.passage.id for d in found.delivery.passages] == ["d0", "d1", "d2"]


def test_prompt_order_is_kept():
    """Passages that stand in another order in the prompt are known by it."""
    found = read_back(
        captured("First passage here.", "Second passage here.", prompt="Second passage here.\nFirst passage here.")
    )

    assert found.delivery is not None
    assert found.delivery.prompt_order == (1, 0)


def test_undetermined_passages_are_placed_by_the_scorer():
    """What the application left open is found in the rest of the prompt, at its place in the whole prompt."""
    rest = "…" + LONG[29:86]
    call = read_rag_call(
        row(
            {
                "question": "q",
                "passages": [
                    {"rank": 0, "text": "Whole.", "received": "full", "coverage": 1.0, "at": 0},
                    {"rank": 1, "text": LONG, "received": "undetermined", "coverage": 0.0},
                ],
                "prompt_rest": [{"at": 6, "text": "\n"}, {"at": 40, "text": rest}],
            }
        )
    )

    found = complete_delivery(call)

    assert call.delivery is not None
    assert found.delivery is not None
    assert call.delivery.passages[1].status == "undetermined"
    assert outline(found.delivery)[1] == ("partial", LONG[29:84], f"{LONG[:29]}\n[…]\n{LONG[84:]}")
    assert found.delivery.passages[1].spans[0].prompt_start == 41
    assert found.delivery.prompt_order == (0, 1)
    assert found.prompt_rest == ()


def test_completing_leaves_alone_what_is_settled():
    """Without an undetermined passage, without passages, or with the rest given up there is nothing to do."""
    settled = read_rag_call(row({"question": "q", "passages": [], "prompt_rest": [{"at": 0, "text": "x"}]}))
    unknown = read_rag_call(row({"question": "q", "passages": None}))
    capped = read_rag_call(
        row(
            {"question": "q", "passages": [{"rank": 0, "text": "a b c", "received": "undetermined"}]},
            metadata={"ragtrace_marks": "capped"},
        )
    )

    assert complete_delivery(settled) is settled
    assert complete_delivery(unknown) is unknown
    assert complete_delivery(capped) is capped


def test_unknown_passages_are_not_empty_passages():
    """null is unknown, [] is a retrieval that found nothing."""
    unknown = read_rag_call(row({"question": "q", "passages": None}))
    nothing = read_rag_call(row({"question": "q", "passages": []}))

    assert unknown.delivery is None
    assert nothing.delivery == Delivery()


def test_all_fields_are_read():
    """Labels, citations, identity and what capture was unsure about arrive in the call."""
    record = {
        "question": "q",
        "passages": [
            {
                "id": 7,
                "rank": 3,
                "text": "Passage.",
                "received": "full",
                "coverage": 1,
                "at": 5,
                "copies": 2,
                "score": 0.5,
                "metadata": {"page": 1},
                "source": "tool",
            }
        ],
        "prompt_rest": [{"at": 2, "text": "abc"}],
        "reference": "r",
        "reference_passages": ["p"],
        "relevant_ids": ["a", 2],
        "citations": [{"start": 0, "end": 3, "passages": [0]}],
        "question_rewritten": "q2",
    }

    found = read_rag_call(
        row(
            record,
            output="Answer.",
            metadata={
                "ragtrace_schema": "1",
                "ragtrace_marks": '["abandoned"]',
                "ragtrace_confidence": '"low"',
                "ragtrace_capture_probability": "0.25",
                "ragtrace_model": "m-1",
            },
            environment="prod",
            tags=("t",),
            session_id="s",
            user_id="u",
            release="r1",
        )
    )

    assert found == RagCall(
        id="0" * 15 + "a",
        trace_id="0" * 31 + "b",
        observation_id="0" * 15 + "a",
        started_at=STARTED_AT,
        question="q",
        answer="Answer.",
        delivery=Delivery(
            passages=(
                PassageDelivery(
                    passage=Passage(text="Passage.", rank=3, id="7", score=0.5, metadata={"page": 1}, source="tool"),
                    status="full",
                    coverage=1.0,
                    spans=(TextSpan(passage_start=0, passage_end=8, prompt_start=5, prompt_end=13),),
                    copies=2,
                ),
            ),
            prompt_order=(0,),
            unknown_spans=((2, 5),),
        ),
        prompt_rest=(PromptPiece(text="abc", start=2),),
        reference="r",
        reference_passages=("p",),
        relevant_ids=("a", "2"),
        citations=(Citation(start=0, end=3, passages=(0,)),),
        question_rewritten="q2",
        model="m-1",
        environment="prod",
        tags=("t",),
        session="s",
        user="u",
        release="r1",
        confidence="low",
        marks=("abandoned",),
        capture_probability=0.25,
    )


@pytest.mark.parametrize(
    "observation",
    [
        row(raw='{"question": "cut in the mid'),
        row(raw="[]"),
        row(),
        row({"question": "q", "passages": "none"}),
        row({"question": "q", "passages": [{"text": "no status"}]}),
        row({"question": "q", "passages": [{"text": "x", "received": "sideways"}]}),
        row({"question": "q", "passages": [{"text": "x", "received": "partial", "kind": "middle", "spans": [[0]]}]}),
        row({"question": "q", "passages": [], "prompt_rest": [{"at": "x", "text": "y"}]}),
        row({"question": "q", "passages": []}, metadata={"ragtrace_schema": 2}),
    ],
)
def test_a_record_that_cannot_be_read_is_marked(observation):
    """A broken or newer record is counted as unreadable, never guessed at."""
    found = read_rag_call(observation)

    assert found.delivery is None
    assert found.marks == (MARK_UNREADABLE,)


def test_a_capped_record_says_so():
    """A record over its size cap comes back with the mark and without a guess about the lost text."""
    found = read_back(captured(LONG * 30, prompt=LONG * 30), limit_bytes=2_000)

    assert MARK_CAPPED in found.marks
    assert found.delivery is not None
    assert [d.status for d in found.delivery.passages] == ["partial"]


def test_lone_surrogates_do_not_get_in():
    """Broken UTF-16 in a record is replaced character by character, so that offsets hold."""
    found = read_rag_call(
        row(
            raw='{"question": "a\\ud83d b", "passages": [{"rank": 0, "text": "c\\udc00d", "received": "full"}]}',
            output="x\ud83dy",
        )
    )

    assert (found.question, found.answer) == ("a\ufffd b", "x\ufffdy")
    assert outline(found.delivery) == [("full", "c\ufffdd", "")]


@given(
    passage=st.text(alphabet="ab \n[…]", min_size=1, max_size=60),
    cuts=st.lists(st.integers(0, 60), min_size=2, max_size=6, unique=True),
)
def test_pieces_of_a_passage_are_put_together_again(passage, cuts):
    """Whatever stretches arrived, received and withheld text come back as they were, but for blank gaps."""
    edges = sorted(cut for cut in cuts if cut <= len(passage))
    ranges = [(a, b) for a, b in zip(edges[::2], edges[1::2], strict=False) if a < b]
    if not ranges:
        return
    spans = tuple(TextSpan(passage_start=a, passage_end=b, prompt_start=a, prompt_end=b) for a, b in ranges)
    original = PassageDelivery(
        passage=Passage(text=passage, rank=0), status="partial", kind="fragments", coverage=0.5, spans=spans
    )

    found = read_rag_call(
        row(
            {
                "question": "q",
                "passages": [
                    {
                        "rank": 0,
                        "text": original.received_text,
                        "cut": original.withheld_text,
                        "received": "partial",
                        "kind": "fragments",
                        "coverage": 0.5,
                        "at": ranges[0][0],
                        "spans": [list(r) for r in ranges],
                    }
                ],
            }
        )
    )

    assert found.delivery is not None
    read = found.delivery.passages[0]
    assert read.received_text == original.received_text
    assert "".join(read.withheld_text.split()) == "".join(original.withheld_text.split())


def test_separator_between_parts_is_the_aligners():
    """Offsets of pieces are counted with the separator that `align` joins prompt parts with."""
    assert align.PART_SEPARATOR == "\n"
