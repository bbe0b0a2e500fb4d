"""What sugar-plus does as a whole, in worlds where the right answer is known."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy import sparse

from methods.sugar_plus.literal import SMALL, all_rows, fitted_to
from planted import accuracy, as_new, planted_collection, resharded, without_features
from sugartag.collection.build import collection_from_arrays
from sugartag.collection.synthetic import World
from sugartag.engine import LocalEngine
from sugartag.errors import SettingsError
from sugartag.methods.base import Calibrated, Explains, Updatable
from sugartag.methods.registry import make_method
from sugartag.methods.settings import with_settings
from sugartag.methods.sugar_plus import SugarPlus
from sugartag.methods.sugar_plus import model as model_module
from sugartag.methods.sugar_plus.calibration import DOUBT_BELOW
from sugartag.pipeline.fitting import fit_model
from sugartag.pipeline.model import load_model, save_model

NOTHING = sparse.csr_array((0, 0))
NOISY = World(n_images=1_500, n_tags=120, n_owners=150, random_noise=2.0, habits_per_owner=1.0)


@cache
def planted_model():
    return fitted_to(planted_collection(), SugarPlus())


@cache
def planted_scores():
    return planted_model().scores(all_rows(planted_collection()))


def doubted_share(model, collection):
    """Return the share of given tags that are doubted."""
    rows = all_rows(collection)
    row, tag = rows.tags.nonzero()
    chance = model.posterior(rows, model.scores(rows), row, tag)
    return float(np.mean(chance < model.thresholds().doubt[tag]))


@pytest.mark.parametrize("other", ["tag-prior", "original"])
@pytest.mark.parametrize("seed", [7, 11])
def test_it_finds_planted_tags_better_than_the_tags_as_given_or_their_frequency(other, seed):
    collection = planted_collection(seed)
    simple = make_method(other).fit(collection, engine=LocalEngine(), rng=np.random.default_rng(0))

    ours = accuracy(fitted_to(collection, SugarPlus()).scores(all_rows(collection)), collection)

    theirs = accuracy(simple.scores(all_rows(collection)), collection)
    assert ours[0] > theirs[0] + 0.2
    assert ours[1] > theirs[1] + 0.2


@pytest.mark.parametrize("seed", [5, 6])
def test_hidden_tags_are_ranked_far_better_than_by_chance_in_a_noisy_world(seed):
    made = NOISY.generate(seed)
    truth = made.truth_of(slice(0, made.n_images)).toarray() > 0
    number = {name: tag for tag, name in enumerate(made.tag_names)}
    concept = [number[name] for name in made.concept_names]
    given = all_rows(made).tags.toarray()[:, concept] > 0
    # The names of generated tags mean nothing.
    method = SugarPlus(name_similarity=0.0, name_prior=0.0)
    scores = fitted_to(made, method).scores(all_rows(made))[:, concept]

    hidden, absent = scores[truth & ~given], scores[~truth & ~given]

    rank = np.searchsorted(np.sort(absent), hidden) / len(absent)
    assert rank.mean() > 0.85


def test_two_fits_are_the_same():
    again = fitted_to(planted_collection(), SugarPlus())

    np.testing.assert_array_equal(again.scores(all_rows(planted_collection())), planted_scores())
    assert again.calibrator.recall == planted_model().calibrator.recall


@pytest.mark.parametrize(
    ("engine", "rows_at_once"),
    [(LocalEngine(workers=2), 8192), (LocalEngine(), 97), (LocalEngine(workers=2), 97)],
    ids=["workers", "blocks", "workers and blocks"],
)
def test_neither_workers_nor_blocks_matter(engine, rows_at_once):
    collection = replace(resharded(planted_collection(), 1, 250), rows_at_once=rows_at_once)

    model = fitted_to(collection, SugarPlus(), engine)

    found = model.scores(all_rows(collection))
    np.testing.assert_allclose(found, planted_scores(), atol=1e-4)


def test_scores_do_not_depend_on_how_many_are_computed_at_once(monkeypatch):
    monkeypatch.setattr(model_module, "CELLS_AT_ONCE", 1_000)

    found = planted_model().scores(all_rows(planted_collection()))

    np.testing.assert_allclose(found, planted_scores(), atol=1e-5)


def test_it_explains_and_calibrates_and_can_be_updated():
    model = planted_model()

    assert isinstance(model, Explains)
    assert isinstance(model, Calibrated)
    assert isinstance(model, Updatable)
    assert model.n_features == planted_collection().n_features
    assert model.floor == 0.0
    assert not model.gives_whole_sets


def test_with_strangers_only_it_does_not_matter_whose_an_image_is():
    collection = planted_collection()
    new = as_new(all_rows(collection), collection)
    strange = as_new(new, collection, owner=collection.nobody)

    mine = planted_model().scores(new, strangers_only=True)

    np.testing.assert_allclose(mine, planted_model().scores(strange), atol=1e-6)
    assert np.abs(mine - planted_model().scores(new)).max() > 0.005


def odd_worlds():
    """Return collections that have too little of something."""
    rng = np.random.default_rng(0)
    tags, owner = rng.random((60, 9)) < 0.3, np.arange(60) % 15
    features = rng.random((60, 5)).astype(np.float32)

    def made(tags=tags, owner=owner, features=features, groups=None):
        rows = sparse.csr_array(tags)
        return collection_from_arrays(rows, owner, features=features, groups=groups)

    return {
        "all owners unknown": made(owner=np.zeros(60, dtype=int), groups=NOTHING),
        "one owner": made(owner=np.zeros(60, dtype=int)),
        "an image each": made(owner=np.arange(60)),
        "no features": made(features=None),
        "zero features": made(features=np.zeros((60, 5), dtype=np.float32)),
        "constant features": made(features=np.ones((60, 5), dtype=np.float32)),
        "one image": made(tags=np.ones((1, 9)), owner=owner[:1], features=features[:1]),
        "one tag": made(tags=tags[:, :1]),
        "untagged images": made(tags=tags & (np.arange(60) < 20)[:, None]),
        "no tags given": made(tags=np.zeros((60, 9))),
        "each tag once": made(tags=np.eye(60)),
        "every tag": made(tags=np.ones((60, 9))),
    }


@pytest.mark.parametrize("world", list(odd_worlds()))
def test_odd_collections_are_fitted_and_scored_and_judged(world):
    collection = odd_worlds()[world]
    model, rows = fitted_to(collection, SugarPlus()), all_rows(collection)
    row, tag = (part.ravel() for part in np.indices((len(rows), collection.n_tags)))

    scores = model.scores(rows)
    chance = model.posterior(rows, scores, row, tag)

    assert scores.shape == (collection.n_images, collection.n_tags)
    assert np.isfinite(scores).all()
    assert ((chance > 0) & (chance < 1)).all()
    assert doubted_share(model, collection) == 0.0 if rows.tags.nnz else True
    new = as_new(rows, collection, owner=collection.nobody)
    assert np.isfinite(model.scores(new)).all()
    assert "explain" in model.evidence_summary() or "no looks" in model.evidence_summary()


@pytest.mark.parametrize("name", ["components", "max_predictors", "history", "neighbour_weight"])
def test_each_kind_of_evidence_can_be_left_out(small, rows, name):
    without = fitted_to(small, replace(SMALL, **{name: 0}))

    found = without.scores(rows)

    assert np.isfinite(found).all()
    assert np.abs(found - fitted_to(small).scores(rows)).max() > 0.01


def test_constant_features_say_as_little_as_none():
    collection = planted_collection()
    (shard,) = collection.shards
    same = replace(shard, features=np.ones_like(shard.features))

    constant = fitted_to(replace(collection, shards=(same,)), SugarPlus())

    bare = without_features(collection)
    none = fitted_to(bare, SugarPlus())
    assert constant.calibrator.worth.looks == pytest.approx(0.0, abs=1e-3)
    assert constant.calibrator.worth.everything == pytest.approx(
        none.calibrator.worth.everything, abs=0.005
    )


@pytest.mark.parametrize("seed", [7, 11, 12])
def test_where_features_are_noise_almost_nothing_is_doubted(seed):
    collection = planted_collection(seed)
    (shard,) = collection.shards
    noise = np.random.default_rng(seed).standard_normal(shard.features.shape)
    noisy = replace(collection, shards=(replace(shard, features=noise.astype(np.float32)),))

    model = fitted_to(noisy, SugarPlus())

    assert doubted_share(model, noisy) < 0.005
    assert model.calibrator.worth.looks < 0.02


def clear_world(rng, wrong):
    """Return images of 30 kinds that look unlike, tagged by kind, with some tags at random."""
    n, kinds = 6_000, 30
    kind = rng.integers(kinds, size=n)
    features = 3.0 * np.eye(kinds)[kind] + 0.3 * rng.standard_normal((n, kinds))
    tags, stray = np.eye(kinds)[kind] > 0, np.zeros((n, kinds), dtype=bool)
    planted = np.flatnonzero(rng.random(n) < wrong / (1.0 - wrong))
    stray[planted, rng.integers(kinds, size=len(planted))] = True
    stray &= ~tags
    made = collection_from_arrays(
        sparse.csr_array(tags | stray),
        rng.integers(200, size=n),
        features=features.astype(np.float32),
    )
    return made, stray


@cache
def wrong_and_doubted(seed, wrong):
    """Return which given tags of a clear world are wrong, the posterior of each, and the doubts."""
    made, stray = clear_world(np.random.default_rng(seed), wrong)
    model, rows = fitted_to(made, SugarPlus(max_predictors=0)), all_rows(made)
    row, tag = rows.tags.nonzero()
    posterior = model.posterior(rows, model.scores(rows), row, tag)
    return stray[row, tag], posterior, posterior < DOUBT_BELOW


@pytest.mark.parametrize("wrong", [0.15, 0.2])
@pytest.mark.parametrize("seed", range(3))
def test_wrong_tags_are_less_probable_than_right_ones_where_looks_tell_them(seed, wrong):
    is_wrong, posterior, doubted = wrong_and_doubted(seed, wrong)

    assert np.median(posterior[is_wrong]) < np.quantile(posterior[~is_wrong], 0.1) - 0.1
    assert not doubted.any() or is_wrong[doubted].mean() >= 0.8


@pytest.mark.parametrize("wrong", [0.2, 0.25])
def test_a_fifth_of_the_wrong_tags_is_doubted_where_looks_tell_them(wrong):
    parts = [wrong_and_doubted(seed, wrong) for seed in range(3)]

    is_wrong, _, doubted = (np.concatenate(part) for part in zip(*parts, strict=True))
    assert doubted[is_wrong].mean() >= 0.2


@pytest.mark.parametrize(
    ("key", "value", "rule"),
    [
        ("components", -1, "not be negative"),
        ("max_predictors", -1, "not be negative"),
        ("history", -1, "not be negative"),
        ("name_similarity", -0.1, "not be negative"),
        ("name_prior", -0.1, "not be negative"),
        ("neighbour_weight", -0.1, "not be negative"),
        ("own_weight", float("nan"), "not be negative"),
        ("visual_penalty", 0.0, "be above 0"),
        ("joint_penalty", 0.0, "be above 0"),
        ("tag_penalty", float("nan"), "be above 0"),
        ("neighbour_width", 0.0, "be above 0"),
        ("whitening", 1.1, "from 0 to 1"),
        ("visual_share", -0.1, "from 0 to 1"),
        ("spread_power", 2.0, "from 0 to 1"),
    ],
)
def test_settings_out_of_range_are_refused_by_name(key, value, rule):
    with pytest.raises(SettingsError, match=f"sugar-plus setting {key} is .*; it must .*{rule}"):
        SugarPlus(**{key: value})


def test_a_switch_says_yes_or_no():
    with pytest.raises(SettingsError, match="series_weighting"):
        with_settings(SugarPlus, {"series_weighting": "perhaps"})


def test_every_setting_is_validated():
    checked = {
        mark[0] for mark in test_settings_out_of_range_are_refused_by_name.pytestmark[0].args[1]
    }

    assert checked | {"series_weighting"} == set(SugarPlus.__dataclass_fields__) - {
        "name",
        "summary",
        "fitted_type",
    }


def test_without_series_weighting_all_images_count_the_same(small):
    model = fitted_to(small, replace(SMALL, series_weighting=False))

    assert (model.views.image_weight == 1.0).all()


def test_a_model_folder_gives_the_same_scores_and_posteriors(tmp_path, engine):
    collection = planted_collection()
    before = fit_model(SugarPlus(), collection, engine=engine, seed=0)

    save_model(before, tmp_path / "model")
    after = load_model(tmp_path / "model")

    rows = all_rows(collection)
    for some in (rows, as_new(rows, collection), as_new(rows, collection, owner=collection.nobody)):
        scores = after.fitted.scores(some)
        np.testing.assert_array_equal(scores, before.fitted.scores(some))
        row, tag = some.tags.nonzero()
        np.testing.assert_array_equal(
            after.fitted.posterior(some, scores, row, tag),
            before.fitted.posterior(some, scores, row, tag),
        )
    assert after.fitted.evidence_summary() == before.fitted.evidence_summary()
    np.testing.assert_array_equal(after.fitted.labels.toarray(), before.fitted.labels.toarray())
