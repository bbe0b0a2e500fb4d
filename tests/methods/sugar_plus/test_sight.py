"""Sight: what is added, by whom an image is judged, and where it is learned at all."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit

from methods.sugar_plus.literal import all_rows, slips_of
from planted import as_new, without_features
from sugartag.collection.subset import without_truth
from sugartag.collection.synthetic import World
from sugartag.engine import LocalEngine
from sugartag.evaluation.protocol import evaluate, truth_task
from sugartag.linalg.logistic import logistic_weights
from sugartag.methods.registry import make_method
from sugartag.methods.sugar_plus import looked_at, seeing
from sugartag.methods.sugar_plus.belief import learned_belief
from sugartag.methods.sugar_plus.images import chosen_images
from sugartag.methods.sugar_plus.learning import tags_as_given
from sugartag.methods.sugar_plus.looked_at import SIGHT_FOLDS, Directions, LookedAt
from sugartag.methods.sugar_plus.ridge import Ridge
from sugartag.methods.sugar_plus.seeing import STRENGTHS, Explained, best_of
from sugartag.methods.sugar_plus.sight import Odds, Sight
from sugartag.methods.sugar_plus.sums import add_up
from sugartag.methods.sugar_plus.weighing import Heard

NOISY = World(
    n_images=1_500, n_tags=120, n_owners=150, n_features=48, random_noise=2.0, habits_per_owner=2.0
)


def fit(collection, **settings):
    method = make_method("sugar-plus", {"anchors": 100} | settings)
    return method.fit(collection, engine=LocalEngine(), rng=np.random.default_rng(0))


@pytest.fixture(scope="module")
def collection():
    return NOISY.generate(3)


@pytest.fixture(scope="module")
def fitted(collection):
    return fit(collection)


@pytest.fixture
def drawn():
    """Sight of all folds, five features and the tags 3 to 9, drawn at random."""
    rng = np.random.default_rng(1)
    directions = Directions(
        rng.normal(size=5).astype(np.float32), rng.normal(size=(5, 4)).astype(np.float32), True
    )
    weights = rng.normal(size=(SIGHT_FOLDS, 5, 7)).astype(np.float32)
    odds = Odds(0.0, 0.5, np.array([-3.0, -1.0, 2.0], dtype=np.float32))
    return Sight(directions, np.arange(3, 10), weights, odds, odds, 1_500, 150)


def literally(sight, rows, weights):
    """What one image after the other looks like, by its own weights."""
    length = np.linalg.norm(rows.features, axis=1, keepdims=True)
    features = rows.features / np.where(length > 0, length, 1.0)
    seen = (features - sight.directions.middle) @ sight.directions.axes
    return np.einsum("ij,ijk->ik", np.column_stack([seen, np.ones(len(seen))]), weights)


def with_five_features(rows):
    return replace(rows, features=np.asarray(rows.features)[:, :5])


def test_images_are_judged_by_the_regression_that_did_not_see_their_owner(drawn, collection):
    rows = with_five_features(all_rows(collection))

    found = drawn.said(rows)

    by_fold = drawn.weights[rows.owner % SIGHT_FOLDS]
    np.testing.assert_allclose(found[:, 3:10], literally(drawn, rows, by_fold), atol=1e-5)
    assert not np.delete(found, np.s_[3:10], axis=1).any()


def test_new_images_are_judged_by_the_mean_of_all(drawn, collection):
    rows = as_new(with_five_features(all_rows(collection)), collection)

    found = drawn.said(rows)

    mean = np.broadcast_to(drawn.weights.mean(axis=0), (len(rows), *drawn.weights.shape[1:]))
    np.testing.assert_allclose(found[:, 3:10], literally(drawn, rows, mean), atol=1e-5)


def test_what_is_said_becomes_log_odds_to_which_looks_are_added(drawn, collection):
    rows = with_five_features(all_rows(collection))
    said = np.random.default_rng(2).normal(size=rows.tags.shape, scale=0.7).astype(np.float32)
    odds = said.copy()

    drawn.complete(odds, rows)

    before = np.interp(said, [0.0, 0.5, 1.0], [-3.0, -1.0, 2.0])
    # The end of the last step is never quite reached.
    np.testing.assert_allclose(odds, before + drawn.said(rows), atol=0.01)


def test_log_odds_are_those_of_a_belief_and_never_quite_sure():
    rng = np.random.default_rng(4)
    evidence = rng.normal(size=(400, 30), scale=0.3).astype(np.float32)
    given = rng.random(evidence.shape) < 0.7 * expit(9.0 * evidence - 2.0)
    belief = learned_belief(evidence, given, given.astype(np.float32), slips_of(30, 0.01))

    found = Odds.of(belief).at(evidence)

    chance = belief.prior(evidence.copy())
    sure = (chance <= 1e-4) | (chance >= 0.99)
    np.testing.assert_allclose(found[~sure], logit(chance[~sure]), atol=0.02)
    assert found.min() >= logit(1e-4) - 1e-3
    assert found.max() <= logit(0.99) + 1e-3


def test_a_forged_curve_is_refused(drawn, collection):
    rows = with_five_features(all_rows(collection))
    said = np.zeros(rows.tags.shape, dtype=np.float32)

    for forged in ({"values": np.zeros(1, np.float32)}, {"step": 0.0}, {"low": np.nan}):
        with pytest.raises(ValueError, match="do not fit together"):
            replace(drawn, by_all=replace(drawn.by_all, **forged)).complete(said, rows)


@pytest.mark.parametrize("tags", [np.arange(114, 121), np.arange(-1, 6), np.arange(6)])
def test_tags_that_nobody_has_are_refused(drawn, collection, tags):
    """As those of a forged model: they would be written beside the array."""
    rows = with_five_features(all_rows(collection))

    with pytest.raises(ValueError, match="do not fit together"):
        replace(drawn, tags=tags).said(rows)


def with_other_tags(collection, images, rng):
    """Return the same collection with the tags of some images exchanged among them."""
    (shard,) = collection.shards
    source = np.arange(len(shard))
    source[images] = rng.permutation(images)
    return replace(collection, shards=(replace(shard, tags=shard.tags[source]),))


def as_if_fitted_on(fitted, collection):
    """Return the model with a regression on a collection whose given tags are all believed."""
    trusted = tags_as_given(collection)
    sums = add_up(collection, fitted.evidence, trusted, engine=LocalEngine())
    penalty = fitted.choice.penalties(fitted.evidence)
    ridge = Ridge.solved(sums, fitted.evidence, penalty, fitted.ridge.owner_variance)
    return replace(fitted, ridge=ridge, trusted=trusted)


def test_no_image_has_a_say_about_itself(collection, fitted):
    """What judges a fold is the same whatever its tags are, that of others is not."""
    every, mine = LookedAt.of(collection, True), collection.owner % SIGHT_FOLDS == 2
    changed = with_other_tags(collection, np.flatnonzero(mine), np.random.default_rng(0))

    def learned(some):
        model = as_if_fitted_on(fitted, some)
        return seeing.learned_sights(model, some, every, engine=LocalEngine())[0].weights

    before, after = learned(collection), learned(changed)

    np.testing.assert_allclose(before[2], after[2], atol=1e-3)
    assert np.abs(before[3] - after[3]).max() > 0.05


def unseeing(fitted):
    """Return the model as it was before sight was learned, but for what evidence means."""
    return replace(fitted, sight=None, whole=fitted.manners.alone, of_strangers=None)


def test_every_use_that_nothing_explains_is_wrong_where_sight_learns(collection, fitted):
    """Or it would learn to look for what images do not show."""
    blind, rows = unseeing(fitted), all_rows(collection)
    harsh = blind.whole.slips.all_wrong()

    odds, chances = blind.odds_and_chances(rows)

    belief = replace(blind.whole, slips=harsh)
    strict = replace(blind, whole=belief, manners=replace(blind.manners, alone=belief))
    np.testing.assert_allclose(chances, strict.scores(rows), atol=1e-5)
    given = rows.tags.toarray() > 0
    assert (chances[given] < blind.scores(rows)[given] - 0.1).any()
    lacking = chances[~given] / (1.0 - chances[~given])
    left = (1.0 - belief.recall) / (1.0 - belief.slips.rate)
    expected = (np.exp(odds.astype(float)) * left)[~given]
    # No other evidence is taken to be surer than one in ten thousand.
    some = expected > 2e-4
    np.testing.assert_allclose(lacking[some], expected[some], rtol=0.05)


def test_a_model_without_images_is_regressed_on_the_others_alone(collection, fitted):
    images = np.flatnonzero(collection.owner % 5 == 1)
    rest = np.setdiff1d(np.arange(collection.n_images), images)
    whole = as_if_fitted_on(fitted, collection)

    found = seeing.without_images(whole, collection, images, engine=LocalEngine()).ridge

    expected = as_if_fitted_on(fitted, chosen_images(collection, rest)).ridge
    np.testing.assert_allclose(found.weights, expected.weights, atol=1e-4)
    np.testing.assert_allclose(found.share, expected.share, atol=1e-6)
    assert found.n_images == collection.n_images
    nobody = np.zeros(0, dtype=np.int64)
    assert seeing.without_images(whole, collection, nobody, engine=LocalEngine()) is whole


def test_of_tags_that_belong_those_given_do_not_look_righter_than_those_missing():
    """A tag that was given must not make its own image look more like it."""
    clear = World(
        n_images=3_000,
        n_tags=150,
        n_owners=300,
        n_concepts=120,
        missing_share=0.5,
        visual_difficulty=0.6,
    )
    collection = clear.generate(2)
    fitted = fit(without_truth(collection))
    rows = all_rows(collection)
    tag = [collection.tag_names.index(name) for name in collection.concept_names]
    said = fitted.sight.said(rows)[:, tag]
    right = collection.truth_of(slice(0, collection.n_images)).toarray() > 0
    given = rows.tags.toarray()[:, tag] > 0

    surest = right & (said >= np.quantile(said[right], 0.8))

    n_surest = np.count_nonzero(surest)
    assert given[surest].mean() == pytest.approx(0.5, abs=3.0 * 0.5 / n_surest**0.5)


def test_sight_finds_more_of_the_truth_in_a_noisy_world():
    clear = replace(NOISY, n_images=2_500, n_owners=250, visual_difficulty=1.0, owner_style=0.2)
    task = truth_task(clear.generate(4))

    def measured(**settings):
        method = make_method("sugar-plus", {"anchors": 100} | settings)
        return evaluate(method, task, engine=LocalEngine(), rng=np.random.default_rng(0)).metrics

    with_it, without = measured(), measured(sight=False)

    assert with_it.map > without.map + 0.01
    assert with_it.miap > without.miap + 0.01


def test_some_of_what_is_special_is_believed_and_all_of_what_is_usual(drawn, collection):
    rows = as_new(with_five_features(all_rows(collection)), collection)

    half = drawn.weakened(0.5)

    usual = drawn.usual(rows.tags.shape[1])
    np.testing.assert_allclose(usual[3:10], drawn.weights[:, -1].mean(axis=0), rtol=1e-5)
    assert not np.delete(usual, np.s_[3:10]).any()
    expected = usual + 0.5 * (drawn.said(rows) - usual)
    np.testing.assert_allclose(half.said(rows), expected, atol=1e-5)


def test_it_is_not_learned_where_nobody_wants_it_or_nothing_is_to_be_seen(collection, fitted):
    assert fitted.sight is not None
    assert fitted.alone is fitted.of_strangers
    blind = fit(collection, sight=False, subjects=0)
    assert blind.sight is None
    assert blind.alone is blind.manners.alone
    assert fit(without_features(collection)).sight is None


@pytest.mark.parametrize("recall", [0.5, 0.6, 0.8])
def test_log_odds_tell_the_recall_and_chances_do_not(recall):
    """Where sight is sure its chance ends, but the share of tags that belong goes on rising."""
    rng = np.random.default_rng(0)
    odds = rng.normal(scale=2.8, size=(12_000, 30)) - 5.0
    given = (rng.random(odds.shape) < expit(odds)) & (rng.random(odds.shape) < recall)
    uses = given, given.astype(np.float32), slips_of(30, 0.0)

    by_odds, by_chances = (learned_belief(said, *uses) for said in (odds, expit(odds)))

    assert by_odds.recall == pytest.approx(recall, abs=0.03)
    assert by_chances.recall > recall + 0.03


def test_people_have_one_recall_whoever_owns_the_image(fitted):
    """It is told from all evidence, and not again from that of the image alone."""
    assert fitted.whole.recall == fitted.of_strangers.recall


def test_nothing_is_seen_where_all_images_look_the_same(collection):
    shards = tuple(
        replace(shard, features=np.ones_like(shard.features)) for shard in collection.shards
    )

    assert fit(replace(collection, shards=shards), anchors=0).sight is None


def test_it_is_learned_of_the_tags_most_used_and_says_nothing_of_others(
    collection, fitted, monkeypatch
):
    monkeypatch.setattr(looked_at, "CELLS", 50 * collection.n_images)
    some = LookedAt.of(collection, True)

    for found in seeing.learned_sights(fitted, collection, some, engine=LocalEngine()):
        said = found.said(all_rows(collection))
        others = np.setdiff1d(np.arange(collection.n_tags), some.tags)
        assert len(some.tags) == 50
        assert not said[:, others].any()
        assert np.abs(said[:, some.tags]).max(axis=0).min() > 0.01


def test_of_many_images_some_are_looked_at_and_judged_by_the_regression_of_all(
    collection, fitted, monkeypatch
):
    monkeypatch.setattr(looked_at, "IMAGES", 768)
    monkeypatch.setattr(looked_at, "ROWS_PER_BLOCK", 256)
    some, blind, engine = LookedAt.of(collection, True), unseeing(fitted), LocalEngine()

    sights = seeing.learned_sights(blind, collection, some, engine=engine)

    rows = all_rows(collection).at(some.position)
    (odds, chances), fold = blind.odds_and_chances(rows), rows.owner % SIGHT_FOLDS
    assert len(rows) == 768 - 36
    for found, penalty in zip(sights, seeing.PENALTIES, strict=True):
        for one in range(SIGHT_FOLDS):
            others = fold != one
            known = some.seen[others], chances[others], penalty, seeing.STEPS
            expected = logistic_weights(*known, known=odds[others])
            np.testing.assert_allclose(found.weights[one], expected, atol=1e-3)
        assert found.said(all_rows(collection)).any(axis=1).all()


def uses_of(odds, recall, slips, rng):
    """Return uses of tags that belong by these log odds, and what was heard of them."""
    chance = slips.rate + (recall - slips.rate) * expit(odds)
    given = rng.random(odds.shape) < chance
    said = np.zeros_like(odds, dtype=np.float32)
    return Heard(said, said, given, given.astype(np.float32), slips)


def test_the_strength_is_what_explains_given_tags_best():
    rng, slips = np.random.default_rng(2), slips_of(40, 0.01)
    odds, seen = (rng.normal(size=(600, 40)).astype(np.float32) for _ in range(2))

    usual = rng.normal(size=40).astype(np.float32)

    for strength in STRENGTHS:
        heard = uses_of(odds + usual + strength * seen, 0.6, slips, rng)
        misfits = Explained.by(heard, odds, 0.6).misfits(usual + seen, usual)
        assert best_of([misfits]) == (0, strength)
        chance = 0.01 + 0.59 * expit((odds + usual + strength * seen).astype(float))
        expected = -np.log(np.where(heard.given, chance, 1 - chance)).sum()
        assert misfits[strength] == pytest.approx(expected, rel=1e-5)


def test_what_hardly_explains_more_than_nothing_is_not_looked_at():
    assert best_of([{0.0: 1_000.0, 0.5: 998.5}, {0.0: 1_200.0, 0.5: 999.0}]) == (0, 0.5)
    assert best_of([{0.0: 1_000.0, 0.5: 999.5}, {0.0: 1_200.0, 0.5: 999.6}])[1] == 0.0
    assert best_of([{0.0: 1_000.0, 0.5: 999.5}, {0.0: 1_200.0, 0.5: 900.0}]) == (1, 0.5)


def test_what_was_given_by_habit_need_not_be_explained():
    rng, slips = np.random.default_rng(3), slips_of(40, 0.01)
    odds, seen = (rng.normal(size=(600, 40)).astype(np.float32) for _ in range(2))
    heard = uses_of(odds, 0.6, slips, rng)
    habit, nothing = (rng.random(odds.shape) < 0.5) & (seen > 1.0), np.zeros(40, np.float32)
    honest = heard.given.astype(np.float32)

    stamped = replace(heard, given=heard.given | habit)

    as_habits, as_uses = (
        best_of([Explained.by(replace(stamped, honest=uses), odds, 0.6).misfits(seen, nothing)])[1]
        for uses in (honest, (stamped.given).astype(np.float32))
    )
    assert as_habits == 0.0
    assert as_uses > 0.0


def test_of_images_some_are_enough_to_try_strengths_on(monkeypatch):
    rng, slips = np.random.default_rng(5), slips_of(40, 0.01)
    odds, seen = (rng.normal(size=(600, 40)).astype(np.float32) for _ in range(2))
    heard = uses_of(odds + seen, 0.6, slips, rng)
    monkeypatch.setattr(seeing, "TRIED_CELLS", 300 * 40)

    nothing = np.zeros(40, np.float32)

    of_some = Explained.by(heard, odds, 0.6).misfits(seen, nothing)

    some = replace(heard, given=heard.given[::2], honest=heard.honest[::2])
    assert of_some == Explained.by(some, odds[::2], 0.6).misfits(seen[::2], nothing)
