"""Features may be missing, of half of the images or of all: what each method makes of it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from planted import accuracy, as_new, without_features
from sugartag.collection.model import Collection
from sugartag.collection.subset import hide_tags, inject_tags, some_images
from sugartag.engine import LocalEngine
from sugartag.errors import CollectionError
from sugartag.evaluation.protocol import evaluate, hidden_task
from sugartag.methods.registry import METHODS, make_method
from sugartag.pipeline.fitting import fit_model
from sugartag.pipeline.propose import Thresholds, propose

NEED_NONE = {"original", "tag-prior", "implicit-als", "sugar-plus"}
NEED_ALL = {"lslr", "ttc1", "ttc2"}
SETTINGS: dict[str, dict[str, Any]] = {
    "sugar-tc": {"image_clusters": 8, "user_clusters": 4, "units_per_cluster": 10}
}
with_all = pytest.mark.parametrize("name", sorted(METHODS))
with_some = pytest.mark.parametrize("name", sorted(set(METHODS) - NEED_ALL))
that_look = pytest.mark.parametrize(
    "name", sorted({"sugar-plus", *(set(METHODS) - NEED_ALL - NEED_NONE)})
)
ENGINE = LocalEngine()


def lacking(collection: Collection, lacks: np.ndarray) -> Collection:
    """Return the collection without the features of some images, whose rows hold rubbish."""
    ends = np.cumsum([0, *map(len, collection.shards)])
    shards = []
    for shard, start in zip(collection.shards, ends, strict=False):
        away = lacks[start : start + len(shard)]
        features = np.where(away[:, None], np.nan, shard.features)
        shards.append(replace(shard, features=features, has_features=~away))
    return replace(collection, shards=tuple(shards))


@pytest.fixture(scope="module")
def fits() -> dict[str, Any]:
    """What was fitted to the half collection, once for all tests."""
    return {}


@pytest.fixture
def fitted_to_half(fits: dict[str, Any], half: Collection) -> Callable[[str], Any]:
    def found(name: str) -> Any:
        if name not in fits:
            fits[name] = fitted(name, half)
        return fits[name]

    return found


@pytest.fixture(scope="module")
def away(collection: Collection) -> np.ndarray:
    return np.random.default_rng(5).random(collection.n_images) < 0.5


@pytest.fixture(scope="module")
def half(collection: Collection, away: np.ndarray) -> Collection:
    return lacking(collection, away)


@pytest.fixture(scope="module")
def none(collection: Collection) -> Collection:
    return lacking(collection, np.ones(collection.n_images, dtype=np.bool_))


def fitted(name: str, collection: Collection) -> Any:
    method = make_method(name, SETTINGS.get(name, {}))
    return method.fit(collection, engine=ENGINE, rng=np.random.default_rng(3))


def everything(collection: Collection) -> Any:
    return collection.rows(slice(0, collection.n_images))


def works(name: str, collection: Collection) -> None:
    """Fit, propose and evaluate, as the commands do."""
    few = some_images(collection, np.arange(0, collection.n_images, 4))
    method = make_method(name, SETTINGS.get(name, {}))
    model = fit_model(method, few, engine=ENGINE, seed=0)
    proposed = propose(model, few, engine=ENGINE, thresholds=Thresholds())
    changes = [change for changes in proposed for change in changes]
    task = hidden_task(few, 0.3, seed=0)
    found = evaluate(method, task, engine=ENGINE, rng=np.random.default_rng(0))
    lacking_ids = set(np.array(few.ids)[~few.described])

    assert lacking_ids & {change.image_id for change in changes}
    assert np.isfinite(found.metrics.map)


@with_all
def test_with_half_of_the_features_a_method_works_or_says_what_it_needs(
    name: str, half: Collection
) -> None:
    if name in NEED_ALL:
        with pytest.raises(CollectionError, match=f"{name} needs the features of every image"):
            fitted(name, half)
    else:
        works(name, half)


@with_all
def test_without_any_features_a_method_works_or_says_what_it_needs(
    name: str, none: Collection
) -> None:
    if name in NEED_NONE:
        works(name, none)
    else:
        with pytest.raises(CollectionError, match=f"{name} needs image features"):
            fitted(name, none)


@that_look
def test_images_with_features_are_judged_well_beside_those_without(
    name: str,
    collection: Collection,
    half: Collection,
    away: np.ndarray,
    fitted_to_half: Callable[[str], Any],
) -> None:
    seen = np.flatnonzero(~away)
    alone = some_images(collection, seen)

    beside = fitted_to_half(name).scores(everything(half))[seen]
    apart = fitted(name, alone).scores(everything(alone))

    assert accuracy(beside, alone)[1] > accuracy(apart, alone)[1] - 0.03


@with_some
def test_images_without_features_get_finite_scores_new_or_not(
    name: str, half: Collection, fitted_to_half: Callable[[str], Any]
) -> None:
    model, rows = fitted_to_half(name), everything(half)

    for some in (rows, as_new(rows, half)):
        for strangers_only in (False, True):
            assert np.isfinite(model.scores(some, strangers_only=strangers_only)).all()


@pytest.mark.parametrize("name", sorted(NEED_ALL))
def test_a_model_that_needs_all_features_refuses_images_without(
    name: str, collection: Collection, half: Collection
) -> None:
    with pytest.raises(CollectionError, match="needs the features of every image"):
        fitted(name, collection).scores(everything(half))


@pytest.mark.parametrize("name", ["tag-vote", "tag-vote-own", "tag-prop"])
def test_who_has_no_features_neither_votes_nor_is_voted_on(
    name: str, half: Collection, away: np.ndarray, fitted_to_half: Callable[[str], Any]
) -> None:
    ballots = fitted_to_half(name).voters_of(everything(half))

    assert np.diff(ballots.indptr)[away].max() == 0
    assert np.diff(ballots.indptr)[~away].min() > 0
    assert not away[ballots.indices].any()


@pytest.mark.parametrize("name", ["trvsc", "lr", "mrtf"])
def test_who_has_no_features_is_linked_to_nobody(
    name: str, half: Collection, away: np.ndarray, fitted_to_half: Callable[[str], Any]
) -> None:
    links = fitted_to_half(name).near.links(everything(half), strangers_only=False)

    assert np.diff(links.indptr)[away].max() == 0
    assert not away[links.indices].any()


def test_sugar_plus_learns_its_components_from_those_that_have_features(
    collection: Collection, half: Collection, away: np.ndarray, fitted_to_half: Callable[[str], Any]
) -> None:
    beside = fitted_to_half("sugar-plus").views.blocks.visual
    alone = some_images(collection, np.flatnonzero(~away))
    apart = fitted("sugar-plus", alone).views.blocks.visual

    np.testing.assert_allclose(beside.mean, apart.mean, atol=1e-6)
    np.testing.assert_allclose(beside.projection, apart.projection, atol=1e-3)


def test_sugar_plus_takes_an_image_without_features_for_the_average_one(
    half: Collection, away: np.ndarray, fitted_to_half: Callable[[str], Any]
) -> None:
    views = fitted_to_half("sugar-plus").views

    dense = views.blocks.transform(everything(half)).dense

    assert not dense[away, :-1].any()
    assert not np.isin(np.flatnonzero(away), views.neighbours.reference.image).any()


def test_sugar_plus_still_ranks_tags_by_other_tags_and_owner(
    collection: Collection, half: Collection, away: np.ndarray, fitted_to_half: Callable[[str], Any]
) -> None:
    blind = some_images(half, np.flatnonzero(away))
    truth = some_images(collection, np.flatnonzero(away))
    scores = fitted_to_half("sugar-plus").scores(everything(half))[away]
    chance = fitted_to_half("tag-prior").scores(everything(half))[away]

    assert blind.n_with_features == 0
    assert accuracy(scores, truth)[1] > accuracy(chance, truth)[1] + 0.2


def test_the_mask_is_carried_by_every_subset(half: Collection, away: np.ndarray) -> None:
    chosen = np.arange(0, half.n_images, 7)

    kept = [
        hide_tags(half, 0.3, seed=1).collection,
        inject_tags(half, 0.3, seed=1).collection,
        some_images(half, chosen),
    ]

    for found, expected in zip(kept, (~away, ~away, ~away[chosen]), strict=True):
        np.testing.assert_array_equal(found.described, expected)
    assert hide_tags(half, 0.3, seed=1).taken.n_with_features == 0


def test_rows_that_are_missing_are_read_as_zeros(half: Collection, away: np.ndarray) -> None:
    rows, gone = everything(half), np.flatnonzero(away)

    assert not rows.features[away].any()
    assert np.isfinite(rows.features).all()
    np.testing.assert_array_equal(rows.described, ~away)
    assert not half.features_at(gone).any()
    assert half.n_with_features == np.count_nonzero(~away)
    assert everything(without_features(half)).described.sum() == 0
    np.testing.assert_array_equal(rows.at(gone[:3]).described, [False] * 3)
