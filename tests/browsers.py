"""A real browser for tests of pages: Debian's chromium, driven by Playwright."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from importlib.util import find_spec
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
MOST_MS = 20_000
"""For conditions that are awaited; a machine may be busy."""

WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
AXE = "axe_playwright_python"
"""The package that axe-core comes with."""

needs_axe = pytest.mark.skipif(find_spec(AXE) is None, reason="axe-core is not installed")
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


def violations(page: Page) -> list[str]:
    """Return what breaks a rule of WCAG 2.2, levels A and AA: the rule and the elements."""
    page.evaluate((resources.files(AXE) / "axe.min.js").read_text(encoding="utf-8"))
    options = {"runOnly": {"type": "tag", "values": WCAG}, "resultTypes": ["violations"]}
    found = page.evaluate("(options) => axe.run(document, options)", options)
    return [
        f"{one['id']}: {one['help']}: {node['html'][:160]}: {node['failureSummary'][:300]}"
        for one in found["violations"]
        for node in one["nodes"][:4]
    ]
