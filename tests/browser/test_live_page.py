"""The live pages of `ragtrace serve` as Chromium shows them, with scripts switched off."""

from collections.abc import Iterator

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from ragtrace.cli.serving import _report_pages
from ragtrace.local.app import make_app
from ragtrace.local.serve import running
from tests.seed import STARTED_AT, SeedCall, seed, span_id, trace_id

pytestmark = [pytest.mark.browser]

HOSTILE = (
    "</style><script>document.title = 'owned'</script><img src=x onerror=\"document.title='owned'\"> \u202egnp.exe"
)
COMMENT = "No passage says so: “The tower is made of cheese.”"


@pytest.fixture
def site(local_langfuse) -> str:
    """A server with three calls: a good one, a lie with a score and its comment, a hostile one."""
    cheese = SeedCall(number=1, question="What is the tower made of?", answer="Of cheese.", tags=("dairy",))
    hostile = SeedCall(number=2, question=HOSTILE, passages=(HOSTILE,), answer=HOSTILE, tags=(HOSTILE,))
    seed(local_langfuse, [SeedCall(tags=("shop",)), cheese, hostile])
    for number, value in ((0, 1.0), (1, 0.0)):
        _post_score(local_langfuse, number, name="faithfulness", value=value, comment=COMMENT)
    keys = {"public_key": local_langfuse.public_key, "secret_key": local_langfuse.secret_key}
    with running(make_app(local_langfuse.store, **keys, pages=_pages(local_langfuse, keys))) as base_url:
        yield base_url


def _pages(server, keys):
    return _report_pages(server.base_url, **keys)


def _post_score(server, number: int, **score: object) -> None:
    body = {
        "id": f"s{number}",
        "traceId": trace_id(number),
        "observationId": span_id(number),
        "dataType": "NUMERIC",
        "timestamp": STARTED_AT.isoformat(),
        **score,
    }
    url = f"{server.base_url}/api/public/scores"
    httpx.post(url, json=body, auth=(server.public_key, server.secret_key)).raise_for_status()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that runs no script of its own."""
    context = browser.new_context(java_script_enabled=False, viewport={"width": 1280, "height": 900})
    yield context.new_page()
    context.close()


def _questions(page: Page) -> list[str]:
    return page.locator(".call h3").all_text_contents()


def test_search_is_typed_and_sent_without_script(site, page):
    """Words and Enter leave the answers that hold them; the field keeps the words; one link shows all again."""
    page.goto(site)
    page.get_by_label("Words in it").fill("CHEESE")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=CHEESE**")
    found, kept = _questions(page), page.get_by_label("Words in it").input_value()
    page.get_by_role("link", name="Show all").click()
    page.wait_for_url("**/")

    assert (found, kept) == (["What is the tower made of?"], "CHEESE")
    assert len(_questions(page)) == 3


@pytest.mark.parametrize(
    ("field", "option", "shown"),
    [
        ("Metric, worst first", "faithfulness", ["What is the tower made of?", "How high is the tower?"]),
        ("Tag", "shop", ["How high is the tower?"]),
        ("Tag", HOSTILE, [HOSTILE]),
        ("Outcome", "not_scored", [HOSTILE, "How high is the tower?", "What is the tower made of?"]),
    ],
)
def test_answers_are_filtered(site, page, field, option, shown):
    """Metric, outcome and tag are chosen from what there is; a metric puts the worst first."""
    page.goto(site)
    page.get_by_label(field).select_option(value=option)
    page.get_by_role("button", name="Show").click()
    page.wait_for_load_state()

    assert (_questions(page) if field != "Outcome" else sorted(_questions(page))) == shown


def test_trace_shows_what_the_scores_say(site, page):
    """One call's page has question, passages with their fate, answer, scores and their comments."""
    page.goto(f"{site}/project/local-project/traces/{trace_id(1)}")
    page.get_by_text("What the scores say of themselves").click()

    assert _questions(page) == ["What is the tower made of?"]
    assert page.locator(".passage .fate").all_text_contents() == ["received whole", "received whole"]
    assert page.locator(".remarks dd").first.text_content() == COMMENT
    assert page.locator("form").count() == 0


@pytest.mark.parametrize("width", [1280, 420])
def test_live_page_has_no_serious_accessibility_fault(site, browser, width):
    """axe finds nothing serious in the form and the page, wide or narrow, and nothing scrolls sideways."""
    # The page's own policy forbids scripts; axe is one.
    context = browser.new_context(bypass_csp=True, viewport={"width": width, "height": 900})
    page = context.new_page()
    page.goto(site)
    violations = Axe().run(page).response["violations"]
    sideways = page.evaluate("document.documentElement.scrollWidth")
    context.close()

    assert [(v["id"], v["nodes"][0]["html"]) for v in violations if v["impact"] in ("serious", "critical")] == []
    assert sideways <= width


def test_hostile_words_cannot_run_or_turn_the_page(site, browser):
    """Text that tries to run stays text where scripts may run, and turned writing ends with the text it stands in."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(f"{site}/?{httpx.QueryParams({'q': HOSTILE})}")
    page.wait_for_timeout(50)
    title, pictures = page.title(), page.locator("img, body script").count()
    isolated = {
        name: page.locator(name).first.evaluate("each => getComputedStyle(each).unicodeBidi")
        for name in (".call h3", ".passage .text", ".answer", "option")
    }
    value = page.get_by_label("Words in it").input_value()
    context.close()

    assert (title, pictures, value) == ("local: what the generator saw", 0, HOSTILE)
    assert set(isolated.values()) == {"isolate"}
