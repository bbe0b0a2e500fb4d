"""Tables in, a collection folder out: what is imported, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

from sugartag.collection import open_collection
from sugartag.collection.readers import ImportSummary
from sugartag.errors import CollectionError, SettingsError
from tables import ROWS, imported, left_over, tags_by_image, write_table


def test_every_row_becomes_an_image(tmp_path):
    summary = imported(tmp_path, ROWS)

    collection = open_collection(tmp_path / "out")
    assert list(collection.ids) == ["1", "2", "3", "4"]
    assert collection.tag_names == ("beach", "sun", "dog", "Sun")
    assert list(collection.owner_names) == ["anna", "ben"]
    assert collection.owner.tolist() == [0, collection.nobody, 1, 0]
    assert list(collection.texts_of("paths") or []) == ["a/1.jpg", "", "", ""]
    assert list(collection.texts_of("titles") or []) == ["", "My dog", "", ""]
    assert tags_by_image(tmp_path / "out")["2"] == {"dog", "sun"}
    assert not any("scratch" in path.name for path in (tmp_path / "out").iterdir())
    assert summary == ImportSummary(
        *(4, 4, 2, 0, 0, 0, 0),
        untagged_images=1,
        ownerless_images=1,
        variants=1,
        notes=("tags are split on '|'",),
    )


def test_shards_of_any_size_hold_the_same_collection(tmp_path):
    rows = [
        {"image_id": str(n), "owner": f"o{n % 3}", "tags": [f"t{n % 4}"], "path": "x" * (n == 9)}
        for n in range(20)
    ]
    imported(tmp_path, rows)
    whole = open_collection(tmp_path / "out")

    imported(tmp_path, rows, rows_per_shard=3, overwrite=True)

    cut = open_collection(tmp_path / "out")
    assert [len(shard) for shard in cut.shards] == [3, 3, 3, 3, 3, 3, 2]
    assert list(cut.ids) == list(whole.ids)
    assert cut.owner.tolist() == whole.owner.tolist()
    assert list(cut.texts_of("paths") or []) == list(whole.texts_of("paths") or [])
    assert cut.texts_of("titles") is None
    everything = slice(0, 20)
    assert (cut.tags_of(everything).toarray() == whole.tags_of(everything).toarray()).all()


def test_case_is_kept_unless_asked(tmp_path):
    truth = write_table(tmp_path / "truth.csv", [{"image_id": "1", "concept": "BEACH"}])

    imported(tmp_path, ROWS, lowercase=True, truth=truth)

    collection = open_collection(tmp_path / "out")
    assert collection.tag_names == ("beach", "sun", "dog")
    assert collection.concept_names == ("beach",)
    assert list(collection.texts_of("titles") or [])[1] == "My dog"


def test_tags_with_too_few_uses_are_dropped_and_the_others_keep_their_order(tmp_path):
    rows = [
        {"image_id": "1", "owner": "a", "tags": ["rare", "rare", "z", "y"]},
        {"image_id": "2", "owner": "a", "tags": ["other", "y"]},
        {"image_id": "3", "owner": "a", "tags": ["y", "z"]},
        {"image_id": "4", "owner": "a", "tags": ["once"]},
    ]

    summary = imported(tmp_path, rows, min_uses=2, rows_per_shard=2)

    assert open_collection(tmp_path / "out").tag_names == ("z", "y")
    assert tags_by_image(tmp_path / "out") == {
        "1": {"z", "y"},
        "2": {"y"},
        "3": {"y", "z"},
        "4": set(),
    }
    assert (summary.tags, summary.untagged_images) == (2, 1)


def test_features_follow_their_images_into_the_shards(tmp_path):
    values = np.arange(12, dtype=np.float16).reshape(4, 3)
    np.save(tmp_path / "x.npy", values)

    summary = imported(tmp_path, ROWS, features=tmp_path / "x.npy", rows_per_shard=3)

    collection = open_collection(tmp_path / "out")
    assert summary.features == collection.n_features == 3
    assert collection.shards[1].features is not None
    assert collection.shards[1].features.dtype == np.float16
    np.testing.assert_array_equal(collection.features_at(np.array([3, 0])), values[[3, 0]])


def test_members_without_images_are_skipped_and_repeated_rows_count_once(tmp_path):
    rows = [
        {"owner": " ben ", "group": "hikers"},
        {"owner": "stranger", "group": "strange"},
        {"owner": "anna", "group": "sailors"},
        {"owner": "anna", "group": "hikers"},
        {"owner": "ben", "group": "hikers"},
    ]
    groups = write_table(tmp_path / "groups.tsv", rows)

    summary = imported(tmp_path, ROWS, groups=groups)

    collection = open_collection(tmp_path / "out")
    assert list(collection.group_names) == ["hikers", "sailors"]
    assert collection.groups.toarray().tolist() == [[1, 1], [1, 0]]
    assert (summary.groups, summary.skipped_memberships) == (2, 1)


def test_truth_names_concepts_in_order_of_appearance(tmp_path):
    pairs = [("4", "sun"), ("1", "cat"), ("4", "sun"), ("4", "cat"), ("2", "dog")]
    rows = [{"image_id": image, "concept": concept} for image, concept in pairs]
    truth = write_table(tmp_path / "truth.jsonl", rows)

    summary = imported(tmp_path, ROWS, truth=truth, rows_per_shard=3)

    collection = open_collection(tmp_path / "out")
    assert collection.concept_names == ("sun", "cat", "dog")
    found = collection.truth_of(slice(0, 4)).toarray().tolist()
    assert found == [[0, 1, 0], [0, 0, 1], [0, 0, 0], [1, 1, 0]]
    assert summary.concepts == 3


def test_the_images_root_is_stored_absolute(tmp_path, monkeypatch):
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "1.jpg").touch()
    monkeypatch.chdir(tmp_path)

    imported(
        tmp_path,
        [{"image_id": "1", "owner": "a", "tags": ["x"], "path": "1.jpg"}],
        images_root=Path("images"),
    )

    assert open_collection(tmp_path / "out").images_root == str((tmp_path / "images").resolve())


@pytest.mark.parametrize("min_uses", [1, 3])
def test_a_table_without_any_tag_becomes_a_collection_without_tags(tmp_path, min_uses):
    rows = [{**row, "tags": [" "]} for row in ROWS]

    summary = imported(tmp_path, rows, min_uses=min_uses)

    assert (summary.tags, summary.untagged_images) == (0, len(ROWS))
    assert open_collection(tmp_path / "out").tag_names == ()
    assert tags_by_image(tmp_path / "out") == {row["image_id"]: set() for row in ROWS}


# What is refused


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([*ROWS, {**ROWS[1]}], {}, r"photos\.csv, line 6: the image id '2' is on line 3 already"),
        ([*ROWS, {**ROWS[0], "image_id": " 1"}], {"rows_per_shard": 2}, r"line 6: .* on line 2 al"),
        ([*ROWS, {"image_id": " ", "tags": []}], {}, r"line 6: image_id is empty"),
        (ROWS, {"min_uses": 3}, r"no tag with 3 uses \(the most used one has 2\); lower --min-u"),
        ([{**ROWS[0], "path": "../x"}], {}, r"line 2: path '\.\./x' contains '\.\.'"),
        ([], {}, r"photos\.csv is empty"),
    ],
)
def test_a_bad_table_is_named_and_leaves_nothing(tmp_path, rows, options, message):
    with pytest.raises(CollectionError, match=message):
        imported(tmp_path, rows, **options)

    assert left_over(tmp_path, {"photos.csv"}) == set()


@pytest.mark.parametrize(
    ("kind", "rows", "message"),
    [
        ("truth", [{"image_id": "1", "concept": "x"}, {"image_id": "9", "concept": "x"}],
         r"side\.csv, line 3: no image has the id '9'"),
        ("truth", [{"image_id": "1", "concept": ""}], r"side\.csv, line 2: concept is empty"),
        ("truth", [{"image_id": "1"}], r"side\.csv has no column 'concept'"),
        ("groups", [{"owner": "anna", "group": " "}], r"side\.csv, line 2: group is empty"),
        ("groups", [{"owner": "", "group": "g"}], r"side\.csv, line 2: owner is empty"),
        ("groups", [{"user": "anna", "group": "g"}], r"side\.csv has no column 'owner'"),
    ],
)  # fmt: skip
def test_a_bad_side_table_is_named_and_leaves_nothing(tmp_path, kind, rows, message):
    side = write_table(tmp_path / "side.csv", rows)

    with pytest.raises(CollectionError, match=message):
        imported(tmp_path, ROWS, **{kind: side})

    assert left_over(tmp_path, {"photos.csv", "side.csv"}) == set()


def test_feature_rows_that_do_not_match_are_counted(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((1234, 2)))

    with pytest.raises(CollectionError, match=r"x\.npy has 1,234 rows and .*photos\.csv has 4;"):
        imported(tmp_path, ROWS, features=tmp_path / "x.npy")


def test_a_bad_feature_in_a_later_shard_is_named_and_leaves_nothing(tmp_path):
    values = np.zeros((4, 2))
    values[3, 1] = np.nan
    np.save(tmp_path / "x.npy", values)

    with pytest.raises(CollectionError, match=r"row 4 \(index 3, image '4'\), column 2: nan"):
        imported(tmp_path, ROWS, features=tmp_path / "x.npy", rows_per_shard=2)

    assert left_over(tmp_path, {"photos.csv", "x.npy"}) == set()


def test_a_missing_source_is_named_before_the_table_is_read(tmp_path):
    calls: list[str] = []

    for name in ("groups", "truth", "features"):
        with pytest.raises(CollectionError, match=r"absent\.csv does not exist"):
            imported(
                tmp_path,
                ROWS,
                progress=lambda what, done, total: calls.append(what),
                **{name: tmp_path / "absent.csv"},
            )

    assert calls == []


@pytest.mark.parametrize("options", [{"min_uses": 0}, {"rows_per_shard": 0}])
def test_impossible_settings_are_refused(tmp_path, options):
    with pytest.raises(SettingsError, match="must be at least 1"):
        imported(tmp_path, ROWS, **options)
