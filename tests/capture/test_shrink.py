"""The size cap of a record."""

import json

from ragtrace.capture.shrink import Shrunk, shrink


def _record(**changes: object) -> dict:
    passages = [
        {
            "id": f"d{n}",
            "text": "t" * 1000,
            "received": "partial",
            "kind": "head",
            "cut": "c" * 1000,
            "metadata": {"m": "m" * 500},
        }
        for n in range(3)
    ]
    return {
        "question": "q",
        "passages": passages,
        "prompt_rest": [{"at": 0, "text": "r" * 1000}],
        "candidates": [{"text": "k" * 500}],
        **changes,
    }


def _shrink(record: dict, answer: str | None, limit: int) -> tuple[dict, Shrunk]:
    shrunk = shrink(record, answer, limit_bytes=limit)
    assert len(shrunk.text.encode()) + len((shrunk.answer or "").encode()) == shrunk.size <= limit
    return json.loads(shrunk.text), shrunk


def test_what_fits_is_left_alone():
    """A record below the cap is written as it is, without a mark."""
    content, shrunk = _shrink(_record(), "a", 20_000)

    assert (content, shrunk.answer, shrunk.marks) == (_record(), "a", ())


def test_withheld_text_goes_first():
    """A little too large: the withheld text is left out, everything else stays."""
    content, shrunk = _shrink(_record(), "a", 7_000)

    assert [set(p) for p in content["passages"]] == [{"id", "text", "received", "kind", "metadata"}] * 3
    assert (content["prompt_rest"], shrunk.marks) == (_record()["prompt_rest"], ("capped",))


def test_prompt_text_goes_second():
    """Then the prompt text that was not placed."""
    content, _shrunk = _shrink(_record(), "a", 5_900)

    assert (set(content), "metadata" in content["passages"][0]) == ({"question", "passages", "candidates"}, True)


def test_metadata_and_candidates_go_third():
    """Then metadata and what reranking dropped; received text is still whole."""
    content, _shrunk = _shrink(_record(), "a", 4_000)

    assert (set(content), {len(p["text"]) for p in content["passages"]}) == ({"question", "passages"}, {1000})


def test_received_text_goes_last_and_says_so():
    """Received text is cut from the last passage on, which says how much it lost and no longer counts as full."""
    full = {"id": "d", "text": "t" * 1000, "received": "full"}
    content, _shrunk = _shrink({"question": "q", "passages": [full, full, full]}, "a", 2_000)

    assert [(p["received"], len(p["text"]), p.get("lost")) for p in content["passages"]] == [
        ("full", 1000, None),
        ("partial", 624, 376),
        ("partial", 0, 1000),
    ]


def test_many_passages_leave_question_and_answer_whole():
    """However many passages are cut, what says so takes its room from passages, not from question and answer."""
    passages = [{"id": str(n), "text": "t" * 1000, "received": "full"} for n in range(200)]
    content, shrunk = _shrink({"question": "How long?", "passages": passages}, "36 months.", 100_000)

    assert (content["question"], shrunk.answer) == ("How long?", "36 months.")
    assert {p["received"] for p in content["passages"][:50]} == {"full"}


def test_an_undetermined_passage_stays_undetermined():
    """What was not placed is not called received because it was cut."""
    passage = {"text": "t" * 3000, "received": "undetermined"}
    content, _shrunk = _shrink({"question": "q", "passages": [passage]}, None, 1_000)

    assert content["passages"] == [{"text": "t" * 733, "received": "undetermined", "lost": 2267}]


def test_a_huge_answer_is_cut():
    """An answer beyond the cap is cut, too, after everything else."""
    content, shrunk = _shrink({"question": "q", "passages": None}, "ä" * 5_000, 2_000)

    assert (content, len(shrunk.answer or "") < 1_000) == ({"question": "q", "passages": None}, True)


def test_a_huge_question_is_cut():
    """Nothing else being left, the question is cut and the reference left out."""
    content, shrunk = _shrink({"question": "q" * 5_000, "passages": [], "reference": "r" * 5_000}, None, 2_000)

    assert (set(content), shrunk.marks) == ({"question", "passages"}, ("capped",))


def test_countless_empty_passages_are_cut_off():
    """Passages that are nothing but overhead cannot break the cap."""
    empty = {"id": "d" * 60, "rank": 0, "text": "", "received": "absent", "coverage": 0.0}
    content, _shrunk = _shrink({"question": "q", "passages": [empty] * 1000}, None, 20_000)

    assert len(content["passages"]) == 50
