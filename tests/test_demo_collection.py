"""The shipped clip-art collection agrees with itself; its script builds the same bytes twice."""

import csv
import importlib.util
import io
import zipfile
from collections import Counter
from importlib.resources import as_file, files
from pathlib import Path, PurePosixPath
from types import ModuleType

import numpy as np
import pytest
from PIL import Image, ImageDraw

SCRIPT = Path(__file__).parents[1] / "scripts" / "build_demo_collection.py"
Row = dict[str, str]


@pytest.fixture(scope="module")
def shipped():
    with as_file(files("sugartag") / "assets" / "openclipart") as folder:
        yield folder


@pytest.fixture(scope="module")
def table(shipped: Path) -> list[Row]:
    with (shipped / "images.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_demo_collection", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_has_the_columns_that_import_reads(table):
    assert list(table[0]) == ["image_id", "owner", "tags", "path", "title"]


def test_there_are_many_images_by_many_owners_and_none_dominates(table):
    owners = Counter(row["owner"] for row in table)

    assert len(table) >= 1_800
    assert len(owners) >= 200
    assert max(owners.values()) <= 0.03 * len(table)


def test_every_image_has_a_unique_id_an_owner_a_title_and_two_tags(table):
    assert len({row["image_id"] for row in table}) == len(table)
    for row in table:
        tags = row["tags"].split("|")
        assert row["owner"], row
        assert row["title"], row
        assert len(tags) >= 2, row
        assert len(set(tags)) == len(tags), row
        assert all(tag and tag == tag.strip() for tag in tags), row


def test_enough_tags_are_used_ten_times_to_measure_their_recovery(table):
    uses = Counter(tag for row in table for tag in row["tags"].split("|"))

    assert sum(count >= 10 for count in uses.values()) >= 150


def test_every_row_has_finite_features_of_its_own(shipped, table):
    features = np.load(shipped / "features.npy", allow_pickle=False)

    assert features.dtype == np.float16
    assert features.shape == (len(table), 1280)
    assert np.isfinite(features).all()
    assert len({row.tobytes() for row in features}) == len(table)


def test_the_archive_holds_exactly_the_images_named_in_the_table(shipped, table):
    with zipfile.ZipFile(shipped / "thumbs.zip") as archive:
        assert archive.testzip() is None
        assert archive.namelist() == [row["path"] for row in table]


def test_no_path_leaves_the_folder_it_is_unpacked_into(table):
    for row in table:
        path = PurePosixPath(row["path"])
        assert len(path.parts) == 1, row
        assert path.suffix == ".webp", row
        assert "\\" not in row["path"], row
        assert not path.stem.startswith("."), row


def test_thumbnails_are_small_pictures_with_something_in_them(shipped):
    with zipfile.ZipFile(shipped / "thumbs.zip") as archive:
        for name in archive.namelist()[::40]:
            with Image.open(io.BytesIO(archive.read(name))) as picture:
                assert picture.format == "WEBP", name
                assert max(picture.size) <= 128, name
                darkest, _ = picture.convert("L").getextrema()
            assert darkest < 240, name


def test_the_folder_is_light_and_says_whose_work_it_is(shipped):
    assert {file.name for file in shipped.iterdir()} == {
        "LICENSE.txt",
        "features.npy",
        "images.csv",
        "thumbs.zip",
    }
    assert sum(file.stat().st_size for file in shipped.iterdir()) <= 12_000_000
    licence = (shipped / "LICENSE.txt").read_text(encoding="utf-8")
    assert "Public Domain Dedication" in licence
    assert "EfficientNet-Lite0" in licence


def test_building_twice_gives_the_same_bytes(script, tmp_path):
    source = _source(tmp_path / "source", [_record(number) for number in range(6)])

    script.build(source, tmp_path / "first", per_owner=4)
    script.build(source, tmp_path / "second", per_owner=4)

    assert _bytes_of(tmp_path / "first") == _bytes_of(tmp_path / "second")


def test_features_follow_the_rows_that_were_kept(script, tmp_path):
    records = [_record(0), _record(1, tags="alone"), _record(2), _record(3, author="unknown")]
    source = _source(tmp_path / "source", records)

    summary = script.build(source, tmp_path / "built", per_owner=9)

    kept = np.load(tmp_path / "built" / "features.npy")
    np.testing.assert_array_equal(kept, np.load(source / "features.npy")[[0, 2]])
    assert summary.images == 2


def test_blank_drawings_and_twins_are_left_out(script, tmp_path):
    source = _source(tmp_path / "source", [_record(number) for number in range(4)])
    Image.new("RGB", (90, 90), "white").save(source / "thumbs" / "im1.webp", lossless=True)
    features = np.load(source / "features.npy")
    features[3] = features[2]
    np.save(source / "features.npy", features)

    script.build(source, tmp_path / "built", per_owner=9)

    with zipfile.ZipFile(tmp_path / "built" / "thumbs.zip") as archive:
        assert archive.namelist() == ["im0.webp", "im2.webp"]


def test_a_prolific_owner_keeps_what_brings_rare_tags_to_ten_uses(script):
    others = [_drawing(script, row, f"owner {row}", ("rare", "common")) for row in range(9)]
    common = [_drawing(script, row, "busy", ("common", "plain")) for row in range(9, 30)]
    rare = _drawing(script, 30, "busy", ("rare", "plain"))

    kept = script.thin_prolific_owners([*others, *common, rare], per_owner=3)

    assert rare in kept
    assert sum(drawing.owner == "busy" for drawing in kept) == 3
    assert all(drawing in kept for drawing in others)
    assert [drawing.row for drawing in kept] == sorted(drawing.row for drawing in kept)


def test_a_thumbnail_loses_its_empty_margins(script, tmp_path):
    page = Image.new("RGB", (190, 190), "white")
    ImageDraw.Draw(page).rectangle((20, 100, 79, 129), fill="black")
    page.save(tmp_path / "page.webp", lossless=True)

    with Image.open(io.BytesIO(script.thumbnail(tmp_path / "page.webp"))) as picture:
        assert picture.size == (60, 30)


@pytest.mark.parametrize(
    ("damaged", "meant"),
    [
        ("L&Atilde;&copy;zard", "Lézard"),
        ("tj&atilde;&curren;der", "tjäder"),
        ("Mikol\u00e1\u009a Ale\u009a", "Mikoláš Aleš"),
        ("Croissant (B &amp; W)", "Croissant (B & W)"),
        ("maja kocoń", "maja kocoń"),
        ("  moisés   rincón ", "moisés rincón"),
    ],
)
def test_damaged_names_are_repaired_and_sound_ones_left_alone(script, damaged, meant):
    assert script.repaired(damaged) == meant


def _record(number: int, *, author: str = "ann", tags: str = "red|| square ") -> Row:
    return {
        "image_id": f"im{number}",
        "file": f"shapes/{number}.png",
        "author": author,
        "title": "",
        "tags": tags,
        "category": "shapes",
    }


def _source(folder: Path, records: list[Row]) -> Path:
    (folder / "thumbs").mkdir(parents=True)
    with (folder / "images.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, list(records[0]))
        table.writeheader()
        table.writerows(records)
    for number, record in enumerate(records):
        page = Image.new("RGBA", (160, 120), (255, 255, 255, 0))
        ImageDraw.Draw(page).ellipse((10, 10, 100 + number, 90), fill="firebrick")
        page.save(folder / "thumbs" / f"{record['image_id']}.webp")
    features = np.random.default_rng(5).random((len(records), 8))
    np.save(folder / "features.npy", features.astype(np.float16))
    return folder


def _drawing(script: ModuleType, row: int, owner: str, tags: tuple[str, ...]) -> object:
    return script.Drawing(row=row, image_id=f"im{row}", owner=owner, title="a", tags=tags)


def _bytes_of(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}
