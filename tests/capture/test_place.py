"""From a captured call to the JSON of its observation."""

import json
import re
from dataclasses import replace

import pytest

from ragtrace.capture.place import Record, describe_received, make_record
from ragtrace.masking import MASK_FAILED
from ragtrace.model import Citation, Passage, PassageDelivery, TextSpan
from tests.capture.calls import TEXT, call, passages

OTHER = "The lamp draws nine watts and weighs two kilograms, said the sheet that came with it."
AFTER = "Pets are welcome in the annex after five o'clock."


def _record(captured, *, mask=None, align_in_app=False, limit_bytes=4_000_000) -> Record:
    return make_record(captured, mask=mask, align_in_app=align_in_app, limit_bytes=limit_bytes)


def _input(captured, **options) -> dict:
    return json.loads(_record(captured, **options).input)


def hide(text: str) -> str:
    return re.sub(r"[\w.]+@example\.org|\d{4}-\d{4}", "***", text)


def test_received_passages_stand_with_their_place():
    """A passage that the prompt holds whole is written once, with where it starts in the prompt."""
    assert _input(call(TEXT)) == {
        "question": "What is the fee?",
        "passages": [
            {"id": "d0", "rank": 0, "text": TEXT, "at": 19, "received": "full", "coverage": 1.0},
        ],
    }


def test_a_cut_passage_is_written_in_two_parts():
    """What was received and what was withheld stand apart and make up the passage."""
    (passage,) = _input(call(TEXT, prompt=["Context: " + TEXT[:49]]))["passages"]

    assert passage == {
        "id": "d0",
        "rank": 0,
        "text": TEXT[:49],
        "kind": "head",
        "cut": TEXT[49:],
        "at": 9,
        "received": "partial",
        "coverage": passage["coverage"],
    }


def test_a_tail_is_written_in_two_parts():
    """A passage whose beginning was cut off says so."""
    (passage,) = _input(call(TEXT, prompt=["Context: " + TEXT[40:]]))["passages"]

    assert (passage["cut"] + passage["text"], passage["kind"]) == (TEXT, "tail")


def test_a_dropped_passage_is_all_withheld():
    """A passage that did not arrive has no received text."""
    dropped = _input(call(TEXT, OTHER, prompt=["Context: " + TEXT]))["passages"][1]

    assert dropped == {"id": "d1", "rank": 1, "text": "", "cut": OTHER, "received": "absent", "coverage": 0.0}


def test_prompt_text_is_kept_only_where_a_passage_is_not_placed():
    """What `quick` cannot place goes along with the prompt text that nothing explains."""
    turned = f"{OTHER[41:]} {OTHER[:40]}"
    record = _input(call(TEXT, OTHER, prompt=[TEXT, turned]))

    assert (record["passages"][1]["received"], record["passages"][1]["text"], record["prompt_rest"]) == (
        "undetermined",
        OTHER,
        [{"at": len(TEXT) + 1, "text": turned}],
    )


def test_the_application_can_place_everything_itself():
    """With `align_in_app`, nothing is left for the scorer."""
    captured = call(TEXT, OTHER, prompt=[TEXT, f"{OTHER[40:]} {OTHER[:40]}"])
    record = _record(captured, align_in_app=True)

    assert [p["received"] for p in json.loads(record.input)["passages"]] == ["full", "full"]
    assert ("prompt_rest" in json.loads(record.input), record.received) == (False, 2)


def test_pieces_of_a_passage_keep_their_places():
    """A passage received in pieces says which stretches these were, so that it can be put together again."""
    text = f"{TEXT} {OTHER} {AFTER}"
    (passage,) = _input(call(text, prompt=[TEXT, "Then:", AFTER]), align_in_app=True)["passages"]
    spans = passage["spans"]

    assert (passage["kind"], "".join(text[a:b] for a, b in spans).replace(" ", "")) == (
        "fragments",
        (TEXT + AFTER).replace(" ", ""),
    )


def test_copies_scores_metadata_and_origin_go_along():
    """What is known about a passage beside its text is written where it says something."""
    passage = Passage(text=TEXT, rank=0, score=0.5, metadata={"page": 3}, source="tool")
    written = _input(call(prompt=[TEXT, TEXT], passages=(passage,)))["passages"]

    assert written == [
        {
            "id": None,
            "rank": 0,
            "text": TEXT,
            "at": 0,
            "received": "full",
            "coverage": 1.0,
            "copies": 2,
            "score": 0.5,
            "metadata": {"page": 3},
            "source": "tool",
        }
    ]


def test_everything_else_that_judging_needs_goes_along():
    """Candidates, reference, labels, citations and the rewritten question."""
    captured = call(
        candidates=passages(OTHER),
        reference="3 EUR",
        relevant_ids=("d7",),
        citations=(Citation(start=0, end=5, passages=(0,)),),
        question_rewritten="fee per night",
    )

    assert _input(captured) == {
        "question": "What is the fee?",
        "passages": [],
        "candidates": [{"id": "d0", "text": OTHER}],
        "reference": "3 EUR",
        "relevant_ids": ["d7"],
        "citations": [{"start": 0, "end": 5, "passages": [0]}],
        "question_rewritten": "fee per night",
    }


def test_unknown_passages_are_not_empty_passages():
    """Where no retrieval was seen, the record says unknown; where it found nothing, the list is empty."""
    unknown, empty = _record(call(passages=None)), _record(call())

    assert (json.loads(unknown.input)["passages"], unknown.marks, unknown.retrieved) == (
        None,
        ("contexts_unknown",),
        None,
    )
    assert (json.loads(empty.input)["passages"], empty.marks, empty.retrieved) == ([], (), 0)


def test_marks_are_not_repeated():
    """What capture marked itself is marked once."""
    captured = call(passages=None, marks=("contexts_unknown", "error"), error=ValueError("x"))

    assert _record(captured).marks == ("contexts_unknown", "error")


def test_suspicions_are_marked():
    """What judges misread more often is marked, so that strata and reviews can prefer it."""
    assert _record(call(TEXT, answer="Not more.")).marks == ("short_answer", "negation", "comparison")


def test_an_error_is_marked():
    """A generator that failed leaves a record without an answer."""
    record = _record(call(TEXT, answer=None, error=ValueError("x")))

    assert (record.output, record.marks) == (None, ("error",))


def test_without_a_prompt_passages_count_as_received():
    """Who names passages and an answer by hand, but no prompt, is believed, and the record says so."""
    record = _record(call(TEXT, OTHER, prompt=[]))

    assert ([p["received"] for p in json.loads(record.input)["passages"]], record.marks) == (
        ["full", "full"],
        ("prompt_unknown",),
    )


def test_counts_and_digest_describe_the_prompt():
    """How many passages came and arrived, and how long the prompt was."""
    record = _record(call(TEXT, OTHER, prompt=["Context: " + TEXT]))

    assert (record.retrieved, record.received, record.prompt_length, len(record.prompt_digest or "")) == (
        2,
        1,
        9 + len(TEXT),
        16,
    )


def test_broken_text_is_cleaned_before_it_is_compared():
    """A lone surrogate in passage and prompt is replaced in both, and the passage is still found."""
    text = "Rated five of five \ud83d by all of the testers, and no 😀 was harmed."
    (passage,) = _input(call(text))["passages"]

    assert (passage["text"], passage["received"]) == (text.replace("\ud83d", "\ufffd"), "full")


def test_an_image_in_passage_and_prompt_is_a_marker_in_both():
    """The text around a large inline image is kept, and the record stays small."""
    text = "Figure 3 shows the flow. data:image/png;base64," + "QUJD" * 1_000_000 + " The valve opens at 3.2 bar."
    record = _record(call(text, "The pump weighs 14 kg."))
    first, second = json.loads(record.input)["passages"]

    assert (first["received"], second["received"], record.size < 100_000) == ("full", "full", True)
    assert re.sub(r"\[.*\]", "[image]", first["text"]) == "Figure 3 shows the flow. [image] The valve opens at 3.2 bar."


SECRET = "Contact: a.sample@example.org, customer no. 4711-0815. Refund takes 5 days in every case that we know."


def test_the_mask_covers_every_part():
    """Question, passages, answer, ids, metadata, reference, labels: nothing leaves unmasked."""
    captured = call(
        SECRET,
        question="Refund time for 4711-0815?",
        question_rewritten="refund 4711-0815",
        answer="a.sample@example.org gets it in 5 days",
        reference="4711-0815: five days",
        relevant_ids=("4711-0815",),
        candidates=(Passage(text=SECRET, rank=0, id="4711-0815"),),
        passages=(
            Passage(text=SECRET, rank=0, id="4711-0815", metadata={"owner": "a.sample@example.org", "4711-0815": 1}),
            Passage(text=SECRET.upper(), rank=1),
        ),
        citations=(Citation(start=0, end=38, passages=(0,)),),
    )
    record = _record(captured, mask=hide)

    assert not re.search("a.sample|4711-0815", record.input + str(record.output))
    assert ("Refund takes 5 days" in record.input, record.output, record.marks, record.prompt_digest) == (
        True,
        "*** gets it in 5 days",
        (),
        None,
    )
    assert json.loads(record.input)["citations"] == [{"start": 0, "end": 21, "passages": [0]}]


@pytest.mark.parametrize("end", range(20, 60))
def test_a_cut_through_a_secret_lets_no_part_of_it_out(end):
    """Also where the application cut a passage in the middle of an address, neither half is written."""
    captured = call(SECRET, prompt=["Use this. " + SECRET[:end]])
    record = _record(captured, mask=hide)

    assert not re.search(r"sample|example|4711|0815", record.input)


def test_a_failing_mask_drops_the_content_and_says_so():
    """Where the mask raises, markers are left of the texts, and the record is marked."""

    def fail(text: str) -> str:
        raise ValueError(text)

    record = _record(call(TEXT, prompt=[TEXT[:40]]), mask=fail)

    assert (record.marks, record.output, TEXT[:10] in record.input) == (("masked",), MASK_FAILED, False)


def test_a_capped_record_says_so():
    """A record beyond the size cap is cut and marked."""
    record = _record(call(TEXT * 300, prompt=[TEXT]), limit_bytes=10_000)

    assert (record.marks, record.size <= 10_000) == (("capped",), True)


def test_a_number_as_score_may_be_of_any_kind():
    """A score that is no number is left out."""
    scored = replace(passages(TEXT)[0], score=float("nan"))

    assert "score" not in _input(call(prompt=[TEXT], passages=(scored,)))["passages"][0]


@pytest.mark.parametrize(
    ("kind", "spans", "expected"),
    [
        ("head", [(0, 10), (11, 49)], {"kind": "head", "text": TEXT[:49], "cut": TEXT[49:]}),
        ("tail", [(40, len(TEXT) - 1)], {"kind": "tail", "text": TEXT[40:], "cut": TEXT[:40]}),
    ],
)
def test_gaps_without_letters_are_no_gaps(kind, spans, expected):
    """A passage that lost nothing but a space or a full stop in between is a plain head or tail."""
    written = describe_received(_delivery(kind, spans), mask=None)

    assert written == {**expected, "at": 100 + spans[0][0]}


@pytest.mark.parametrize(
    ("kind", "spans", "named"),
    [
        ("head", [(4, 30)], "middle"),
        ("tail", [(40, 60)], "middle"),
        ("middle", [(4, 30)], "middle"),
        ("middle", [(4, 10), (20, 30)], "middle"),
        ("head", [(0, 10), (20, 30)], "fragments"),
        ("fragments", [(0, 7), (8, 30)], "fragments"),
    ],
)
def test_anything_else_is_written_with_its_places(kind, spans, named):
    """Where letters are missing in between or at the end that should be whole, the stretches are told."""
    written = describe_received(_delivery(kind, spans), mask=None)

    assert (written["kind"], written["spans"], written["text"].split("\n[…]\n")) == (
        named,
        [list(span) for span in spans],
        [TEXT[a:b] for a, b in spans],
    )


def _delivery(kind, spans) -> PassageDelivery:
    places = tuple(TextSpan(passage_start=a, passage_end=b, prompt_start=100 + a, prompt_end=100 + b) for a, b in spans)
    return PassageDelivery(passage=passages(TEXT)[0], status="partial", kind=kind, coverage=0.5, spans=places)
