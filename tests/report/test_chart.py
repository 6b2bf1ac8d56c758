"""A trend as a picture."""

import xml.etree.ElementTree as ElementTree

from ragtrace.report.chart import draw
from ragtrace.report.trend import trends
from tests.report.windows import window_of

(TREND,) = trends(window_of([1.0, 0.9] * 20))


def test_same_numbers_make_the_same_picture():
    """A report of the same calls is the same file, and names no path, no moment and no address to fetch from."""
    picture = draw(TREND)

    assert picture == draw(TREND)
    assert not any(word in picture for word in ("/home", "site-packages", "<image", "@font-face", "<metadata"))
    assert len(picture) < 40_000


def test_picture_says_what_it_shows():
    """A screen reader is told the metric and where the numbers are; ids of two charts never clash."""
    picture = ElementTree.fromstring(draw(TREND))
    ids = [each.get("id") for each in picture.iter() if each.get("id")]

    assert picture.get("role") == "img"
    assert picture.get("aria-label") == "Faithfulness by hour; the table that follows has the numbers"
    assert ids
    assert all(str(each).startswith("faithfulness-") for each in ids)
