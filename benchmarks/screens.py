"""Take pictures of the report page of a demo: docs/screens/*.png, wide and narrow, light and dark."""

import asyncio
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright
from rich.console import Console

from ragtrace.demo.run import run_demo
from ragtrace.demo.server import STARTED

SCREENS = Path(__file__).parent.parent / "docs" / "screens"
WIDTHS = (1280, 420)
SCHEMES = ("light", "dark")
TALLEST = 1800
_NAMES = ("chromium", "chromium-browser", "google-chrome")


def main() -> int:
    """Run the demo and photograph its page; 1 where there is no browser."""
    path = next((found for name in _NAMES if (found := shutil.which(name))), None)
    if path is None:
        print("no Chromium on this machine: apt-get install chromium", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder, stopped_servers():
        quiet = Console(stderr=True, quiet=True)
        result = asyncio.run(run_demo(Path(folder), model_name=None, out=quiet, progress=Console(stderr=True)))
        SCREENS.mkdir(parents=True, exist_ok=True)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
            for width in WIDTHS:
                for scheme in SCHEMES:
                    file = SCREENS / f"report-{width}-{scheme}.png"
                    photograph(browser, Path(result.report), file, width=width, scheme=scheme)
                    print(file)
            browser.close()
    return 0


@contextmanager
def stopped_servers() -> Iterator[None]:
    """Stop the demo's server, which would stay for a while for people to browse."""
    try:
        yield
    finally:
        for process in STARTED:
            process.terminate()
            process.wait()


def photograph(browser: Browser, page: Path, file: Path, *, width: int, scheme: str) -> None:
    """Write the upper part of a page as a picture."""
    tab = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    tab.goto(page.as_uri())
    height = min(TALLEST, int(tab.evaluate("document.documentElement.scrollHeight")))
    tab.screenshot(path=str(file), full_page=True, clip={"x": 0, "y": 0, "width": width, "height": height})
    tab.close()


if __name__ == "__main__":
    sys.exit(main())
