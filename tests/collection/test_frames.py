"""Collections from pandas, Polars and Arrow frames, and back."""

from pathlib import Path

import numpy as np
import pytest

from sugartag import Collection
from sugartag.errors import CollectionError, SettingsError

COLUMNS = {
    "file": ["a.jpg", "b.jpg", "c.jpg"],
    "user": ["anna", None, "ben"],
    "keywords": [["sun", "Sea"], [], ["sea "]],
    "note": ["ignored"] * 3,
}
VECTORS = np.arange(6, dtype=np.float64).reshape(3, 2)


def frame(kind: str):
    if kind == "pandas":
        return pytest.importorskip("pandas").DataFrame(COLUMNS)
    if kind == "polars":
        return pytest.importorskip("polars").DataFrame(COLUMNS)
    if kind == "lazy":
        return pytest.importorskip("polars").LazyFrame(COLUMNS)
    if kind == "arrow":
        return pytest.importorskip("pyarrow").table(COLUMNS)
    return COLUMNS


def made(given, **more) -> Collection:
    return Collection.from_frame(given, id="file", owner="user", tags="keywords", **more)


def tags_of(photos: Collection) -> list[list[str]]:
    return photos.to_frame("dict")["tags"]


@pytest.mark.parametrize("kind", ["pandas", "polars", "lazy", "arrow", "dict"])
def test_a_frame_of_any_library_becomes_a_collection_with_its_ids(kind):
    photos = made(frame(kind), features=VECTORS)

    assert list(photos.ids) == COLUMNS["file"]
    assert photos.to_frame("dict")["owner"] == COLUMNS["user"]
    assert tags_of(photos) == [["sun", "Sea"], [], ["sea"]]
    np.testing.assert_array_equal(photos.features_at(np.arange(3)), VECTORS)


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "dict"])
def test_a_collection_goes_to_a_frame_and_back(kind):
    pytest.importorskip("pyarrow" if kind == "arrow" else kind) if kind != "dict" else None
    photos = made(COLUMNS)

    again = Collection.from_frame(photos.to_frame(kind))

    assert again.to_frame("dict") == photos.to_frame("dict")


def test_only_ids_are_needed_and_they_may_be_numbers_or_an_index():
    pandas = pytest.importorskip("pandas")
    numbered = pandas.DataFrame({"image_id": [10, 11]})

    photos = Collection.from_frame(numbered)
    indexed = Collection.from_frame(numbered.assign(x=1).set_index("image_id"))

    assert list(photos.ids) == list(indexed.ids) == ["10", "11"]
    assert photos.n_tags == photos.n_owners == 0
    assert photos.owner.tolist() == [photos.nobody] * 2


def test_missing_cells_of_pandas_are_empty():
    pandas = pytest.importorskip("pandas")
    given = pandas.DataFrame({"image_id": ["a", "b"], "owner": ["x", float("nan")]})
    given["tags"] = ["sun|sea", None]

    photos = Collection.from_frame(given)

    assert tags_of(photos) == [["sun", "sea"], []]
    assert photos.to_frame("dict")["owner"] == ["x", None]


@pytest.mark.parametrize(
    "texts",
    [["sun, sea", "dog"], ["sun;sea", "dog"], ["sun|sea", "dog"], ["['sun', 'sea']", "['dog']"]],
)
def test_what_separates_tags_is_found_out(texts):
    photos = Collection.from_frame({"image_id": ["a", "b"], "tags": texts})

    assert tags_of(photos) == [["sun", "sea"], ["dog"]]


def test_a_separator_can_be_said():
    photos = Collection.from_frame({"image_id": ["a"], "tags": ["sun, low / sea"]}, separator="/")

    assert tags_of(photos) == [["sun, low", "sea"]]


def test_features_come_from_a_file_from_columns_or_from_a_column(tmp_path):
    np.save(tmp_path / "x.npy", VECTORS)
    columns = {
        "image_id": ["a", "b", "c"],
        "one": VECTORS[:, 0].tolist(),
        "two": VECTORS[:, 1].tolist(),
        "both": VECTORS.tolist(),
    }
    files, names = [str(tmp_path / "x.npy"), tmp_path / "x.npy"], ["one", "two"]
    given = [*files, names, tuple(names), np.array(names), "both"]

    for features in given:
        photos = Collection.from_frame(columns, features=features)
        np.testing.assert_array_equal(photos.features_at(np.arange(3)), VECTORS)


def test_images_without_a_vector_have_no_features():
    columns = {"image_id": ["a", "b", "c"], "looks": [[1.0, 2.0], None, [3.0, 4.0]]}

    for given in (columns, pytest.importorskip("pandas").DataFrame(columns)):
        photos = Collection.from_frame(given, features="looks")
        assert photos.described.tolist() == [True, False, True]
        assert photos.features.tolist() == [[1.0, 2.0], [0.0, 0.0], [3.0, 4.0]]


def test_whole_numbers_stay_whole_where_pandas_makes_floats_of_them():
    pandas = pytest.importorskip("pandas")
    given = pandas.DataFrame({"image_id": [10, 11, 12], "owner": [7, None, 8]})

    photos = Collection.from_frame(given)

    assert given["owner"].dtype == np.float64
    assert photos.to_frame("dict")["owner"] == ["7", None, "8"]


def test_two_columns_of_one_name_are_one_line():
    pandas = pytest.importorskip("pandas")
    twice = pandas.DataFrame([["a", "b"]], columns=["image_id", "image_id"])

    with pytest.raises(CollectionError, match="two columns of one name; rename one") as error:
        Collection.from_frame(twice)

    assert "\n" not in str(error.value)


def test_groups_and_truth_are_frames_or_mappings():
    groups = {"anna": ["boats", "dogs"], "nobody here": ["cats"]}
    pairs = {"owner": ["anna", "anna"], "group": ["boats", "dogs"]}
    truth = {"a.jpg": ["sun"], "c.jpg": ["sea", "boat"]}

    by_mapping = made(COLUMNS, groups=groups, truth=truth)
    by_frame = made(COLUMNS, groups=pairs, truth={"file": ["c.jpg"], "concept": ["sea"]})
    by_column = made({**COLUMNS, "right": [["sun"], None, ["sea", "boat"]]}, truth="right")

    assert by_mapping.groups.toarray()[:, :2].tolist() == by_frame.groups.toarray().tolist()
    concepts = [["sun"], [], ["sea", "boat"]]
    assert by_mapping.to_frame("dict")["concepts"] == concepts
    assert by_column.to_frame("dict")["concepts"] == concepts
    assert by_frame.to_frame("dict")["concepts"] == [[], [], ["sea"]]


@pytest.mark.parametrize(
    ("given", "more", "message"),
    [
        ({"name": ["a"]}, {}, "no column 'image_id'; its columns are 'name'; name one with id="),
        ({"image_id": ["a"]}, {"tags": "words"}, "no column 'words'"),
        ({"image_id": ["a", "a"]}, {}, "frame, row 1: the image id 'a' is in row 0 already"),
        ({"image_id": ["a", ""]}, {}, "frame, row 1: image_id is empty"),
        ({"image_id": []}, {}, "no rows"),
        ({"image_id": ["a"], "tags": []}, {}, "not of one length"),
        (
            {"image_id": ["a"]},
            {"features": np.ones((2, 2))},
            r"shape \(2, 2\) and the frame has 1",
        ),
        ({"image_id": ["a"]}, {"features": [["x"]]}, "the features are no array of numbers"),
        ({"image_id": ["a", "b"]}, {"features": [[1], [2, 3]]}, "give each image as many numbers"),
        ({"image_id": ["a"]}, {"features": 3}, r"the features have shape \(\)"),
        ({"image_id": ["a"]}, {"features": "looks"}, "'looks' are no column and no file"),
        ({"image_id": ["a"]}, {"features": ["one"]}, "no column 'one' for the features"),
        ({"image_id": ["a"]}, {"truth": "right"}, "no column 'right' for the truth"),
        ({"image_id": ["a"]}, {"features": np.full((1, 2), np.nan)}, "not finite"),
        ({"image_id": ["a"]}, {"features": np.full((1, 2), 1e30)}, "above 1e.15"),
        (
            {"image_id": ["a"]},
            {"truth": {"b": ["sun"]}},
            "no image 'b', which the truth",
        ),
        ({"image_id": ["a"]}, {"groups": {"owner": ["a"], "group": [""]}}, "group is empty"),
        (3, {}, "int is no data frame"),
    ],
)
def test_what_is_wrong_with_a_frame_is_said_in_a_line(given, more, message):
    with pytest.raises(CollectionError, match=message):
        Collection.from_frame(given, **more)


def test_a_kind_of_frame_that_does_not_exist_is_refused():
    with pytest.raises(SettingsError, match="choose from: pandas, polars, arrow, dict"):
        made(COLUMNS).to_frame("excel")


def test_images_are_chosen_by_slice_mask_rows_and_ids(collection):
    mask = np.zeros(len(collection), dtype=bool)
    mask[[3, 5]] = True

    assert len(collection) == collection.n_images
    assert list(collection[3:6].ids) == ["image-3", "image-4", "image-5"]
    assert list(collection[mask].ids) == ["image-3", "image-5"]
    assert list(collection[[5, 3]].ids) == ["image-5", "image-3"]
    swapped = collection[["image-5", "image-3"]]
    assert list(swapped.ids) == ["image-5", "image-3"]
    np.testing.assert_array_equal(
        swapped.rows(slice(0, 2)).features, collection.features_at(np.array([5, 3]))
    )
    assert swapped.tags_of(slice(0, 1)).indices.tolist() == (
        collection.tags_of(slice(5, 6)).indices.tolist()
    )


@pytest.mark.parametrize("which", [["nothing"], [10**6], [True], 5, [1, 1], "image-1"])
def test_images_that_are_not_there_are_not_chosen(collection, which):
    with pytest.raises(CollectionError):
        collection[which]


def test_all_features_are_one_array(collection):
    np.testing.assert_array_equal(collection.features, collection.rows(slice(0, 600)).features)
    assert made(COLUMNS).features is None


def test_a_collection_is_shown_in_a_line_and_as_a_table(collection):
    assert len(repr(collection)) < 120
    assert "600 images" in repr(collection)
    shown = made({**COLUMNS, "file": ["<b>", "b", "c"]})._repr_html_()
    assert "&lt;b&gt;" in shown
    assert "<b>" not in shown


def test_folders_are_named_by_text_or_path(tmp_path):
    photos = made(COLUMNS)

    photos.save(str(tmp_path / "photos"))

    assert Collection.read(str(tmp_path / "photos")).to_frame("dict") == photos.to_frame("dict")
    assert len(Collection.read(Path(tmp_path / "photos"))) == 3
