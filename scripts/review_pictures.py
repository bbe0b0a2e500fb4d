"""Take the pictures of docs/review-page.md: real photographs, a model, and the page in chromium.

    SUGARTAG_DATA=data python scripts/review_pictures.py --out docs/images

The photographs are those of DOCUMERICA. For the pictures of additions, four in ten of their
keywords are hidden first, so that there is something to propose. For those of tags to check,
nothing is hidden; one photograph in five is given a keyword of another one, and the page is asked
for all tags that are less probable than 70 %: by itself, the model doubts none of so small a
collection. Which tag and photograph are shown is not chosen: they are the first of their lists.
"""

import argparse
import csv
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from sugartag.collection import open_collection
from sugartag.collection.readers import Sources, import_collection
from sugartag.collection.vocabulary import TagRules
from sugartag.engine import LocalEngine
from sugartag.methods.registry import make_method
from sugartag.pipeline.fitting import fit_model
from sugartag.pipeline.model import save_model
from sugartag.pipeline.propose import Thresholds
from sugartag.web.accounts import Accounts
from sugartag.web.serving import Address, listening, make_site, open_for_review, server_of

HIDDEN = 0.4
THRESHOLDS = Thresholds(add=0.3)
PLANTED = 0.2
TO_CHECK = Thresholds(add=0.3, doubt=0.7)
DESKTOP, PHONE = {"width": 1280, "height": 860}, {"width": 390, "height": 844}
MOST_BYTES = 290 << 10
COLOURS = (256, 192, 128, 96)
"""Photographs in PNG are large: of these numbers of colours the first is taken that is not."""
LOADED = """(images) => Promise.all(images
    .filter((one) => one.getBoundingClientRect().top < innerHeight)
    .map((one) => one.decode().catch(() => null)))"""


def main() -> int:
    """Make the collection, serve it, take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("SUGARTAG_DATA"))
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    if not asked.data:
        parser.error("name the folder that holds documerica/ with --data or SUGARTAG_DATA")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        data = Path(asked.data) / "documerica"
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"]
        )
        make_photos(data, Path(folder) / "hidden", hidden=HIDDEN)
        with served(Path(folder) / "hidden", THRESHOLDS) as url:
            take_pictures(browser, url, asked.out)
        make_photos(data, Path(folder) / "planted", planted=PLANTED)
        with served(Path(folder) / "planted", TO_CHECK) as url:
            take_doubts(browser, url, asked.out)
        browser.close()
    return 0


def make_photos(data: Path, out: Path, *, hidden: float = 0, planted: float = 0) -> None:
    """Import the photographs that are there as files, with some keywords hidden or misplaced."""
    out.mkdir()
    rng = np.random.default_rng(0)
    with (data / "images.csv").open(encoding="utf-8") as file:
        row_of = {row["image_id"]: number for number, row in enumerate(csv.DictReader(file))}
    with (data / "photos.csv").open(encoding="utf-8") as file:
        photos = list(csv.DictReader(file))
    with (out / "table.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["image_id", "owner", "tags", "path", "title"])
        for one in photos:
            tags = [tag for tag in one["keywords"].split("|") if rng.random() >= hidden]
            if rng.random() < planted:
                other = photos[int(rng.integers(len(photos)))]["keywords"].split("|")
                tags = list(dict.fromkeys([*tags, str(rng.choice(other))]))
            title = f"{one['place']}, {one['date']}"
            name = one["file"].removesuffix(".jpg")
            writer.writerow([name, one["creator"], "|".join(tags), one["file"], title])
    rows = [row_of[one["file"].removesuffix(".jpg")] for one in photos]
    np.save(out / "features.npy", np.load(data / "features.npy")[rows])
    sources = Sources(
        out / "table.csv",
        features=out / "features.npy",
        groups=data / "groups.csv",
        images_root=data / "photos",
    )
    import_collection(sources, out / "photos", rules=TagRules(min_uses=2))
    method = make_method("sugar-plus", {})
    model = fit_model(method, open_collection(out / "photos"), engine=LocalEngine(), seed=0)
    save_model(model, out / "photos.model")


@contextmanager
def served(folder: Path, thresholds: Thresholds) -> Iterator[str]:
    """Serve the photographs over loopback."""
    address, engine = Address(port=0), LocalEngine()
    opened = open_for_review(
        folder / "photos", model=folder / "photos.model", engine=engine, thresholds=thresholds
    )
    site = make_site(
        opened,
        name="Documerica",
        engine=engine,
        address=address,
        accounts=Accounts(),
        thresholds=thresholds,
    )
    server = server_of(site, address)
    with opened.catalogue, listening(address) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def take_pictures(browser: Browser, url: str, out: Path) -> None:
    """Take each picture after what leads to it."""
    page = opened(browser, url, DESKTOP, "light")
    page.goto("/")
    kept(page, out / "review-overview.png")
    page.goto("/tag?tag=river&line=0.5")
    for key in "aar":
        page.keyboard.press(key)
    page.locator("#status:has-text('No to')").wait_for()
    page.evaluate("() => scrollTo(0, 0)")
    kept(page, out / "review-tag.png")
    page.keyboard.press("w")
    page.locator("#panel .cited img").first.wait_for()
    kept(page, out / "review-why.png")
    page.goto("/search?q=water AND NOT lake score>0.3")
    kept(page, out / "review-search.png")
    page = opened(browser, url, DESKTOP, "dark")
    page.goto("/tag?tag=street")
    page.locator(".card .picture").nth(1).click()
    page.locator(".chip").first.wait_for()
    kept(page, out / "review-picture.png")
    page = opened(browser, url, PHONE, "light")
    page.goto("/tag?tag=river&line=0.5")
    kept(page, out / "review-phone.png")


def take_doubts(browser: Browser, url: str, out: Path) -> None:
    """Take the first tag to check, and the first picture of it, on a desk and on a phone."""
    page = opened(browser, url, DESKTOP, "light")
    page.goto("/?action=doubt")
    page.locator(".tile").first.click()
    page.locator(".card").first.wait_for()
    kept(page, out / "review-check.png")
    page.locator(".card .picture").first.click()
    page.locator(".chip.doubt").first.wait_for()
    kept(page, out / "review-check-picture.png")
    address = page.url
    page = opened(browser, url, PHONE, "light")
    page.goto(address)
    page.locator(".chip.doubt").first.scroll_into_view_if_needed()
    kept(page, out / "review-check-phone.png")


def opened(browser: Browser, url: str, size: dict[str, int], scheme: str) -> Page:
    """Return a page of a browser of one's own."""
    context = browser.new_context(base_url=url, viewport=size, color_scheme=scheme)
    context.add_cookies([{"name": "sugartag-0-name", "value": "anna", "url": url}])
    return context.new_page()


def kept(page: Page, path: Path) -> None:
    """Take a picture of what can be seen, in few colours."""
    page.wait_for_load_state("networkidle")
    page.locator("img").evaluate_all(LOADED)
    page.screenshot(path=path)
    with Image.open(path) as taken:
        whole = taken.convert("RGB")
    for colours in COLOURS:
        whole.quantize(colours, dither=Image.Dither.FLOYDSTEINBERG).save(path, optimize=True)
        if path.stat().st_size < MOST_BYTES:
            break
    print(f"{path}: {path.stat().st_size >> 10} KiB")


if __name__ == "__main__":
    raise SystemExit(main())
