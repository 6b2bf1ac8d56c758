"""The report page as Chromium shows it."""

from dataclasses import replace

import pytest
from axe_playwright_python.sync_playwright import Axe

from ragtrace.report.html import render_page
from tests.build import delivery, whole
from tests.report.samples import clear, contradicted, refused, report, sample, unseen
from tests.report.windows import full_report

pytestmark = [pytest.mark.browser]

HOSTILE = (
    "</div></style><script>document.title = 'owned'</script><img src=x onerror=\"document.title = 'owned'\">"
    "<a href=\"javascript:document.title = 'owned'\">x</a><svg onload=\"document.title = 'owned'\">"
)
SIZES = pytest.mark.parametrize("width", [1280, 420])


def _page() -> str:
    return render_page(report(contradicted(), clear(), refused(), unseen()))


def _all_open(page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (420, "dark")])
@pytest.mark.parametrize("made", [_page(), render_page(full_report())], ids=["calls", "numbers"])
def test_no_serious_accessibility_fault(open_page, made, width, scheme):
    """axe finds nothing serious or critical (contrast, names, structure), folded and unfolded."""
    page = open_page(made, width=width, scheme=scheme)
    _all_open(page)
    violations = Axe().run(page).response["violations"]

    assert [(v["id"], v["nodes"][0]["html"]) for v in violations if v["impact"] in ("serious", "critical")] == []


@SIZES
def test_page_does_not_scroll_sideways(open_page, width):
    """Nothing sticks out of the page, wide or narrow, also with a long word."""
    long = sample(
        5, question="w" * 300, answer="x" * 400, delivered=delivery(whole("y" * 500, id="z" * 200)), outcome=None
    )
    page = open_page(render_page(replace(full_report(), shown=report(contradicted(), long).shown)), width=width)
    _all_open(page)

    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_hostile_text_cannot_run(open_page):
    """A passage, a question, an answer and an id that try to run a script stay text."""
    hostile = sample(1, question=HOSTILE, answer=HOSTILE, delivered=delivery(whole(HOSTILE, id=HOSTILE)), outcome=None)
    tagged = replace(hostile, call=replace(hostile.call, tags=(HOSTILE,), model=HOSTILE))
    page = open_page(render_page(report(tagged)))
    _all_open(page)
    page.wait_for_timeout(50)

    assert page.title() == "Shop: what the generator saw"
    assert page.locator("script, img, svg[onload], a[href^=javascript]").count() == 0
    assert HOSTILE in (page.locator(".passage .text").first.text_content() or "")


def test_page_forbids_scripts_of_others(open_page):
    """Even a script that got into the page would not run: the page's own policy forbids it."""
    page = open_page(_page().replace("</main>", "</main><script>document.title = 'owned'</script>"))

    assert page.title() == "Shop: what the generator saw"


def test_page_is_operated_by_keyboard(open_page):
    """Tab reaches the skip link first and each answer after it; Enter unfolds an answer."""
    page = open_page(_page())
    page.keyboard.press("Tab")
    first = page.evaluate("document.activeElement.textContent")
    page.locator("#c4 > summary").focus()
    page.keyboard.press("Enter")

    assert first == "Skip to the answers"
    assert page.locator("#c4").get_attribute("open") is not None


def test_evidence_links_lead_to_the_passage(open_page):
    """A link to evidence goes to that passage, which stands out, also where its answer was folded."""
    page = open_page(_page())
    page.evaluate("document.querySelector('#c1').open = false; location.hash = 'c1-p2'")

    assert page.locator("#c1").get_attribute("open") is not None
    assert page.locator(".passage:target").get_attribute("id") == "c1-p2"


def test_marks_differ_without_colour(open_page):
    """Verdicts have underlines of different kinds, and cut text is struck through."""
    page = open_page(_page())
    kinds = {
        verdict: page.locator(f"#c1 mark.{verdict}").evaluate("each => getComputedStyle(each).textDecorationStyle")
        for verdict in ("supported", "unsupported", "contradicted")
    }
    struck = page.locator("#c1 del.lost").first.evaluate("each => getComputedStyle(each).textDecorationLine")

    assert kinds == {"supported": "solid", "unsupported": "dashed", "contradicted": "double"}
    assert struck == "line-through"


def test_print_shows_folded_answers(open_page):
    """On paper every answer is unfolded."""
    page = open_page(_page())
    folded = page.locator("#c4 .inside")
    on_screen = folded.evaluate("each => each.getBoundingClientRect().height")
    page.emulate_media(media="print")
    on_paper = folded.evaluate("each => each.getBoundingClientRect().height")

    assert on_screen == 0
    assert on_paper > 50


def test_tables_of_trends_scroll_by_keyboard(open_page):
    """The numbers of a long trend are reached with Tab and scrolled with the arrow keys; on paper all of them stand."""
    page = open_page(render_page(full_report()))
    table = page.locator(".scroll.short")
    table.focus()

    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Faithfulness by hour"
    page.emulate_media(media="print")
    assert table.evaluate("each => each.scrollHeight <= each.clientHeight + 1")
