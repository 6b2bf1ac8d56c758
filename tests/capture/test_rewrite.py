"""Masking a text that is cut."""

import re

import pytest

from ragtrace.capture.rewrite import Pieces, cut
from ragtrace.masking import MASK_FAILED

TEXT = "Contact: a.sample@example.org, customer no. 4711-0815. Refund takes 5 days."
MASKED = "Contact: ***, customer no. ***. Refund takes 5 days."


def hide(text: str) -> str:
    return re.sub(r"[\w.]+@example\.org|\d{4}-\d{4}", "***", text)


def fail(text: str) -> str:
    raise ValueError(text)


def test_without_a_mask_the_text_is_cut_where_told():
    """Pieces inside and outside the spans, and the spans as they were."""
    assert cut("abcdef", [(1, 2), (4, 6)], mask=None) == Pieces(
        inside=("b", "ef"), outside=("a", "cd"), spans=((1, 2), (4, 6))
    )


def test_a_mask_moves_the_cuts_along():
    """A cut in harmless text is at the same place of the masked text."""
    at = TEXT.index("Refund")

    assert cut(TEXT, [(0, at)], mask=hide) == Pieces(
        inside=("Contact: ***, customer no. ***. ",), outside=("Refund takes 5 days.",), spans=((0, 32),)
    )


@pytest.mark.parametrize("place", range(len(TEXT) + 1))
def test_no_cut_lets_part_of_a_secret_out(place):
    """Wherever a passage was cut, also in the middle of an address, its pieces are pieces of the masked text."""
    pieces = cut(TEXT, [(0, place)], mask=hide)

    assert "".join((*pieces.inside, *pieces.outside)) == MASKED


@pytest.mark.parametrize("first", range(0, len(TEXT), 5))
def test_spans_stay_in_order(first):
    """Several cuts through masked text neither cross nor lose anything."""
    pieces = cut(TEXT, [(first, first + 3), (first + 4, len(TEXT))], mask=hide)
    (a, b), (c, d) = pieces.spans

    assert (MASKED[:a] + MASKED[a:b] + MASKED[b:c] + MASKED[c:d] + MASKED[d:], a <= b <= c <= d) == (MASKED, True)


def test_where_the_mask_fails_nothing_of_the_text_is_left():
    """A failing mask leaves one marker instead of any piece."""
    assert cut(TEXT, [(0, 5)], mask=fail) == Pieces(inside=(MASK_FAILED,), outside=(), spans=((0, len(MASK_FAILED)),))
