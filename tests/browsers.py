"""A real browser for tests of pages: Debian's chromium, driven by Playwright."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
MOST_MS = 20_000
"""For conditions that are awaited; a machine may be busy."""

needs_browser = pytest.mark.skipif(BROWSER is None, reason="there is no chromium on PATH")


@contextmanager
def chromium() -> Iterator[Browser]:
    expect.set_options(timeout=MOST_MS)
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=BROWSER, args=FLAGS)
        yield found
        found.close()


@contextmanager
def page_of(browser: Browser, url: str, name: str, **options: Any) -> Iterator[Page]:
    """Yield a page of a reviewer's own browser; an error in a script fails the test."""
    context = browser.new_context(base_url=url, **options)
    context.set_default_timeout(MOST_MS)
    context.add_cookies([{"name": "sugartag-8000-name", "value": name, "url": url}])
    found = context.new_page()
    errors: list[str] = []
    found.on("pageerror", lambda error: errors.append(str(error)))
    yield found
    context.close()
    assert errors == []


def said(page: Page, words: str) -> None:
    """Wait until the page announces something."""
    expect(page.locator("#status")).to_contain_text(words)
