"""Debian's Chromium driven by Playwright for Python; no browser is downloaded."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

BINARY = shutil.which("chromium") or shutil.which("chromium-browser")
HOW = "needs Chromium and its driver: apt-get install chromium, pip install playwright"
AXE = Path(__file__).parent / "vendor/axe.min.js"
"""axe-core, MPL-2.0 (vendor/LICENSE.axe-core); for tests only, no page loads it."""


def driver():
    """The module that starts Playwright, or a skip that says how to get it."""
    if BINARY is None:
        pytest.skip(HOW)
    return pytest.importorskip("playwright.sync_api", reason=HOW)


@contextmanager
def launched() -> Iterator:
    """A headless browser."""
    with driver().sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BINARY, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield browser
        browser.close()


def opened(browser, path: Path, width: int = 1280, **context):
    """A page of the site, opened as a file, and everything that its console and its network said."""
    page = browser.new_context(viewport={"width": width, "height": 900}, **context).new_page()
    page.said, page.fetched = [], []
    page.on("console", lambda message: page.said.append(message.text))
    page.on("pageerror", lambda error: page.said.append(str(error)))
    page.on("request", lambda request: page.fetched.append(request.url))
    page.goto(path.as_uri(), wait_until="load")
    return page
