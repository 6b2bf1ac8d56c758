"""Chromium for tests of pages: Debian's, driven by playwright."""

import os
import shutil
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One headless Chromium a module; without one, tests are skipped, except in CI.

    Playwright keeps an event loop running while it is open, so that no asynchronous test could run beside it.
    """
    path = next((found for name in _NAMES if (found := shutil.which(name))), None)
    if path is None and os.environ.get("CI") == "true":
        pytest.fail("no Chromium: apt-get install chromium")
    if path is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser: Browser, tmp_path) -> Iterator[Callable[..., Page]]:
    """Return a function that shows HTML from a file, at a width and in a colour scheme."""
    contexts = []

    def show(html: str, *, width: int = 1280, scheme: str = "light") -> Page:
        file = tmp_path / "page.html"
        file.write_text(html, encoding="utf-8")
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.goto(file.as_uri())
        return page

    yield show
    for context in contexts:
        context.close()
