from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from planted import OF_NOBODY, resharded
from sugartag.anchors import AnchorLayout, AnchorUnits, choose_units
from sugartag.anchors.owners import owner_profiles
from sugartag.anchors.units import position_in, relative
from sugartag.collection.build import collection_from_arrays
from sugartag.collection.model import Collection
from sugartag.engine import LocalEngine
from sugartag.errors import CollectionError

READINGS = ["sum", "image", "product", "cocluster"]
LAYOUT = AnchorLayout(
    image_clusters=6,
    user_clusters=3,
    units_per_cluster=10,
    reading="sum",
    max_units=100,
    unit_features=True,
)
every_reading = pytest.mark.parametrize("reading", READINGS)


def units_of(collection: Collection, layout: AnchorLayout, *, engine=None, seed=0) -> AnchorUnits:
    engine = engine or LocalEngine()
    profiles = owner_profiles(collection, engine=engine)
    rng = np.random.default_rng(seed)
    return choose_units(collection, profiles, layout, engine=engine, rng=rng)


def reading_of(reading: str, **changed) -> AnchorLayout:
    return replace(LAYOUT, reading=reading, **changed)


def assert_same_units(found: AnchorUnits, expected: AnchorUnits) -> None:
    np.testing.assert_array_equal(found.image, expected.image)
    np.testing.assert_array_equal(found.user, expected.user)
    np.testing.assert_array_equal(found.user_of_image, expected.user_of_image)


@pytest.fixture(scope="module")
def large() -> Collection:
    """2,000 images in six clear heaps, 120 owners in three clear circles."""
    rng = np.random.default_rng(5)
    owner = rng.integers(0, 120, 2000)
    heap = rng.integers(0, 6, 2000)
    return collection_from_arrays(
        sparse.csr_array(rng.random((2000, 12)) < 0.2),
        owner,
        features=5.0 * np.eye(6, 9)[heap] + 0.3 * rng.normal(size=(2000, 9)),
        groups=sparse.csr_array(np.eye(3)[np.arange(120) % 3]),
    )


@every_reading
def test_units_are_real_pairs_of_an_image_and_its_owner(reading, collection):
    units = units_of(collection, reading_of(reading))

    owner = collection.owner[units.image]
    known = units.user_of_image < len(units.user)
    np.testing.assert_array_equal(units.user[units.user_of_image[known]], owner[known])
    assert not np.isin(owner[~known], units.user).any()
    if reading != "image":
        assert known.all()
        np.testing.assert_array_equal(units.user, np.unique(owner))


@every_reading
def test_units_are_ascending_and_never_twice_the_same(reading, collection):
    units = units_of(collection, reading_of(reading))

    assert len(units.image) > 10
    assert (np.diff(units.image) > 0).all()
    assert (np.diff(units.user) > 0).all()
    assert units.user_of_image.shape == units.image.shape


def test_the_sum_takes_ten_units_at_each_centre_of_images_and_of_users(large):
    units = units_of(large, reading_of("sum"))

    assert len(units.image) == 10 * (6 + 3)


def test_the_sum_has_a_unit_of_each_user_near_a_user_centre(large):
    units = units_of(large, reading_of("sum"))
    alone = units_of(large, reading_of("image"))

    assert np.isin(alone.image, units.image).all()
    extra = large.owner[np.setdiff1d(units.image, alone.image)]
    np.testing.assert_array_equal(np.sort(extra), alone.user)


def test_the_paper_has_five_hundred_and_twenty_units():
    rng = np.random.default_rng(6)
    heap, circle = rng.integers(0, 40, 6000), np.arange(240) % 12
    paper = collection_from_arrays(
        sparse.csr_array(rng.random((6000, 5)) < 0.3),
        rng.integers(0, 240, 6000),
        features=5.0 * np.eye(40)[heap] + 0.1 * rng.normal(size=(6000, 40)),
        groups=sparse.csr_array(np.eye(12)[circle]),
    )
    layout = AnchorLayout(
        image_clusters=40,
        user_clusters=12,
        units_per_cluster=10,
        reading="sum",
        max_units=1000,
        unit_features=True,
    )

    # A heap may be left without a centre of its own, and another be parted in two.
    assert len(units_of(paper, layout).image) == 520


def test_the_image_reading_takes_images_and_users_apart(large):
    units = units_of(large, reading_of("image"))

    assert len(units.image) == 6 * 10
    assert len(units.user) == 3 * 10


@pytest.mark.parametrize(("max_units", "expected"), [(1000, 180), (100, 90), (18, 18), (7, 7)])
def test_the_product_fills_each_pair_of_centres_up_to_its_cap(max_units, expected, large):
    units = units_of(large, reading_of("product", max_units=max_units))

    assert len(units.image) == expected


def test_the_product_has_units_of_each_pair_of_heap_and_circle(large):
    units = units_of(large, reading_of("product", max_units=1000))

    heap = large.features_at(units.image).argmax(axis=1)
    pairs, counts = np.unique(heap * 3 + large.owner[units.image] % 3, return_counts=True)
    np.testing.assert_array_equal(pairs, np.arange(18))
    np.testing.assert_array_equal(counts, np.full(18, 10))


def test_coclustering_takes_about_as_many_units_as_image_centres_have(large):
    units = units_of(large, reading_of("cocluster"))

    # Six image clusters in at most three co-clusters, ten units for each image cluster.
    assert 6 * 10 <= len(units.image) <= 3 * 10 * 6


def test_coclusters_follow_who_photographs_what():
    rng = np.random.default_rng(2)
    owner = rng.integers(0, 60, 1200)
    heap = 2 * (owner % 3) + rng.integers(0, 2, 1200)  # each circle has two heaps of its own
    strays = rng.random(1200) < 0.1
    heap[strays] = rng.integers(0, 6, strays.sum())
    circles = collection_from_arrays(
        sparse.csr_array(rng.random((1200, 5)) < 0.3),
        owner,
        features=5.0 * np.eye(6)[heap] + 0.1 * rng.normal(size=(1200, 6)),
        groups=sparse.csr_array(np.eye(3)[np.arange(60) % 3]),
    )

    units = units_of(circles, reading_of("cocluster"))

    assert len(units.image) == 3 * 2 * 10
    np.testing.assert_array_equal(heap[units.image] // 2, owner[units.image] % 3)


@every_reading
def test_an_image_without_an_owner_is_never_an_anchor(reading, collection):
    everything = reading_of(reading, units_per_cluster=600, max_units=10_000)

    units = units_of(collection, everything)

    assert len(units.image) == 599
    assert OF_NOBODY not in units.image
    assert collection.nobody not in units.user


@every_reading
def test_an_owner_without_images_is_never_an_anchor_user(reading, collection):
    owner = np.where(collection.owner < 40, 3, collection.owner)
    fewer = replace(collection, shards=(replace(collection.shards[0], owner=owner),))

    units = units_of(fewer, reading_of(reading, units_per_cluster=600, max_units=10_000))

    assert 3 in units.user
    assert np.isin(units.user, owner).all()


@every_reading
def test_the_same_seed_gives_the_same_units_however_they_are_computed(
    reading, collection, monkeypatch
):
    layout = reading_of(reading)
    expected = units_of(collection, layout)
    cut = resharded(collection, 1, 250, 251)

    assert_same_units(units_of(collection, layout, engine=LocalEngine(workers=3)), expected)
    assert_same_units(units_of(collection, layout, engine=LocalEngine(blas_threads=2)), expected)
    assert_same_units(units_of(cut, layout), expected)
    whole = Collection.blocks
    monkeypatch.setattr(Collection, "blocks", lambda self: whole(self, 41))
    assert_same_units(units_of(collection, layout, engine=LocalEngine(workers=2)), expected)


@every_reading
def test_another_seed_gives_other_units(reading, collection):
    first, second = (units_of(collection, reading_of(reading), seed=seed) for seed in (0, 1))

    assert not np.array_equal(first.image, second.image)


@every_reading
def test_copies_of_the_same_picture_are_taken_in_row_order(reading, collection, monkeypatch):
    copies = collection.shards[0].features[np.arange(600) % 5]
    copied = replace(collection, shards=(replace(collection.shards[0], features=copies),))
    layout = reading_of(reading)
    expected = units_of(copied, layout)
    whole = Collection.blocks

    monkeypatch.setattr(Collection, "blocks", lambda self: whole(self, 43))

    assert_same_units(units_of(copied, layout, engine=LocalEngine(workers=2)), expected)
    assert_same_units(units_of(resharded(copied, 7, 333), layout), expected)
    if reading == "image":
        owned = np.flatnonzero(collection.owner < collection.nobody)
        first = [owned[owned % 5 == picture][:10] for picture in range(5)]
        np.testing.assert_array_equal(expected.image, np.sort(np.concatenate(first)))


def test_a_collection_of_nobody_has_no_units(collection):
    nobodys = np.full(600, collection.nobody)
    strangers = replace(collection, shards=(replace(collection.shards[0], owner=nobodys),))

    with pytest.raises(CollectionError, match="no image has an owner"):
        units_of(strangers, LAYOUT)


def test_positions_are_found_and_what_is_not_there_is_past_the_end():
    values = np.array([2, 5, 9])

    np.testing.assert_array_equal(position_in(values, np.array([9, 2, 4, 11, 5])), [2, 0, 3, 3, 1])


def test_relative_distances_have_mean_one_unless_all_are_nothing():
    assert relative(np.array([1.0, 3.0])).tolist() == [0.5, 1.5]
    assert relative(np.zeros(2)).tolist() == [0.0, 0.0]


def test_the_printed_matrix_of_images_and_owners_is_degenerate(collection):
    """Every image has one owner, so that normalised as for co-clustering all it says is 1."""
    owned = np.flatnonzero(collection.owner < collection.nobody)
    printed = np.zeros((len(owned), collection.n_owners))
    printed[np.arange(len(owned)), collection.owner[owned]] = 1.0
    printed = printed[:, printed.any(axis=0)]
    degrees = np.outer(printed.sum(axis=1), printed.sum(axis=0))

    singular = np.linalg.svd(printed / np.sqrt(degrees), compute_uv=False)

    assert len(singular) > 50
    np.testing.assert_allclose(singular, 1.0, atol=1e-12)


def test_a_second_owner_of_one_image_would_end_the_degeneracy(collection):
    printed = np.eye(collection.n_owners)[collection.owner[collection.owner < collection.nobody]]
    printed[0, :2] = 1.0
    printed = printed[:, printed.any(axis=0)]
    degrees = np.outer(printed.sum(axis=1), printed.sum(axis=0))

    singular = np.linalg.svd(printed / np.sqrt(degrees), compute_uv=False)

    assert singular.min() < 0.99
