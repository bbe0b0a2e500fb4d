"""What sugar-plus does as a whole, in worlds where the right answer is known."""

from functools import cache

import numpy as np
import pytest
from scipy import sparse

from methods.sugar_plus.literal import all_rows
from planted import as_new
from sugartag.collection.build import collection_from_arrays
from sugartag.collection.synthetic import World
from sugartag.engine import LocalEngine
from sugartag.errors import SettingsError
from sugartag.evaluation.protocol import evaluate, hidden_task, truth_task
from sugartag.evaluation.verdicts import Said, count_verdicts
from sugartag.methods.registry import make_method
from sugartag.methods.settings import with_settings
from sugartag.methods.sugar_plus import SugarPlus
from sugartag.methods.sugar_plus.habit_odds import RATES
from sugartag.methods.sugar_plus.learning import best_threshold

NOISY = World(n_images=1_500, n_tags=120, n_owners=150, random_noise=2.0, habits_per_owner=2.0)
PLAIN = World(n_images=1_500, n_tags=120, n_owners=150)
STAMPED = World(
    n_images=1_500, n_tags=120, n_owners=100, random_noise=0.5, habits_per_owner=4.0, habit_rate=0.8
)
STAMPING = World(n_images=1_500, n_tags=120, n_owners=60, habits_per_owner=4.0, habit_rate=0.7)
"""A world of few owners, each of whom stamps four tags on most images."""
FAITHFUL = World(
    n_images=1_500,
    n_tags=120,
    n_owners=40,
    random_noise=2.0,
    habits_per_owner=2.0,
    interests_per_owner=1,
    interest_strength=0.95,
    visual_difficulty=3.0,
)
"""A world of owners with one interest each, whose images are hard to tell apart."""
HARD = World(n_images=2_500, n_tags=150, n_owners=250, visual_difficulty=4.0, owner_style=1.0)
"""A world in which looks say little, and other tags and images much."""
FEW = {"anchors": 100}


@cache
def task_of(world, seed):
    return truth_task(world.generate(seed))


def measured(name, task, **settings):
    method = make_method(name, settings)
    return evaluate(method, task, engine=LocalEngine(), rng=np.random.default_rng(0)).metrics


def fitted_to(collection, **settings):
    method = make_method("sugar-plus", FEW | settings)
    return method.fit(collection, engine=LocalEngine(), rng=np.random.default_rng(0))


@cache
def whole(world, seed):
    return measured("sugar-plus", task_of(world, seed), **FEW)


@pytest.fixture(scope="module")
def fitted(collection):
    return fitted_to(collection)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("anchors", "-1"),
        ("max_predictors", "-1"),
        ("tastes", "-3"),
        ("kernel_width", "0"),
        ("anchor_ridge", "0"),
        ("tag_ridge", "-2"),
        ("tag_ridge", "nan"),
        ("owner_variance", "-0.1"),
        ("owner_variance", "nan"),
        ("history", "-1"),
        ("trust_rounds", "-1"),
        ("look_alike_width", "nan"),
        ("look_alike_width", "0"),
        ("interests", "perhaps"),
        ("subjects", "-1"),
    ],
)
def test_settings_out_of_range_are_refused(key, value):
    with pytest.raises(SettingsError, match=key):
        with_settings(SugarPlus, {key: value})


@pytest.mark.parametrize("name", ["kernel_width", "anchor_ridge", "tag_ridge"])
def test_what_is_none_is_chosen_and_what_is_set_is_kept(collection, name):
    assert getattr(fitted_to(collection, **{name: 0.7}).choice, name) == 0.7
    assert getattr(fitted_to(collection, **{name: "none"}).choice, name) > 0


def test_it_finds_the_truth_better_than_a_vote_and_its_own_tags_in_a_noisy_world():
    ours, vote = whole(NOISY, 5), measured("tag-vote-own", task_of(NOISY, 5))

    assert ours.map > vote.map + 0.02
    assert ours.miap > vote.miap + 0.02
    assert ours.f_top[5] > vote.f_top[5] + 0.02


@pytest.mark.parametrize("seed", [5, 6])
@pytest.mark.parametrize(
    ("world", "off", "gain"),
    [
        (STAMPING, {"anchors": 0}, 0.025),
        (STAMPING, {"owner_variance": 0.0}, 0.02),
        (STAMPING, {"trust_rounds": 0}, 0.008),
        (HARD, {"subjects": 0}, 0.02),
    ],
    ids=["anchors", "owner effects", "trust", "subjects"],
)
def test_each_part_that_is_on_by_default_earns_its_place(seed, world, off, gain):
    without = measured("sugar-plus", task_of(world, seed), **(FEW | off))

    assert whole(world, seed).map > without.map + gain
    assert whole(world, seed).miap > without.miap + gain


@pytest.mark.parametrize("seed", [5, 6])
def test_interests_earn_their_place_where_subjects_are_not_learned(seed):
    task, settings = task_of(FAITHFUL, seed), FEW | {"subjects": 0}

    with_them = measured("sugar-plus", task, **settings)
    without = measured("sugar-plus", task, **settings, interests=False)

    assert with_them.map > without.map + 0.005
    assert with_them.miap > without.miap + 0.005


def test_the_owners_history_finds_hidden_tags_where_owners_upload_series():
    rng = np.random.default_rng(0)
    subject = np.repeat(np.arange(60), 10)
    owner = subject // 3
    features = rng.random((60, 16))[subject] + 0.1 * rng.random((600, 16))
    favourite = rng.integers(20, size=60)[subject]
    tags = np.zeros((600, 20))
    tags[np.arange(600), favourite] = rng.random(600) < 0.8
    tags[np.arange(600), rng.integers(20, size=600)] = 1
    made = collection_from_arrays(
        sparse.csr_array(tags), owner, features=features.astype(np.float32)
    )
    task = hidden_task(made, 0.3, 0)

    with_history = measured("sugar-plus", task, anchors=10).map
    without = measured("sugar-plus", task, anchors=10, history=0).map

    assert with_history > without + 0.05


@pytest.mark.parametrize("seed", [5, 6])
@pytest.mark.parametrize(("world", "error"), [(PLAIN, 0.05), (STAMPED, 0.07)])
def test_probabilities_come_true(world, error, seed):
    made = world.generate(seed)
    number = {name: tag for tag, name in enumerate(made.tag_names)}
    concepts = [number[name] for name in made.concept_names]
    rows = all_rows(made)
    chance = fitted_to(truth_task(made).given).scores(rows)[:, concepts]
    given = rows.tags.toarray()[:, concepts] > 0
    right = made.truth_of(slice(0, len(rows))).toarray() > 0

    candidates = np.argsort(np.where(given, -1.0, chance), axis=1)[:, :-21:-1]
    judged = given.copy()
    np.put_along_axis(judged, candidates, values=True, axis=1)
    said = np.where(given, Said.KEEP, Said.ADD)[judged]
    found = count_verdicts(chance[judged], said, right[judged], missing=0).measures()

    assert found["ece_given"] <= error
    assert found["ece_added"] <= error


def stamped_world(rng, slip=0.03):
    """Return 60 owners with 12 images each of which five stamp tag 0 on all they upload.

    All slip now and then. Which images are stamped, and which have the tag for a reason?
    """
    owner = np.repeat(np.arange(60), 12)
    topic = rng.integers(6, size=720)
    features = rng.standard_normal((6, 20))[topic] + 0.5 * rng.standard_normal((720, 20))
    tags = np.hstack([np.eye(6)[topic] * (rng.random((720, 1)) < 0.7) for _ in range(2)])
    stamped = (owner < 5) & (topic != 0)
    honest = (owner >= 5) & (tags[:, 0] > 0)
    tags[rng.random(tags.shape) < slip] = 1
    tags[stamped, 0] = 1
    made = collection_from_arrays(sparse.csr_array(tags), owner, features=features)
    return made, stamped, honest


def test_tags_stamped_by_habit_are_doubted_and_others_are_kept():
    made, stamped, honest = stamped_world(np.random.default_rng(1))

    fitted = fitted_to(made, anchors=20)
    chance = fitted.scores(all_rows(made))[:, 0]

    assert chance[stamped].max() < 0.35
    assert chance[honest].min() > 0.8
    assert fitted.trusted[:, [0]].toarray()[stamped].max() < 0.35


def test_where_nobody_slips_what_an_owner_always_says_is_kept():
    made, stamped, honest = stamped_world(np.random.default_rng(1), slip=0.0)

    chance = fitted_to(made, anchors=20).scores(all_rows(made))[:, 0]

    assert chance[stamped].min() > 0.6
    assert chance[honest].min() > 0.8


def test_a_tag_stamped_by_its_owner_is_believed_less_than_the_same_tag_of_a_stranger():
    made, stamped, _ = stamped_world(np.random.default_rng(1))
    rows = all_rows(made)
    fitted = fitted_to(made, anchors=20)

    by_owner = fitted.scores(as_new(rows, made))[stamped, 0]
    by_stranger = fitted.scores(as_new(rows, made, owner=made.nobody))[stamped, 0]

    # What hardly anybody would believe anyway is not told apart so finely.
    assert (by_owner < np.maximum(by_stranger, 0.001)).all()
    assert by_owner.mean() < 0.1 * by_stranger.mean()


def test_with_strangers_only_it_does_not_matter_whose_an_image_is(collection):
    fitted = fitted_to(collection, tastes=0)
    new = as_new(all_rows(collection), collection)
    strangers = as_new(new, collection, owner=collection.nobody)

    mine = fitted.scores(new, strangers_only=True)

    np.testing.assert_allclose(mine, fitted.scores(strangers, strangers_only=True), atol=1e-6)
    assert np.abs(mine - fitted.scores(new)).max() > 0.1


def test_images_of_unknown_owners_are_judged_as_by_strangers(collection, fitted):
    strangers = as_new(all_rows(collection), collection, owner=collection.nobody)

    found = fitted.scores(strangers)

    np.testing.assert_array_equal(found, fitted.scores(strangers, strangers_only=True))


@pytest.mark.parametrize("size", [1, 37])
def test_scores_do_not_depend_on_how_images_are_cut(collection, fitted, size):
    rows = all_rows(collection)
    together = fitted.scores(rows)

    for start in range(0, 120, size):
        part = fitted.scores(rows.at(np.arange(start, start + size)))
        np.testing.assert_allclose(part, together[start : start + size], atol=5e-5)


def test_the_floor_is_where_the_expected_f_is_highest(collection, fitted):
    assert fitted.floor == pytest.approx(best_threshold(fitted.scores(all_rows(collection))))
    assert 0.2 < fitted.floor < 0.6


def by_bayes_rule(belief, said, habits, given):
    """Return the probability that tags belong: that it is given has two independent reasons."""
    b = belief.prior(said.copy()).astype(float)
    lacking = [(1 - reason) * (1 - habits) for reason in (belief.recall, belief.slips.rate)]
    if_right, if_not = (np.where(given, 1 - part, part) for part in lacking)
    unexplained = (1 - b) * if_not / (b * if_right + (1 - b) * if_not)
    return np.where(given, 1 - belief.slips.wrong * unexplained, 1 - unexplained)


def with_looks(odds, said, fitted, rows):
    """Return the log odds of what is said, and what the image looks like added to them."""
    places = odds.low + odds.step * np.arange(len(odds.values))
    found = np.interp(said, places, odds.values) + fitted.sight.said(rows)
    return found.astype(np.float32)


def test_scores_are_bayes_rule_of_all_evidence_and_of_the_image_alone_for_strangers(
    collection, fitted
):
    rows = all_rows(collection)
    given = rows.tags.toarray() > 0
    content = fitted.ridge.judge(rows, fitted.trusted)
    alike = fitted.look_alikes.judge(rows, fitted.evidence).excess
    about, about_itself = (fitted.subjects.said(rows, strangers_only=k) for k in (False, True))
    others = fitted.alike_weight * alike + fitted.interest_weight * content.interest
    said = with_looks(fitted.sight.by_all, content.excess + others + about, fitted, rows)
    by_itself = with_looks(fitted.sight.by_itself, content.excess + about_itself, fitted, rows)
    seen, at = np.ones(len(rows), dtype=np.float32), rows.tags.nonzero()
    stamps = np.zeros(said.shape)
    stamps[at] = fitted.manners.stamps(rows, rows.tags, content.excess[at], seen)

    found, by_strangers = fitted.scores(rows), fitted.scores(rows, strangers_only=True)

    assert fitted.alike_weight > 0
    assert fitted.subjects.strength > 0
    known = collection.owner < collection.nobody
    expected = by_bayes_rule(fitted.whole, said.astype(np.float32), stamps, given)
    np.testing.assert_allclose(found[known], expected[known], atol=5e-5)
    alone = fitted.alone
    usual = fitted.manners.habits.weight @ RATES
    expected = by_bayes_rule(alone, by_itself, np.full(said.shape, usual), given)
    np.testing.assert_allclose(by_strangers[known], expected[known], atol=5e-5)


def odd_worlds():
    rng = np.random.default_rng(0)
    tags = rng.random((60, 9)) < 0.3
    features = rng.random((60, 5)).astype(np.float32)
    nobody = sparse.csr_array((0, 0))
    owner = np.arange(60) % 15

    def made(tags=tags, owner=owner, features=features, groups=None):
        rows = sparse.csr_array(tags)
        return collection_from_arrays(rows, owner, features=features, groups=groups)

    return {
        "no owners": made(owner=np.zeros(60, dtype=int), groups=nobody),
        "one owner": made(owner=np.zeros(60, dtype=int)),
        "an image each": made(owner=np.arange(60)),
        "no features": made(features=None),
        "no tags": made(tags=np.zeros((60, 9))),
        "each tag once": made(tags=np.eye(60)),
        "every tag": made(tags=np.ones((60, 9))),
        "twins": made(features=np.ones((60, 5), dtype=np.float32)),
        "one image": made(tags=np.ones((1, 9)), owner=owner[:1], features=features[:1]),
    }


@pytest.mark.parametrize("name", odd_worlds())
def test_any_collection_can_be_judged(name):
    world = odd_worlds()[name]
    fitted = fitted_to(world)

    for strangers_only in (False, True):
        for rows in (all_rows(world), as_new(all_rows(world), world, owner=world.nobody)):
            found = fitted.scores(rows, strangers_only=strangers_only)
            assert found.shape == (world.n_images, world.n_tags)
            assert ((found >= 0) & (found <= 1)).all()
