"""The HTML page as text; what it looks like is tested in a browser."""

from dataclasses import replace
from html.parser import HTMLParser

import pytest

from ragtrace.report.html import PAGE_BYTES, render_page, within
from tests.build import delivery, whole
from tests.report.samples import clear, contradicted, refused, report, sample, unseen
from tests.report.windows import full_report

HOSTILE = "</style><script>document.title = 'owned'</script><img src=x onerror=alert(1)> {{ 7 * 7 }} \x00 \ud800"


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "action", "data")]


def _parse(page: str) -> _Tags:
    tags = _Tags()
    tags.feed(page)
    return tags


def test_page_needs_nothing_else():
    """No script, no picture, no font, no frame; links lead to Langfuse or into the page."""
    tags = _parse(render_page(report(contradicted(), clear(), refused(), unseen())))

    assert {"script", "link", "img", "iframe", "object"} & set(tags.names) == set()
    assert {a for a in tags.addresses if not a.startswith("#")} == {
        f"http://127.0.0.1:9/project/p1/traces/t{n}" for n in (1, 2, 3, 4)
    }


def test_links_into_the_page_lead_somewhere():
    """Every link to evidence has a passage or claim to go to."""
    page = render_page(report(contradicted(), clear(), refused(), unseen()))

    assert [a for a in _parse(page).addresses if a.startswith("#") and f'id="{a[1:]}"' not in page] == []


def test_hostile_text_stays_text():
    """Markup in questions, passages and answers is shown, not obeyed."""
    hostile = sample(1, question=HOSTILE, answer=HOSTILE, delivered=delivery(whole(HOSTILE, id=HOSTILE)), outcome=None)
    page = render_page(report(hostile))

    assert {"script", "img"} & set(_parse(page).names) == set()
    assert "&lt;script&gt;" in page
    assert "{{ 7 * 7 }}" in page
    page.encode()


def test_page_says_what_was_cut_without_colour():
    """Cut text is a deletion with its length in words, and a dropped passage says that it was dropped."""
    page = render_page(report(contradicted()))

    assert '[cut: 5 words not sent] </span><del class="lost">Labels are free in Europe.</del>' in page
    assert "dropped: the generator never saw it" in page
    assert "what was cut holds the reference" in page
    assert "The same words stand in the part of" in page


@pytest.mark.parametrize(("share", "shown"), [(0.0, ">0<"), (1.0, ">100<"), (0.996, ">99.6<"), (0.5, ">50<")])
def test_percentages_are_not_rounded_to_certainty(share, shown):
    """0 % and 100 % stand only where they are exact."""
    made = clear()
    page = render_page(report(replace(made, record=replace(made.record, scores={"faithfulness": share}))))

    assert shown in page


def test_call_without_passages_says_so():
    """Nothing retrieved, and not known what was retrieved, are two different facts."""
    nothing = sample(1, answer="A.", delivered=delivery(), outcome=None)
    page = render_page(report(nothing, unseen()))

    assert "Retrieval found nothing" in page
    assert "Which passages there were is unknown" in page


def test_empty_window_makes_a_page():
    """A window without calls says so."""
    page = render_page(report())

    assert "Nothing was captured in this window." in page
    assert "No answers in this window." in page


def test_page_is_bounded():
    """Long answers do not make a page that a browser chokes on; the worst calls stay."""
    long = sample(1, answer="word " * 5000, delivered=delivery(*(whole("<&>" * 900) for _ in range(10))), outcome=None)
    made = report(long)
    many = replace(made, shown=made.shown * 400)
    page = render_page(many)

    assert len(page.encode()) < 5_000_000
    assert 0 < len(within(many.shown, PAGE_BYTES)) < 400


def test_numbers_of_charts_stand_beside_them():
    """Trend, comparison and segments are tables with intervals; each chart has its numbers in the table beside it."""
    page = render_page(full_report())

    assert page.count('<svg class="chart" role="img"') == 1
    assert '<th scope="row">1 Mar 2026, 16:00</th><td>0.' in page
    assert "most likely since 1 Mar 2026" in page
    assert '<h2 id="segments">By tag</h2>' in page
    assert '<th scope="row">&lt;b&gt;blog</th><td class="n">20</td>' in page
