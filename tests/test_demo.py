"""The demo, end to end: a page that needs nothing but itself, and says what was measured."""

import base64
import re
import shlex
from collections import Counter
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from demo_run import SEED, DemoRun, demo_run
from sugartag.cli.main import main
from sugartag.collection import open_collection
from sugartag.demo import MIN_USES, import_drawings
from sugartag.demo.contest import CONTESTANTS, HIDDEN_SHARE
from sugartag.errors import StorageError
from sugartag.evaluation.protocol import hidden_task
from sugartag.report.chosen import N_PICTURES, PICTURES_PER_OWNER

NAMESPACE = "http://www.w3.org/2000/svg"
"""An address in name only: it marks a drawing as one, and nobody fetches it."""


class Elements(HTMLParser):
    """The elements of a page with their attributes, in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, {name: value or "" for name, value in attrs}))

    def all(self, name: str) -> list[dict[str, str]]:
        return [attributes for tag, attributes in self.found if tag == name]


@pytest.fixture(scope="module")
def run() -> DemoRun:
    return demo_run()


@pytest.fixture(scope="module")
def page(run) -> str:
    return run.page.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def elements(page) -> Elements:
    return Elements(page)


@pytest.fixture(scope="module")
def rows(page) -> dict[str, dict[str, str]]:
    """The table of methods: by name, the text of each column."""
    table = page.partition('<table class="comparison">')[2].partition("</table>")[0]
    head, body = (part.replace("\n", "") for part in table.split("<tbody>"))
    columns = re.findall(r"<th[^>]*>(.*?)</th>", head)[1:]
    found = {}
    for row in re.findall(r"<tr[^>]*>(.*?)</tr>", body):
        name = unescape(re.match(r"<th[^>]*>([^<]*)", row)[1]).strip()
        cells = [re.sub("<[^>]+>", "", cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row)]
        found[name] = dict(zip(columns, cells, strict=True))
    return found


def test_the_run_ends_with_a_page_and_leaves_what_it_was_made_from(run):
    assert run.page == run.folder / "report.html"
    assert {path.name for path in run.folder.iterdir()} == {"report.html", "collection", "images"}


def test_the_page_asks_nobody_for_anything(page, elements):
    sources = [
        attributes[name]
        for _, attributes in elements.found
        for name in ("src", "href", "srcset", "action", "poster", "data")
        if name in attributes
    ]

    assert len(sources) > N_PICTURES
    assert all(source.startswith(("data:", "#")) for source in sources)
    assert re.findall(r"https?://[^\s\"'<>]*", page.replace(NAMESPACE, "")) == []
    assert "@import" not in page
    assert [link["rel"] for link in elements.all("link")] == ["icon"]
    assert not elements.all("iframe")


def test_there_are_pictures_of_the_collection(run, elements):
    shipped = {path.read_bytes() for path in (run.folder / "images").glob("*.webp")}

    shown = [base64.b64decode(image["src"].partition(",")[2]) for image in elements.all("img")]

    assert len(shown) == N_PICTURES
    assert len(set(shown)) == len(shown)
    assert set(shown) <= shipped


def test_no_owner_has_more_pictures_than_the_notes_say(page):
    owners = Counter(re.findall(r'<p class="owner">(.*?)</p>', page))

    assert owners.total() == N_PICTURES
    assert max(owners.values()) <= PICTURES_PER_OWNER


def test_every_picture_has_something_added_or_doubted(elements):
    kinds = [card["data-kinds"].split() for card in elements.all("article")]

    assert all({"add", "doubt"} & set(kind) for kind in kinds)


def test_every_contestant_has_its_row(rows):
    assert list(rows) == [contestant.label for contestant in CONTESTANTS]
    assert all(
        0 <= float(row["MAP"]) <= 1 and 0 <= float(row["MiAP"]) <= 1 for row in rows.values()
    )


def test_the_tensor_beats_the_most_used_tags_and_the_tags_as_they_are(rows):
    tensor = rows["sugar-tc"]

    for simpler in ("tag-prior", "original"):
        for metric in ("MAP", "MiAP", "NDCG@20"):
            assert float(tensor[metric]) > float(rows[simpler][metric]) + 0.1


def test_the_method_pointed_out_is_the_one_with_the_highest_map(page, rows):
    best = max(rows, key=lambda name: float(rows[name]["MAP"]))

    assert re.search(rf'<tr class="best"><th scope="row">{re.escape(best)} ', page)
    assert f"<dt>Suggestions by</dt><dd>{best}</dd>" in page


def test_the_numbers_on_top_are_those_of_the_collection(run, page):
    collection = open_collection(run.folder / "collection")
    hidden = hidden_task(collection, HIDDEN_SHARE, SEED).answers
    every = slice(0, collection.n_images)

    tiles = dict(re.findall(r"<dt>([^<]+)</dt><dd>(.*?)</dd>", page.partition("<main>")[0]))

    assert tiles["images"] == f"{collection.n_images:,}"
    assert tiles["different tags"] == f"{collection.n_tags:,}"
    assert tiles["contributors"] == f"{collection.n_owners:,}"
    found, of = re.fullmatch(
        r"([\d,]+)<small> of ([\d,]+)</small>", tiles["hidden tags found"]
    ).groups()
    assert int(of.replace(",", "")) == hidden.tags_of(every).nnz
    suggested = int(tiles["tags suggested"].replace(",", ""))
    assert 0 < int(found.replace(",", "")) < suggested


def test_the_collection_is_whole_and_its_pictures_are_there(run):
    collection = open_collection(run.folder / "collection")

    assert collection.images_root == str((run.folder / "images").resolve())
    assert collection.n_images > 1500
    paths = collection.texts_of("paths")
    assert all((run.folder / "images" / path).is_file() for path in paths)
    counts = collection.tags_of(slice(0, collection.n_images)).sum(axis=0)
    assert counts.min() >= MIN_USES
    assert (run.folder / "images" / "LICENSE.txt").is_file()


def test_the_run_says_what_it_does(run):
    imported, *measured, fitting, judging = run.said

    n_images = open_collection(run.folder / "collection").n_images
    assert imported.startswith(f"imported {n_images:,} drawings by ")
    assert [line.partition(": MAP")[0] for line in measured] == [one.label for one in CONTESTANTS]
    assert fitting.startswith("fitting ")
    assert judging.startswith("judging the verdicts of ")


def test_sugartag_understands_the_commands_of_the_page(page):
    listed = page.partition("<pre><code>")[2].partition("</code></pre>")[0]

    for line in unescape(listed).splitlines():
        program, name, *arguments = shlex.split(line)
        assert program == "sugartag"
        command = main.get_command(click.Context(main), name)
        command.make_context(name, arguments)


def test_the_shipped_collection_is_imported_again_into_the_same_folder(tmp_path):
    first = import_drawings(tmp_path / "out")
    (tmp_path / "out" / "images" / "LICENSE.txt").unlink()

    again = import_drawings(tmp_path / "out")

    assert list(again.ids) == list(first.ids)
    assert again.tag_names == first.tag_names
    assert (tmp_path / "out" / "images" / "LICENSE.txt").is_file()
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"collection", "images"}


def test_a_folder_of_somebody_elses_collection_is_left_alone(tmp_path):
    (tmp_path / "collection").mkdir()
    (tmp_path / "collection" / "stamps.txt").touch()

    with pytest.raises(StorageError, match="--overwrite replaces collections only"):
        import_drawings(tmp_path)

    assert [path.name for path in (tmp_path / "collection").iterdir()] == ["stamps.txt"]


def test_the_command_ends_by_naming_the_page(tmp_path, monkeypatch):
    asked = {}

    def quick(shipped, out: Path, *, engine, seed, progress, say) -> Path:
        asked.update(shipped=shipped.noun, out=out, seed=seed)
        say("imported")
        return out / "report.html"

    monkeypatch.setattr("sugartag.demo.run_demo", quick)

    result = CliRunner().invoke(main, ["demo", "--out", str(tmp_path / "x"), "--seed", "3"])

    assert result.exit_code == 0
    assert result.stdout == f"  imported\nreport: {tmp_path / 'x' / 'report.html'}\n"
    assert asked == {"shipped": "photographs", "out": tmp_path / "x", "seed": 3}
