"""A folder of photographs becomes a collection; whatever is in it, the import goes on."""

import json
import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from picture_files import data_set, jpeg_with, photoshop, picture
from sugartag.cli.main import main
from sugartag.collection import open_collection
from sugartag.collection.folders import (
    FolderSources,
    FolderSummary,
    import_folder,
    owner_rule,
    read_hierarchy,
)
from sugartag.collection.folders.importing import is_up_to_date
from sugartag.collection.vocabulary import TagRules
from sugartag.errors import CollectionError, StorageError
from tables import tags_by_image
from xmp_packets import bag, packet


@pytest.fixture
def photos(tmp_path) -> Path:
    """Two photographers with a folder each, and one picture that is nobody's."""
    root = tmp_path / "photos"
    for name in ("anna", "ben/2020"):
        (root / name).mkdir(parents=True)
    xmp = packet(
        bag("dc:subject", ["beach"]),
        bag("lr:hierarchicalSubject", ["places|usa|ohio"]),
        bag("dc:creator", ["Anna A."], "Seq"),
        "<dc:title><rdf:Alt><rdf:li>A day</rdf:li></rdf:Alt></dc:title>",
    )
    (root / "anna" / "1.jpg").write_bytes(picture("JPEG", xmp=xmp))
    (root / "anna" / "2.PNG").write_bytes(picture("PNG", artist="Anna B."))
    (root / "anna" / "2.PNG.xmp").write_bytes(packet(bag("digiKam:TagsList", ["sea/sun"], "Seq")))
    (root / "ben" / "2020" / "3.webp").write_bytes(picture("WEBP"))
    (root / "ben" / "2020" / "3.txt").write_text("dog, beach", encoding="utf-8")
    (root / "4.tif").write_bytes(picture("TIFF"))
    (root / "notes.txt").write_text("no picture", encoding="utf-8")
    return root


def imported(root: Path, owner_from: str = "folder", **options) -> FolderSummary:
    sources = FolderSources(root, owner_rule(owner_from))
    options = {"rules": TagRules(), **options}
    return import_folder(sources, root.parent / "out", **options)


def errors(root: Path) -> dict[str, str]:
    path = root.parent / "out" / "errors.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {line["path"]: line["reason"] for line in map(json.loads, lines)}


def owners(root: Path) -> dict[str, str]:
    collection = open_collection(root.parent / "out")
    names = [*collection.owner_names, ""]
    return dict(zip(collection.ids, [names[o] for o in collection.owner], strict=True))


def test_every_picture_is_an_image_with_the_keywords_of_all_its_sources(photos):
    summary = imported(photos)

    collection = open_collection(photos.parent / "out")
    assert tags_by_image(photos.parent / "out") == {
        "4.tif": set(),
        "anna/1.jpg": {"beach", "ohio"},
        "anna/2.PNG": {"sun"},
        "ben/2020/3.webp": {"dog", "beach"},
    }
    assert list(collection.texts_of("paths") or []) == list(collection.ids)
    assert collection.images_root == str(photos.resolve())
    assert list(collection.texts_of("titles") or [])[1] == "A day"
    assert (summary.files_read, summary.problems) == (4, 0)


def test_the_tag_is_the_leaf_and_its_paths_are_kept(photos):
    imported(photos)

    assert read_hierarchy(photos.parent / "out") == {
        "ohio": [["places", "usa", "ohio"]],
        "sun": [["sea", "sun"]],
    }


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("folder", ["", "anna", "anna", "ben"]),
        ("creator", ["", "Anna A.", "Anna B.", ""]),
        ("artist", ["", "", "Anna B.", ""]),
    ],
)
def test_the_owner_is_the_folder_the_creator_or_the_artist(photos, rule, expected):
    imported(photos, rule)

    assert list(owners(photos).values()) == expected


def test_the_owner_may_stand_in_a_table_of_paths_and_patterns(photos, tmp_path):
    (tmp_path / "owners.csv").write_text(
        "path,owner\nben/*,Ben\n*.tif,Scanner\nanna/*,Anna\nanna/2.PNG,Guest\n", encoding="utf-8"
    )

    imported(photos, str(tmp_path / "owners.csv"))

    assert list(owners(photos).values()) == ["Scanner", "Anna", "Guest", "Ben"]


def test_a_second_run_reads_only_what_is_new_or_has_changed(photos):
    imported(photos)
    (photos / "anna" / "5.jpg").write_bytes(picture("JPEG"))
    (photos / "anna" / "1.jpg.xmp").write_bytes(packet(bag("dc:subject", ["new"])))
    (photos / "ben" / "2020" / "3.txt").write_text("cat", encoding="utf-8")
    (photos / "4.tif").unlink()

    summary = imported(photos, update=True)

    assert (summary.files_read, summary.files_known, summary.files_gone) == (3, 1, 1)
    assert tags_by_image(photos.parent / "out") == {
        "anna/1.jpg": {"new", "beach", "ohio"},
        "anna/2.PNG": {"sun"},
        "anna/5.jpg": set(),
        "ben/2020/3.webp": {"cat"},
    }
    again = imported(photos, update=True)
    assert (again.files_read, again.files_known, again.files_gone) == (0, 4, 0)


def test_an_update_equals_an_import_from_the_start(photos, tmp_path):
    imported(photos)
    (photos / "anna" / "0.jpg").write_bytes(jpeg_with((0xED, photoshop(data_set(2, 25, b"cow")))))
    imported(photos, update=True)
    updated = {p.name: p.read_bytes() for p in (tmp_path / "out").rglob("*.npy")}

    imported(photos, overwrite=True)

    assert {p.name: p.read_bytes() for p in (tmp_path / "out").rglob("*.npy")} == updated


def test_nothing_is_replaced_silently(photos, tmp_path):
    imported(photos)
    with pytest.raises(StorageError, match="exists already"):
        imported(photos)
    other = tmp_path / "others"
    shutil.copytree(photos, other)
    with pytest.raises(StorageError, match="was not imported from"):
        imported(other, update=True)


def test_the_command_says_what_it_left_out(photos):
    (photos / "anna" / "1.txt").write_text("Canon, IMG_1234", encoding="utf-8")
    (photos / "bad.jpg").write_bytes(b"no picture")

    result = CliRunner().invoke(
        main, ["import", str(photos), "--out", str(photos.parent / "out"), "--owner-from", "folder"]
    )

    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert "5 images, 4 tags, 2 owners" in lines[0]
    assert f"  1 problem: see {photos.parent / 'out' / 'errors.jsonl'}" in lines
    assert "  left out 2 stop tags: Canon, IMG_1234" in lines
    assert errors(photos) == {"bad.jpg": "not a JPEG, PNG, WebP, TIFF or HEIC picture"}


def test_hidden_folders_and_those_of_file_servers_are_skipped(photos):
    for name in (".thumbnails", "@eaDir", "anna/.cache", "#recycle"):
        (photos / name).mkdir()
        (photos / name / "x.jpg").write_bytes(picture("JPEG"))
    (photos / "._1.jpg").write_bytes(b"of a Mac")

    imported(photos)

    assert len(owners(photos)) == 4
    assert errors(photos) == {}


def test_the_collection_may_stand_in_the_folder_it_is_made_from(photos):
    sources = FolderSources(photos, owner_rule("folder"))
    import_folder(sources, photos / "out", rules=TagRules())
    inside = photos / "out" / "inside.jpg"
    inside.write_bytes(picture("JPEG"))

    assert is_up_to_date(photos, photos / "out")
    with pytest.raises(StorageError, match=r"sugartag did not write inside\.jpg in it"):
        import_folder(sources, photos / "out", rules=TagRules(), update=True)

    inside.unlink()
    import_folder(sources, photos / "out", rules=TagRules(), update=True)
    assert len(open_collection(photos / "out").ids) == 4


class TestHostileFolders:
    """Each oddity has its row or its error line; the other pictures are imported."""

    def hostile(self, photos: Path) -> dict[str, str]:
        imported(photos)
        assert set(owners(photos)) >= {"4.tif", "anna/1.jpg", "anna/2.PNG", "ben/2020/3.webp"}
        return errors(photos)

    def test_links_that_loop(self, photos):
        (photos / "loop").symlink_to(photos)
        (photos / "anna" / "up").symlink_to("..")
        (photos / "self.jpg").symlink_to("self.jpg")

        found = self.hostile(photos)

        assert set(found) == {"loop", "anna/up", "self.jpg"}
        assert len(owners(photos)) == 4

    def test_links_out_of_the_folder(self, photos, tmp_path):
        (tmp_path / "secret").mkdir()
        (tmp_path / "secret" / "s.jpg").write_bytes(picture("JPEG"))
        (photos / "out.jpg").symlink_to(tmp_path / "secret" / "s.jpg")
        (photos / "outside").symlink_to(tmp_path / "secret")
        (photos / "passwd.jpg").symlink_to("/etc/passwd")
        (photos / "device.jpg").symlink_to("/dev/zero")

        found = self.hostile(photos)

        assert set(found) == {"out.jpg", "outside", "passwd.jpg", "device.jpg"}
        assert all("not followed" in reason for reason in found.values())

    def test_links_that_stay_inside_are_pictures(self, photos):
        (photos / "again.jpg").symlink_to("anna/1.jpg")

        assert self.hostile(photos) == {}
        assert tags_by_image(photos.parent / "out")["again.jpg"] == {"beach", "ohio"}

    def test_a_link_to_nothing(self, photos):
        (photos / "gone.jpg").symlink_to("nowhere.jpg")

        assert "cannot be read" in self.hostile(photos)["gone.jpg"]

    def test_a_link_to_a_folder_named_like_a_picture(self, photos):
        (photos / "anna.jpg").symlink_to("anna")

        assert "links to folders" in self.hostile(photos)["anna.jpg"]

    def test_a_folder_named_like_a_picture_is_a_folder(self, photos):
        (photos / "x.jpg").mkdir()
        (photos / "x.jpg" / "y.jpg").write_bytes(picture("JPEG"))

        assert self.hostile(photos) == {}
        assert "x.jpg/y.jpg" in owners(photos)

    def test_a_pipe_and_a_socket_named_like_pictures(self, photos):
        os.mkfifo(photos / "a.jpg")
        os.mkfifo(photos / "anna" / "1.jpg.xmp")

        found = self.hostile(photos)

        assert found["a.jpg"] == "not a regular file"
        assert found["anna/1.jpg"] == "1.jpg.xmp: not a regular file"
        assert "a.jpg" not in owners(photos)

    def test_names_that_are_not_utf_8(self, photos):
        name = os.fsdecode(b"caf\xe9.jpg")
        (photos / name).write_bytes(picture("JPEG"))
        (photos / os.fsdecode(b"d\xffr")).mkdir()
        (photos / os.fsdecode(b"d\xffr") / "x.jpg").write_bytes(picture("JPEG"))

        found = self.hostile(photos)

        assert found == {
            "caf\\xe9.jpg": "its name is not UTF-8; rename it",
            "d\\xffr/x.jpg": "its name is not UTF-8; rename it",
        }

    def test_names_that_differ_in_case_are_two_and_in_normal_form_one(self, photos):
        for name in ("é.jpg", "e\u0301.jpg", "É.jpg", " 4.tif"):
            (photos / name).write_bytes(picture("JPEG"))

        imported(photos)

        found = errors(photos)
        assert len(found) == 2
        assert all("rename one of them" in reason for reason in found.values())
        assert {"é.jpg", "É.jpg", "4.tif"} <= set(owners(photos))

    def test_names_that_look_like_other_paths(self, photos):
        for name in ("y\\..\\x.jpg", "\\x.jpg", "C:\\x.jpg", "-rf.jpg", "a\nb.jpg", "=1+1.jpg"):
            (photos / name).write_bytes(picture("JPEG"))

        found = self.hostile(photos)

        assert set(found) == {"y\\..\\x.jpg", "\\x.jpg", "C:\\x.jpg"}
        assert {"-rf.jpg", "a\nb.jpg", "=1+1.jpg"} <= set(owners(photos))

    def test_a_deep_folder(self, photos):
        folder = photos
        for _ in range(200):
            folder = folder / "d"
        folder.mkdir(parents=True)
        (folder / "x.jpg").write_bytes(picture("JPEG"))

        assert self.hostile(photos) == {}
        assert len(owners(photos)) == 5

    @pytest.mark.parametrize(
        ("name", "data"),
        [
            ("h.jpg", b""),
            ("h.jpg", b"<svg/>"),
            ("h.jpg", picture("JPEG")[:30]),
            ("4.xmp", packet(before="<!DOCTYPE x>")),
            ("4.xmp", packet(bag("dc:subject", [f"k{n}" for n in range(300_000)]))),
            ("4.txt", b"\0binary"),
        ],
    )
    def test_a_damaged_file_has_its_row_and_its_line(self, photos, name, data):
        (photos / name).write_bytes(data)

        found = self.hostile(photos)

        assert len(found) == 1
        assert set(found) <= {"h.jpg", "4.tif"}
        assert set(found) <= set(owners(photos))

    def test_a_damaged_cache_is_read_anew(self, photos):
        imported(photos)
        cache = photos.parent / "out" / "files.jsonl"
        lines = cache.read_text(encoding="utf-8").splitlines()
        cache.write_text("\n".join([*lines[:2], "{", '{"path": 3}', "[]"]), encoding="utf-8")

        summary = imported(photos, update=True)

        assert (summary.files_read, summary.files_known) == (2, 2)
        assert len(owners(photos)) == 4

    def test_an_empty_folder_is_refused_in_one_line(self, tmp_path):
        (tmp_path / "photos").mkdir()
        with pytest.raises(CollectionError, match="holds no picture"):
            imported(tmp_path / "photos")
        assert not (tmp_path / "out").exists()
