"""A calibrated score is a chance: tags it was shown neither hidden nor wrong come out as often."""

import functools
from itertools import pairwise

import numpy as np
import pytest

from planted import planted_collection, resharded
from sugartag.assignment.calibration import Calibration, unhidden
from sugartag.assignment.rank import top_tags
from sugartag.collection.model import Collection
from sugartag.collection.subset import Hidden, Injected, hide_tags, inject_tags
from sugartag.collection.synthetic import World
from sugartag.engine import LocalEngine
from sugartag.evaluation import calibrate as calibration_module
from sugartag.evaluation.calibrate import TOP, calibrate, compare_scores
from sugartag.methods.registry import METHODS, make_method

HIDDEN_SHARE = 0.2
OTHER_SEED = 91
TOLERANCE = 0.15
ENOUGH = 200
"""Pairs in a range of chances before their share is compared with it."""
SETTINGS = {"sugar-tc": {"image_clusters": 6, "user_clusters": 2, "units_per_cluster": 4}}
"""Fewer anchors, where a method would take its time."""

CLEAR_WORLD = World(
    n_images=1200, n_tags=120, n_owners=200, missing_share=0.1, random_noise=0.3,
    visual_difficulty=0.3, habits_per_owner=0.0,
)  # fmt: skip
"""Images that show what they are tagged with, so that chances are not all small."""


@functools.cache
def held_out() -> Hidden:
    """Return the collection that a user has, and the tags its owners gave besides."""
    return hide_tags(CLEAR_WORLD.generate(3), HIDDEN_SHARE, OTHER_SEED)


@functools.cache
def learned(name: str = "tag-vote-own") -> Calibration:
    return calibrated(name, held_out().collection)


def calibrated(name: str, collection: Collection, seed: int = 5) -> Calibration:
    method, rng = make_method(name, SETTINGS.get(name, {})), np.random.default_rng(seed)
    return calibrate(method, collection, engine=LocalEngine(), rng=rng)


def fitted_scores(collection: Collection) -> np.ndarray:
    model = make_method("tag-vote-own").fit(
        collection, engine=LocalEngine(), rng=np.random.default_rng(0)
    )
    return model.scores(collection.rows(everything(collection)))


def everything(collection: Collection) -> slice:
    return slice(0, collection.n_images)


def dense(tags) -> np.ndarray:
    return tags.toarray() > 0


def by_range(chances: np.ndarray, right: np.ndarray) -> list[tuple[float, float]]:
    """Return the mean chance and the share of right ones in each range that has enough."""
    ranges = [(chances >= low) & (chances < high) for low, high in pairwise(np.arange(0, 1.1, 0.2))]
    return [(chances[one].mean(), right[one].mean()) for one in ranges if one.sum() >= ENOUGH]


def test_suggested_tags_had_been_given_as_often_as_predicted():
    hidden = held_out()
    scores, given = fitted_scores(hidden.collection), dense(hidden.collection.shards[0].tags)
    was_hidden = dense(hidden.taken.shards[0].tags)
    suggested = dense(top_tags(scores, TOP, allowed=~given).as_rows(scores.shape[1]))

    found = by_range(learned().added(scores[suggested]), was_hidden[suggested])

    assert len(found) >= 4
    for chance, rate in found:
        assert unhidden(np.array(rate), HIDDEN_SHARE) == pytest.approx(chance, abs=TOLERANCE)


def test_of_all_tags_those_were_given_that_have_the_chance():
    hidden = held_out()
    given = dense(hidden.collection.shards[0].tags)
    # Without its own tags an image scores each as if it had not been given.
    own = np.float32(make_method("tag-vote-own").own_weight) * given
    ever_given = given | dense(hidden.taken.shards[0].tags)

    scores = fitted_scores(hidden.collection) - own
    found = by_range(learned().added(scores.ravel()), ever_given.ravel())

    assert len(found) >= 4
    for chance, share in found:
        assert share == pytest.approx(chance, abs=TOLERANCE)


@functools.cache
def injected() -> Injected:
    return inject_tags(held_out().collection, calibration_module.INJECTED_RATE, OTHER_SEED)


def test_wrong_tags_get_lower_chances_than_genuine_ones():
    scores, given = (
        fitted_scores(injected().collection),
        dense(injected().collection.shards[0].tags),
    )
    wrong = dense(injected().added.shards[0].tags)

    chances = learned().given(scores)

    assert chances[wrong].mean() < chances[given & ~wrong].mean() - 0.2


def test_given_tags_are_genuine_as_often_as_predicted():
    scores, given = (
        fitted_scores(injected().collection),
        dense(injected().collection.shards[0].tags),
    )
    genuine = ~dense(injected().added.shards[0].tags)

    found = by_range(learned().given(scores[given]), genuine[given])

    assert len(found) >= 3
    for chance, share in found:
        assert share == pytest.approx(chance, abs=TOLERANCE)


@pytest.mark.parametrize("name", METHODS)
def test_the_maps_of_every_method_rise_within_0_and_1(name, collection):
    made = calibrated(name, collection)

    for one in (made.added, made.given):
        assert (np.diff(one.scores) >= 0).all()
        assert (np.diff(one.values) >= 0).all()
        assert one.values.min() >= 0
        assert one.values.max() <= 1


def test_a_method_that_says_nothing_calls_no_given_tag_a_slip(collection):
    made = calibrated("original", collection)

    slips = calibration_module.INJECTED_RATE / (1 + calibration_module.INJECTED_RATE)
    assert made.given(np.ones(1)) == pytest.approx(1 - slips, abs=0.03)


def test_the_same_seed_gives_the_same_maps_and_another_one_others(collection):
    first, again = calibrated("tag-vote", collection), calibrated("tag-vote", collection)
    other = calibrated("tag-vote", collection, seed=6)

    np.testing.assert_array_equal(again.added.values, first.added.values)
    np.testing.assert_array_equal(again.given.scores, first.given.scores)
    assert not np.array_equal(other.given.scores, first.given.scores)


def test_shards_change_nothing(collection):
    expected = calibrated("tag-vote-own", collection)

    cut = calibrated("tag-vote-own", resharded(collection, 3, 500))

    points = np.linspace(-1, 2, 50)
    np.testing.assert_allclose(cut.added(points), expected.added(points), atol=1e-6)
    np.testing.assert_allclose(cut.given(points), expected.given(points), atol=1e-6)


def test_of_a_large_collection_some_blocks_are_looked_at(collection, monkeypatch):
    seen = []

    def looking(block: slice, *shared) -> object:
        seen.append(block.stop - block.start)
        return compare_scores(block, *shared)

    monkeypatch.setattr(calibration_module, "compare_scores", looking)
    monkeypatch.setattr(calibration_module, "MAX_IMAGES", 200)
    monkeypatch.setattr(calibration_module, "ROWS_PER_BLOCK", 50)

    calibrated("tag-prior", collection)

    assert sum(seen) == 200


def test_the_collection_does_not_change():
    collection, same = planted_collection(), planted_collection()

    calibrated("tag-vote-own", collection)

    before, after = same.shards[0], collection.shards[0]
    np.testing.assert_array_equal(after.tags.toarray(), before.tags.toarray())
    np.testing.assert_array_equal(after.features, before.features)
