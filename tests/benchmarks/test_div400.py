import os
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from comparison.cases import landmark_case
from comparison.div400 import (
    landmark_precisions,
    landmark_words,
    plain,
    read_landmark_photos,
    reference_points,
)
from comparison.word_scores import mean_tag_scores, resampled_interval
from sugartag.engine import LocalEngine
from sugartag.errors import CollectionError
from sugartag.methods.registry import make_method

TAGS = {
    "a1": "Egg castle napoli",
    "a2": "castle sea",
    "a3": "beach sea",
    "a4": "eggcastleofnaples",
    "b1": "tower Pisa",
    "b2": "tower cat",
    "b3": "pisa tower leaning",
}
JUDGMENTS = [
    ("Egg Castle of Naples", "a1", 2, 1),
    ("Egg Castle of Naples", "a2", 1, 0),
    ("Egg Castle of Naples", "a3", 3, 1),
    ("Egg Castle of Naples", "a4", 4, -1),
    ("Leaning Tower of Písa", "b1", 1, 0),
    ("Leaning Tower of Písa", "b2", 2, 0),
    ("Leaning Tower of Písa", "b3", 3, 1),
]


def write_folder(folder: Path, judgments: list[tuple[str, str, int, int]] = JUDGMENTS) -> Path:
    """Write a few photos in the layout of Div400."""
    users = {photo: f"u{number // 2}" for number, photo in enumerate(TAGS)}
    photos = [f"{photo}\tdevset\t{users[photo]}\t1\t{tags}" for photo, tags in TAGS.items()]
    judged = [f"{name}\t{photo}\t{rank}\t{good}\tsome" for name, photo, rank, good in judgments]
    for file, head, rows in (
        ("photos.tsv", "id\tsplit\tuser\tlicense\ttags", photos),
        ("judgments.tsv", "topic\tid\trank\trelevant\tcluster", judged),
    ):
        (folder / file).write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    rng = np.random.default_rng(0)
    parts = {"CM": rng.random((7, 3)) * 1000, "HOG": rng.random((7, 12))}
    parts["HOG"][:, 0] = 5.0
    np.savez(folder / "features.npz", ids=np.array(list(TAGS)), **parts)
    return folder


def test_a_landmark_is_its_longer_words_and_its_name_run_together():
    assert landmark_words("Sant'Agostino of Åbo") == (
        "sant",
        "agostino",
        "abo",
        "santagostinoofabo",
    )
    assert landmark_words("Kaiserstein") == ("kaiserstein",)


def test_tags_and_landmarks_are_compared_without_case_and_accents():
    assert plain("Município ÉTÉ") == "municipio ete"


def test_tags_of_fewer_than_three_photos_are_kept_only_as_landmark_words(tmp_path):
    photos = read_landmark_photos(write_folder(tmp_path))

    names = photos.collection.tag_names

    # Of the others, "napoli", "cat" and "beach" are on one photo each, "sea" on two.
    assert names == ("castle", "egg", "eggcastleofnaples", "leaning", "pisa", "tower")


def test_the_precision_of_given_words_is_that_by_hand(tmp_path):
    photos = read_landmark_photos(write_folder(tmp_path))
    fitted = make_method("original").fit(
        photos.collection, engine=LocalEngine(), rng=np.random.default_rng(0)
    )

    sets = [landmark.tag for landmark in photos.landmarks]
    scores = mean_tag_scores(fitted, photos.collection, sets, engine=LocalEngine())
    castle, tower = landmark_precisions(scores, photos.landmarks)

    # Words: a1 has two of three, a2 one, a3 none; a4 was undecided and is not ranked.
    assert castle == pytest.approx((1 / 1 + 2 / 3) / 2)
    # Of leaning, tower, pisa: b3 has three, b1 two, b2 one.
    assert tower == pytest.approx(1.0)
    assert scores[:3, 0] == pytest.approx([2 / 3, 1 / 3, 0.0])


def test_equal_scores_are_one_step_of_the_precision(tmp_path):
    photos = read_landmark_photos(write_folder(tmp_path))
    level = np.zeros((photos.collection.n_images, len(photos.landmarks)))

    assert landmark_precisions(level, photos.landmarks) == pytest.approx([2 / 3, 1 / 3])


def test_the_order_of_the_search_is_a_reference_point(tmp_path):
    photos = read_landmark_photos(write_folder(tmp_path))

    points = reference_points(photos)

    castle, tower = (1 / 2 + 2 / 3) / 2, 1 / 3
    assert points["Flickr's own rank"] == pytest.approx((castle + tower) / 2)


def test_nothing_a_method_learns_from_depends_on_the_judgments(tmp_path):
    folders = [tmp_path / "as-judged", tmp_path / "the-other-way"]
    for folder in folders:
        folder.mkdir()
    turned = [(name, photo, rank, 1 - abs(good)) for name, photo, rank, good in JUDGMENTS]
    turned = [*turned[:4], ("Leaning Tower of Písa", "b3", 3, 1)]
    one, other = (
        read_landmark_photos(write_folder(folder, judged)).collection
        for folder, judged in zip(folders, (JUDGMENTS, turned), strict=True)
    )

    (mine,), (theirs,) = one.shards, other.shards

    assert one.tag_names == other.tag_names
    assert (mine.tags != theirs.tags).nnz == 0
    np.testing.assert_array_equal(mine.features, theirs.features)
    np.testing.assert_array_equal(mine.owner, theirs.owner)
    assert not one.has_truth


def test_every_descriptor_weighs_the_same_however_long_it_is(tmp_path):
    photos = read_landmark_photos(write_folder(tmp_path))

    (shard,) = photos.collection.shards
    short, long = shard.features[:, :3], shard.features[:, 3:]

    assert np.square(short).sum() / 7 == pytest.approx(1.0, rel=1e-5)
    # One of its twelve numbers is the same for all photos and says nothing.
    assert np.square(long).sum() / 7 == pytest.approx(11 / 12, rel=1e-5)


def test_features_of_other_photos_are_refused(tmp_path):
    write_folder(tmp_path)
    np.savez(tmp_path / "features.npz", ids=np.array(list(TAGS)[::-1]), CM=np.ones((7, 2)))

    with pytest.raises(CollectionError, match=r"not those of photos\.tsv"):
        read_landmark_photos(tmp_path)


@pytest.mark.parametrize(
    ("judged", "message"),
    [
        (("Pisa", "z9", 1, 1), "judges 'z9', no photo"),
        (("Pisa", "b1", 1, 0), "'Pisa' has no relevant photo"),
    ],
)
def test_judgments_that_make_no_sense_are_named(tmp_path, judged, message):
    with pytest.raises(CollectionError, match=message):
        read_landmark_photos(write_folder(tmp_path, [*JUDGMENTS, judged]))


@dataclass(frozen=True)
class Constant:
    """Scores every tag by its number."""

    name: ClassVar[str] = "constant"
    gives_whole_sets: ClassVar[bool] = False
    floor: ClassVar[float] = 0.0

    def fit(self, collection, *, engine, rng):
        return self

    def scores(self, rows, *, strangers_only=False):
        columns = np.arange(rows.tags.shape[1], dtype=np.float32)
        return np.tile(columns, (len(rows), 1))


def test_a_measured_round_tells_the_precision_of_each_landmark(tmp_path):
    here = landmark_case(write_folder(tmp_path)).start(0)

    found = here.measure(
        Constant(), engine=LocalEngine(), rng=np.random.default_rng(0), replicates=50
    )

    assert found["by_item"] == pytest.approx([2 / 3, 1 / 3])
    assert found["map"] == found["author_aware"]["map"] == pytest.approx(0.5)
    low, high = found["intervals"]["map"]
    assert 1 / 3 <= low <= 0.5 <= high <= 2 / 3 + 1e-12


def test_the_interval_over_landmarks_holds_the_mean_and_narrows_with_their_number():
    few, many = (np.tile([0.2, 0.8], count) for count in (5, 500))

    wide, narrow = resampled_interval(few, 400), resampled_interval(many, 400)

    assert wide[0] < narrow[0] < 0.5 < narrow[1] < wide[1]


@pytest.mark.skipif(not os.environ.get("SUGARTAG_DATA"), reason="SUGARTAG_DATA names no folder")
def test_the_reference_points_of_div400_reproduce():
    photos = read_landmark_photos(Path(os.environ["SUGARTAG_DATA"]) / "div400")

    points = reference_points(photos)

    assert len(photos.landmarks) == 157
    assert points["Flickr's own rank"] == pytest.approx(0.700, abs=0.0005)
    # One random order is about 0.004 away from the mean of many.
    assert points["random order"] == pytest.approx(0.623, abs=0.008)
    words = points["landmark words among the given tags, equal counts in random order"]
    assert words == pytest.approx(0.682, abs=0.008)
