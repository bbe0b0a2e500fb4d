"""Published archives in small, in the very layout they are unpacked in."""

import bz2
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from picture_files import picture
from sugartag.cli.main import main
from sugartag.collection import Collection, open_collection
from sugartag.collection.archives import FORMATS, detected_format
from tables import tags_by_image

PHOTOS = ["actor\\0001_2124494179.jpg", "actor\\0002_174174086.jpg", "zebra\\0001_555.jpg"]


def run(source: Path, *options: str) -> Result:
    out = source.parent / "out"
    return CliRunner().invoke(main, ["import", str(source), "--out", str(out), *options])


def imported(source: Path, *options: str) -> Collection:
    result = run(source, *options)
    assert result.exit_code == 0, result.output
    return open_collection(source.parent / "out")


def owners(collection: Collection) -> list[str]:
    names = [*collection.owner_names, ""]
    return [names[owner] for owner in collection.owner]


def truth(collection: Collection) -> dict[str, set[str]]:
    matrix = collection.truth_of(slice(0, collection.n_images)).toarray()
    names = collection.concept_names
    return {
        image: {name for name, value in zip(names, row, strict=True) if value}
        for image, row in zip(collection.ids, matrix, strict=True)
    }


def write(path: Path, *lines: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


@pytest.fixture
def nuswide(tmp_path) -> Path:
    root = tmp_path / "NUS-WIDE"
    write(root / "ImageList" / "Imagelist.txt", *PHOTOS)
    write(
        root / "NUS_WID_Tags" / "All_Tags.txt",
        "2124494179\t cute girl portrait nikond80",
        "174174086\t girl sky",
        "555\t",
    )
    write(root / "NUS_WID_Tags" / "Final_Tag_List.txt", "girl", "portrait", "sky", "zebra")
    write(root / "ConceptsList" / "Concepts81.txt", "person", "zebra")
    labels = root / "Groundtruth" / "AllLabels"
    write(labels / "Labels_person.txt", "1", "1", "0")
    write(labels / "Labels_zebra.txt", "0", "0", "1")
    write(root / "Groundtruth" / "TrainTestLabels" / "Labels_zebra_Train.txt", "0", "1")
    return root


def test_nuswide_is_read_with_tags_of_the_final_list_and_all_concepts(nuswide):
    collection = imported(nuswide)

    assert tags_by_image(nuswide.parent / "out") == {
        "2124494179": {"girl", "portrait"},
        "174174086": {"girl", "sky"},
        "555": set(),
    }
    assert truth(collection) == {
        "2124494179": {"person"},
        "174174086": {"person"},
        "555": {"zebra"},
    }
    assert list(collection.texts_of("paths") or [])[2] == "zebra/0001_555.jpg"
    assert owners(collection) == ["", "", ""]


def test_nuswide_128_adds_concepts_users_and_groups(nuswide):
    write(nuswide / "Groundtruth" / "AllLabels" / "Labels_girl.txt", "1", "1", "0")
    write(nuswide / "users.txt", "2124494179 7@N00 rest ignored", "555\t8@N00", "999 9@N00")
    write(nuswide / "groups.txt", "7@N00 Portraits of girls", "8@N00 zoo", "8@N00 africa")

    collection = imported(nuswide)

    assert collection.concept_names == ("girl", "person", "zebra")
    assert owners(collection) == ["7@N00", "", "8@N00"]
    assert list(collection.group_names) == ["Portraits of girls", "zoo", "africa"]
    assert collection.groups.toarray().tolist() == [[1, 0, 0], [0, 1, 1]]


def test_without_the_final_list_nuswide_keeps_every_tag_and_takes_features(nuswide, tmp_path):
    (nuswide / "NUS_WID_Tags" / "Final_Tag_List.txt").unlink()
    np.save(tmp_path / "x.npy", np.arange(6, dtype=np.float32).reshape(3, 2))

    collection = imported(nuswide, "--features", str(tmp_path / "x.npy"))

    assert collection.n_tags == 5
    assert collection.n_features == 2


def test_a_photo_that_nuswide_lists_twice_is_two_images(nuswide):
    write(nuswide / "ImageList" / "Imagelist.txt", *PHOTOS, "bear\\9_555.jpg")
    write(
        nuswide / "NUS_WID_Tags" / "All_Tags.txt",
        "2124494179 a",
        "174174086",
        "555 sky",
        "555 zebra",
    )
    for path in (nuswide / "Groundtruth" / "AllLabels").iterdir():
        write(path, "0", "1", "0", "1")

    imported(nuswide)

    assert tags_by_image(nuswide.parent / "out")["555-2"] == {"zebra"}


@pytest.mark.parametrize(
    ("file", "lines", "message"),
    [
        ("NUS_WID_Tags/All_Tags.txt", ["2124494179", "3", "555"], "line 2: photo '3'"),
        ("NUS_WID_Tags/All_Tags.txt", ["2124494179", "174174086"], "has 2 lines"),
        ("NUS_WID_Tags/All_Tags.txt", ["", "174174086", "555"], "line 1: photo ''"),
        ("ImageList/Imagelist.txt", ["actor"], "line 1: 'actor' does not end with a photo id"),
        ("Groundtruth/AllLabels/Labels_zebra.txt", ["0", "1"], "has 2 lines, not 3"),
        ("Groundtruth/AllLabels/Labels_zebra.txt", ["0", "-1130179", "1"], "line 2: b'-1130179'"),
        ("Groundtruth/AllLabels/Labels_zebra.txt", ["0"] * 9000, "is too large"),
    ],
)
def test_a_nuswide_that_contradicts_itself_is_refused_in_one_line(nuswide, file, lines, message):
    write(nuswide / file, *lines)

    result = run(nuswide)

    assert result.exit_code == 2
    assert message in result.stderr
    assert not (nuswide.parent / "out").exists()


def test_a_missing_file_says_where_it_comes_from(nuswide):
    (nuswide / "ImageList" / "Imagelist.txt").unlink()

    assert "it comes from ImageList.zip of the NUS-WIDE site" in run(nuswide).stderr


def test_mirflickr_25k_has_tags_owners_and_the_wide_concepts(tmp_path):
    root = tmp_path / "mir"
    for number in (1, 2, 10):
        write(root / "mirflickr" / "meta" / "tags" / f"tags{number}.txt", "sky", f"t{number}")
        (root / "mirflickr" / f"im{number}.jpg").write_bytes(picture("JPEG"))
    licence = "Picture URL: http://www.flickr.com/photos/anna/12345/"
    write(root / "mirflickr" / "meta" / "license" / "license2.txt", "Title: x", licence)
    annotations = root / "mirflickr25k_annotations_v080"
    write(annotations / "sky.txt", "1", "10", "25000")
    write(annotations / "sky_r1.txt", "1")
    write(annotations / "README.txt", "not a list")

    collection = imported(root)

    assert list(collection.ids) == ["1", "2", "10"]
    assert owners(collection) == ["", "anna", ""]
    assert truth(collection) == {"1": {"sky"}, "2": set(), "10": {"sky"}}
    assert list(collection.texts_of("paths") or []) == ["im1.jpg", "im2.jpg", "im10.jpg"]
    assert collection.images_root == str(root / "mirflickr")


def test_mirflickr_1m_lies_in_folders_of_ten_thousand(tmp_path):
    root = tmp_path / "mir"
    write(root / "tags" / "0" / "0.txt", "red car")
    write(root / "tags" / "1" / "10001.txt", "sea")
    write(root / "license" / "1" / "10001.txt", "http://www.flickr.com/people/8@N00/")
    (root / "images").mkdir()

    collection = imported(root)

    assert tags_by_image(tmp_path / "out") == {"0": {"red car"}, "10001": {"sea"}}
    assert list(collection.texts_of("paths") or []) == ["0/0.jpg", "1/10001.jpg"]
    assert owners(collection) == ["", "8@N00"]


@pytest.fixture
def jingwei(tmp_path) -> Path:
    root = tmp_path / "flickr3"
    write(root / "TextData" / "id.userid.lemmtags.txt", "5\tu1\tdog park", "6\tu2\t", "7\tu1\tcat")
    write(root / "ImageSets" / "flickr3.txt", "5", "6", "7")
    folder = root / "FeatureData" / "vgg"
    write(folder / "shape.txt", "3 2")
    write(folder / "id.txt", "7 5 6")
    np.array([[7, 7], [5, 5], [6, 6]], dtype="<f4").tofile(folder / "feature.bin")
    write(root / "Annotations" / "concepts2.txt", "dog", "cat")
    write(root / "Annotations" / "Image" / "concepts2" / "dog.txt", "5 1", "6 -1", "7 0", "99 1")
    write(root / "Annotations" / "Image" / "concepts2" / "cat.txt", "7 1", "5 -1")
    return root


def test_jingwei_has_users_tags_truth_and_features_in_an_order_of_their_own(jingwei):
    collection = imported(jingwei)

    assert tags_by_image(jingwei.parent / "out") == {"5": {"dog", "park"}, "6": set(), "7": {"cat"}}
    assert owners(collection) == ["u1", "u2", "u1"]
    assert truth(collection) == {"5": {"dog"}, "6": set(), "7": {"cat"}}
    assert collection.features_at(np.arange(3))[:, 0].tolist() == [5, 6, 7]


def test_of_several_jingwei_features_one_is_to_be_named(jingwei):
    other = jingwei / "FeatureData" / "color"
    write(other / "shape.txt", "3 1")
    write(other / "id.txt", "5 6 7")
    np.array([1, 2, 3], dtype="<f4").tofile(other / "feature.bin")

    refused = run(jingwei)
    collection = imported(jingwei, "--features", str(other))

    assert refused.exit_code == 2
    assert "name one with --features FOLDER" in refused.stderr
    assert collection.features_at(np.arange(3))[:, 0].tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("FeatureData/vgg/shape.txt", "3 5", "not 3 x 5 float32"),
        ("FeatureData/vgg/shape.txt", "3", "does not hold two numbers"),
        ("FeatureData/vgg/shape.txt", "9999999999 9999999999", "float32"),
        ("FeatureData/vgg/id.txt", "7 5", "has 2 ids, not 3"),
        ("TextData/id.userid.lemmtags.txt", "5 u1 dog", "line 1: 1 fields"),
        (
            "Annotations/Image/concepts2/dog.txt",
            "5 yes",
            "line 1: '5 yes' is not an id and a label",
        ),
    ],
)
def test_a_jingwei_that_contradicts_itself_is_refused_in_one_line(jingwei, file, text, message):
    write(jingwei / file, text)

    result = run(jingwei)

    assert result.exit_code == 2
    assert message in result.stderr


def yfcc_line(photo: str, tags: str, *, fields: int = 25, video: bool = False) -> str:
    middle = ["nick", "2010-01-01", "1262304000", "Canon", "A+day%21", "description"]
    rest = ["machine%3Atag%3D1", "4.9", "52.3", "16", "page", "download", "licence", "url"]
    end = ["1", "2", "secret", "original", "jpg", "1" if video else "0"]
    row = [photo, "7@N00", *middle, tags, *rest, *end]
    return "\t".join(row if fields == 23 else ["17", photo, "abcdef", *row[1:]])


@pytest.mark.parametrize("fields", [23, 25])
def test_yfcc_is_decoded_videos_are_skipped_and_camera_names_left_out(tmp_path, fields):
    path = tmp_path / "yfcc100m_dataset-0.bz2"
    lines = [
        yfcc_line("1", "caf%C3%A9,new+york,canon", fields=fields),
        yfcc_line("2", "", fields=fields),
        yfcc_line("3", "clip", fields=fields, video=True),
    ]
    path.write_bytes(bz2.compress("".join(f"{line}\n" for line in lines).encode()))

    collection = imported(path)

    assert tags_by_image(tmp_path / "out") == {"1": {"café", "new york"}, "2": set()}
    assert owners(collection) == ["7@N00", "7@N00"]
    assert list(collection.texts_of("titles") or []) == ["A day!", "A day!"]


def test_all_files_of_yfcc_in_a_folder_are_read_and_the_stop_list_can_be_left_out(tmp_path):
    root = tmp_path / "yfcc"
    write(root / "yfcc100m_dataset-0", yfcc_line("1", "canon"))
    write(root / "yfcc100m_dataset-1", yfcc_line("2", "dog"))

    collection = imported(root, "--no-stop-list")

    assert list(collection.ids) == ["1", "2"]
    assert collection.tag_names == ("canon", "dog")


@pytest.mark.parametrize(
    ("data", "message"),
    [(b"not bzip2 at all", "not a whole bzip2 file"), (bz2.compress(b"a\tb\n"), "2 fields")],
)
def test_a_damaged_yfcc_is_refused_in_one_line(tmp_path, data, message):
    (tmp_path / "yfcc100m_dataset-0.bz2").write_bytes(data)

    result = run(tmp_path / "yfcc100m_dataset-0.bz2")

    assert result.exit_code == 2
    assert message in result.stderr


ROWS = [
    {"file_name": "a.jpg", "tags": ["sea", "sun"], "creator": "Anna", "text": "A day"},
    {"file_name": "sub/b.jpg", "tags": [], "creator": "Ben", "text": "A night"},
]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_an_image_folder_is_read_with_its_metadata(tmp_path, kind):
    root = tmp_path / "photos"
    for row in ROWS:
        (root / row["file_name"]).parent.mkdir(parents=True, exist_ok=True)
        (root / row["file_name"]).write_bytes(picture("JPEG"))
    if kind == "csv":
        flat = [
            f'{r["file_name"]},"{",".join(r["tags"])}",{r["creator"]},{r["text"]}' for r in ROWS
        ]
        write(root / "metadata.csv", "file_name,tags,creator,text", *flat)
    elif kind == "jsonl":
        write(root / "metadata.jsonl", *map(json.dumps, ROWS))
    else:
        pq.write_table(pa.Table.from_pylist(ROWS), root / "metadata.parquet")

    collection = imported(root)

    assert tags_by_image(tmp_path / "out") == {"a.jpg": {"sea", "sun"}, "sub/b.jpg": set()}
    assert owners(collection) == ["Anna", "Ben"]
    assert list(collection.texts_of("titles") or []) == ["A day", "A night"]
    assert collection.images_root == str(root)


def test_the_splits_of_an_image_folder_are_one_collection(tmp_path):
    for split in ("train", "test"):
        write(tmp_path / "photos" / split / "metadata.csv", "file_name,tags", "1.jpg,a|b")

    assert list(imported(tmp_path / "photos").ids) == ["test/1.jpg", "train/1.jpg"]


def test_a_path_of_an_image_folder_that_leads_out_is_refused(tmp_path):
    write(tmp_path / "photos" / "metadata.csv", "file_name,tags", "../../secret.jpg,a")

    result = run(tmp_path / "photos")

    assert result.exit_code == 2
    assert "contains '..'" in result.stderr


@pytest.fixture
def clip(tmp_path) -> Path:
    root = tmp_path / "embedded"
    for name in ("img_emb", "metadata"):
        (root / name).mkdir(parents=True)
    for part in range(2):
        values = np.full((2, 3), part, dtype=np.float16)
        np.save(root / "img_emb" / f"img_emb_{part}.npy", values)
        rows = [
            {"image_path": f"{part}/{n}.jpg", "caption": "A day", "keywords": ["sea", f"k{part}"]}
            for n in range(2)
        ]
        pq.write_table(pa.Table.from_pylist(rows), root / "metadata" / f"metadata_{part}.parquet")
    return root


def test_clip_retrieval_has_embeddings_part_by_part(clip):
    collection = imported(clip)

    assert list(collection.ids) == ["0/0.jpg", "0/1.jpg", "1/0.jpg", "1/1.jpg"]
    assert tags_by_image(clip.parent / "out")["1/0.jpg"] == {"sea", "k1"}
    assert collection.features_at(np.arange(4)).tolist() == [[0] * 3, [0] * 3, [1] * 3, [1] * 3]


def test_a_clip_retrieval_whose_parts_differ_is_refused_in_one_line(clip):
    np.save(clip / "img_emb" / "img_emb_1.npy", np.zeros((3, 3), dtype=np.float16))
    assert "has 2 rows" in run(clip).stderr
    (clip / "metadata" / "metadata_1.parquet").unlink()
    assert "every part needs both" in run(clip).stderr


def test_archives_are_told_apart_from_each_other_and_from_photographs(
    nuswide, jingwei, clip, tmp_path
):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "1.jpg").write_bytes(picture("JPEG"))
    write(tmp_path / "photos" / "metadata.csv", "some,thing", "else,1")

    assert detected_format(nuswide) == "nuswide"
    assert detected_format(jingwei) == "jingwei"
    assert detected_format(clip) == "clip-retrieval"
    assert detected_format(tmp_path / "photos") is None
    assert detected_format(tmp_path / "absent") is None


@pytest.mark.parametrize("name", FORMATS)
def test_a_folder_that_is_not_the_archive_named_is_refused_in_one_line(tmp_path, name):
    (tmp_path / "photos").mkdir()

    result = run(tmp_path / "photos", "--format", name)

    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
