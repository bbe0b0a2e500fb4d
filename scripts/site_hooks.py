"""What ``mkdocs build`` does besides: files that pages link to become part of the site.

The pages are written for two readers. In a checkout ``../benchmarks/results/bench-web.json`` leads
to the file; on the site it must lead to a copy, because nothing outside docs/ is published.
"""

import re
from pathlib import Path
from posixpath import normpath, relpath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
PAGES = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "examples/method-package/README.md": "method-package.md",
}
"""Pages that stand outside docs/, and what they are called on the site."""
RESULTS = "benchmarks/results"
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
ROLE = re.compile(r":(?:func|class|meth|attr|data|mod):(<code>)~?([\w.]*\.)?(\w+)(</code>)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages outside docs/ and the result files."""
    outside = dict(PAGES)
    outside |= {
        f"{RESULTS}/{path.name}": f"results/{path.name}"
        for path in sorted((ROOT / RESULTS).glob("*.json"))
    }
    for place, name in outside.items():
        files.append(File.generated(config, name, abs_src_path=str(ROOT / place)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Turn links to files of the repository into links within the site."""
    here = Path(_place(page.file.src_uri)).parent.as_posix()
    on_site = Path(page.file.src_uri).parent.as_posix()

    def linked(match: re.Match[str]) -> str:
        before, target, after = match.groups()
        path, mark, anchor = target.partition("#")
        if "://" in target or not path:
            return match[0]
        there = relpath(_uri(normpath(f"{here}/{path}")), on_site)
        return f"{before}{there}{mark}{anchor}{after}"

    # GitHub reads Markdown inside of HTML; here it has to be asked for.
    return LINK.sub(linked, markdown).replace("<details>", "<details markdown>")


def on_page_content(html: str, **_: Any) -> str:
    """Show the roles of docstrings, :func:`fit`, as names."""
    return ROLE.sub(r"\1\3\4", html)


def _place(uri: str) -> str:
    """Return where in the repository a page of the site stands."""
    outside = {name: place for place, name in PAGES.items()}
    return outside.get(uri, f"docs/{uri}")


def _uri(place: str) -> str:
    """Return what a file of the repository is called on the site."""
    if place in PAGES:
        return PAGES[place]
    if place.startswith(f"{RESULTS}/"):
        return place.removeprefix("benchmarks/")
    return place.removeprefix("docs/")
