"""The documentation builds as a site without a warning, and nothing on it comes from elsewhere."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import sugartag

pytest.importorskip("mkdocs")

ROOT = Path(__file__).parents[2]
LEFT_OVER = re.compile(r"\]\(|\*\*|\| ?:?-{2,}|^:::|```", re.MULTILINE)
"""Markdown that was taken for text."""


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """Build the site as ``make docs`` does."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


class Parsed(HTMLParser):
    """What a page loads, the ids it has, and its text outside code."""

    def __init__(self, page):
        super().__init__()
        self.loads, self.ids, self.text, self._code = [], set(), [], 0
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.ids.add(found.get("id"))
        self._code += tag in {"code", "pre", "script", "style"}
        if tag in {"script", "img", "iframe", "source"} or found.get("rel") in {
            "stylesheet",
            "preconnect",
            "icon",
        }:
            self.loads.append(found.get("src") or found.get("href") or "")

    def handle_endtag(self, tag):
        self._code -= tag in {"code", "pre", "script", "style"}

    def handle_data(self, data):
        if not self._code:
            self.text.append(data)


@pytest.fixture(scope="session")
def pages(site):
    return {
        path.relative_to(site).as_posix(): Parsed(path) for path in sorted(site.rglob("*.html"))
    }


def test_every_page_of_the_documentation_is_on_the_site(pages):
    wanted = {
        path.relative_to(ROOT / "docs").with_suffix(".html").as_posix()
        for path in (ROOT / "docs").rglob("*.md")
    }

    assert wanted | {"contributing.html", "changelog.html"} <= set(pages)


def test_no_page_loads_anything_from_elsewhere(pages):
    assert len(pages) > 40
    outside = {
        (name, load)
        for name, page in pages.items()
        for load in page.loads
        if load.startswith(("http:", "https:", "//"))
    }

    assert outside == set()


def test_the_styles_load_no_fonts_from_elsewhere(site):
    styles = [path.read_text(encoding="utf-8") for path in site.rglob("*.css")]

    assert styles
    assert not any(re.search(r"@import|url\(['\"]?(https?:)?//", style) for style in styles)


def test_no_markdown_is_left_as_text(pages):
    found = {name: LEFT_OVER.findall("\n".join(page.text)) for name, page in pages.items()}

    assert {name: some for name, some in found.items() if some} == {}


@pytest.mark.parametrize("name", sorted(set(sugartag.__all__) - {"__version__"}))
def test_the_reference_has_every_public_name(name, pages):
    assert any(one and one.endswith(f".{name}") for one in pages["python/reference.html"].ids)


def test_the_reference_has_the_estimator_and_its_methods(pages):
    ids = pages["python/reference.html"].ids

    assert {f"sugartag.sklearn.Retagger{part}" for part in ("", ".fit", ".predict_proba")} <= ids


def test_result_files_that_pages_link_to_are_published(site):
    assert (site / "results" / "bench-scaling.json").read_bytes() == (
        ROOT / "benchmarks" / "results" / "bench-scaling.json"
    ).read_bytes()
    assert 'href="results/bench-scaling.json"' in (site / "performance.html").read_text("utf-8")
