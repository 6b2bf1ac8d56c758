"""The mask over everything that leaves."""

import re

import pytest

from ragtrace.masking import MASK_FAILED, apply, mask_text

SECRET = re.compile(r"[\w.]+@example\.org|\d{4}-\d{4}")


def hide(text: str) -> str:
    return SECRET.sub("***", text)


def fail(text: str) -> str:
    raise LookupError(text)


def test_texts_and_keys_at_any_depth_are_masked():
    """Lists, objects and their keys are masked; what says nothing stays."""
    value = {"a.sample@example.org": ["4711-0815", {"n": 3, "deep": "x 4711-0815"}], "flag": True, "none": None}

    assert apply(hide, value) == {"***": ["***", {"n": 3, "deep": "x ***"}], "flag": True, "none": None}


def test_a_number_that_the_mask_hides_becomes_text():
    """A customer number kept as an integer is hidden like the same digits in a text."""
    masked = apply(lambda text: text.replace("47110815", "***"), {"customer": 47110815, "rank": 2})

    assert masked == {"customer": "***", "rank": 2}


def test_without_a_mask_nothing_changes():
    """No mask, no change."""
    assert apply(None, {"a": [1, "x"]}) == {"a": [1, "x"]}


@pytest.mark.parametrize("mask", [fail, lambda text: None, lambda text: b"bytes"])
def test_where_the_mask_fails_the_text_is_dropped(mask):
    """A mask that raises, or returns no text, lets nothing out."""
    assert mask_text(mask, "a.sample@example.org") == MASK_FAILED
    assert apply(mask, ["x", None]) == [MASK_FAILED, None]


def test_the_empty_text_needs_no_mask():
    """Nothing is asked about an empty text."""
    assert mask_text(fail, "") == ""


def test_a_failing_mask_is_logged_without_the_text(caplog):
    """The log names the kind of failure, once; the exception's text may be what the mask should have hidden."""

    def fail_oddly(text: str) -> str:
        raise UnicodeError(text)

    for _ in range(3):
        mask_text(fail_oddly, "a.sample@example.org")

    assert [r.getMessage() for r in caplog.records] == [
        "ragtrace: the mask fails with UnicodeError; what it cannot handle is dropped (`masked`)"
    ]
