"""The archivist's whole way: a folder of photographs with keywords, and back to how it was."""

import json
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from contextlib import closing
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from playwright.sync_api import Page, expect

from browsers import needs_browser, page_of, said
from sugartag.changes.catalogue import Catalogue
from sugartag.changes.proposing import ADD_FROM
from sugartag.cli.main import main
from sugartag.engine import LocalEngine
from sugartag.pipeline.propose import Thresholds
from sugartag.web.accounts import Accounts
from sugartag.web.serving import Address, make_site, open_for_review
from web_sites import Running, running

N_PHOTOGRAPHS = 120
FIELDS = {"XMP-dc:Subject", "XMP-lr:HierarchicalSubject", "XMP-digiKam:TagsList"}

pytestmark = [
    needs_browser,
    pytest.mark.skipif(shutil.which("exiftool") is None, reason="there is no exiftool on PATH"),
]


def run(*words: object) -> Result:
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    return result


def files_below(folder: Path) -> dict[str, bytes]:
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def read_by_exiftool(sidecar: Path) -> dict[str, Any]:
    """Return what exiftool finds in a sidecar; a field of one keyword as a list too."""
    command = ["exiftool", "-json", "-G1", "-XMP:all", str(sidecar)]
    (found,) = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return {name: value for name, value in found.items() if name.startswith("XMP-")}


def keywords(found: dict[str, Any], field: str) -> set[str]:
    value = found.get(field, [])
    return {str(one) for one in (value if isinstance(value, list) else [value])}


@pytest.fixture
def photographs(tmp_path: Path) -> Path:
    """Some of the shipped photographs with their sidecars; the first has lost its own."""
    folder = tmp_path / "archive"
    packed = resources.files("sugartag") / "assets" / "photos" / "photos.zip"
    with resources.as_file(packed) as path, zipfile.ZipFile(path) as archive:
        archive.extractall(folder, archive.namelist()[: 2 * N_PHOTOGRAPHS])
    min(folder.rglob("*.xmp")).unlink()
    return folder


def served(out: Path) -> Iterator[Running]:
    engine, thresholds, address = LocalEngine(), Thresholds(add=ADD_FROM), Address()
    opened = open_for_review(
        out / "collection", model=out / "model", engine=engine, thresholds=thresholds
    )
    site = make_site(
        opened,
        name="archive",
        engine=engine,
        address=address,
        accounts=Accounts(),
        thresholds=thresholds,
    )
    with running(site) as server:
        yield server


def ten_decisions(page: Page) -> None:
    """Decide ten times with the keyboard alone: proposals, a keyword it has, one of our own."""
    page.goto("/next")
    decided = 0
    while decided < 8:
        chips = page.locator(".chip.add")
        expect(chips.first).to_be_focused()
        for place in range(min(chips.count(), 8 - decided)):
            tag = chips.nth(place).get_attribute("data-tag")
            page.keyboard.press("r" if decided % 4 == 3 else "a")
            said(page, f"“{tag}”")
            decided += 1
        address = page.url
        page.keyboard.press("ArrowRight")
        page.wait_for_url(lambda url, before=address: url != before)
    kept = page.locator(".chip.keep[data-version]").first
    kept.focus()
    page.keyboard.press("r")
    said(page, f"No to “{kept.get_attribute('data-tag')}”")
    page.goto("/picture/1")
    page.get_by_label("Another tag").focus()
    page.keyboard.type("found in the attic")
    page.keyboard.press("Enter")
    expect(page.get_by_role("group", name="found in the attic, to be added, yes")).to_be_visible()


def test_from_a_folder_to_sidecars_that_exiftool_reads_and_back(photographs, tmp_path, browser):
    before = files_below(photographs)
    out = tmp_path / "out"
    run("photos", photographs, "--out", out)
    for server in served(out):
        with page_of(browser, server.url, "anna") as page:
            ten_decisions(page)
    with closing(Catalogue.of_collection(out / "collection")) as catalogue:
        log, pending = catalogue.decision_log(), list(catalogue.pending())
        path = dict(catalogue.all("SELECT image_id, path FROM images"))
    assert [one.reviewer for one in log] == ["anna"] * 10
    assert [one.change for one in pending].count("add") == 7
    assert [one.change for one in pending].count("remove") == 1
    assert files_below(photographs) == before
    known = {name: read_by_exiftool(photographs / name) for name in before if name.endswith(".xmp")}

    applied = run("apply", out / "collection", "--sidecars").stdout.splitlines()

    for one in pending:
        name = f"{path[one.image_id]}.xmp"
        found = read_by_exiftool(photographs / name)
        for field in FIELDS:
            assert (one.tag in keywords(found, field)) == (one.change == "add"), (name, field)
        rest = {key: value for key, value in found.items() if key not in FIELDS}
        if name in known:
            assert rest == {key: known[name][key] for key in known[name] if key not in FIELDS}
    changed = {name for name, data in files_below(photographs).items() if data != before.get(name)}
    assert changed == {f"{path[one.image_id]}.xmp" for one in pending}

    program, *undo = applied[-1].removeprefix("to undo: ").split()
    assert program == "sugartag"
    run(*undo)

    assert files_below(photographs) == before
