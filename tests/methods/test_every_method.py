"""What every method keeps to. A new method is one line in the registry and one in FLOORS."""

import ast
import dataclasses
import functools
import hashlib
import inspect
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from planted import (
    NEVER_USED,
    OF_GROUPLESS,
    OF_NOBODY,
    OF_ONE_IMAGE,
    UNTAGGED,
    accuracy,
    as_new,
    planted_collection,
    resharded,
    without_features,
)
from sugartag.collection.model import Collection
from sugartag.collection.texts import Texts
from sugartag.engine import Engine, LocalEngine
from sugartag.errors import CollectionError
from sugartag.methods.registry import METHODS, make_method
from sugartag.methods.settings import with_settings

FLOORS: dict[str, tuple[float, float]] = {
    "original": (0.47, 0.51),
    "trvsc": (0.80, 0.85),
    "lr": (0.79, 0.84),
    "nmc": (0.82, 0.87),
    "lslr": (0.77, 0.82),
    "mrtf": (0.79, 0.84),
    "ttc1": (0.68, 0.74),
    "ttc2": (0.68, 0.74),
    "sugar-tc": (0.38, 0.61),
    "sugar-plus": (0.78, 0.85),
    "tag-vote": (0.61, 0.73),
    "tag-vote-own": (0.78, 0.85),
    "tag-prop": (0.67, 0.76),
    "linear-probe": (0.81, 0.87),
    "implicit-als": (0.21, 0.40),
    "tag-prior": (0.10, 0.26),
}
"""The MAP and the MiAP that a method reaches on planted collections of every seed, just below the
least measured."""
SEEDS = (7, 11, 12)
SETTINGS: dict[str, dict[str, Any]] = {
    "sugar-tc": {"image_clusters": 8, "user_clusters": 4, "units_per_cluster": 10}
}
"""Settings that suit 600 images better than a method's defaults."""
WORKS_WITHOUT_FEATURES = {"original", "tag-prior", "implicit-als", "sugar-plus"}
WINNERS = [
    ("original", "tag-prior"),
    ("trvsc", "tag-vote"),
    ("lr", "tag-vote"),
    ("nmc", "tag-vote"),
    ("lslr", "tag-vote"),
    ("mrtf", "tag-vote"),
    ("ttc1", "tag-prior"),
    ("ttc2", "tag-prior"),
    ("sugar-tc", "tag-prior"),
    ("sugar-plus", "tag-vote"),
    ("implicit-als", "tag-prior"),
    ("tag-vote", "tag-prior"),
    ("tag-vote-own", "tag-prior"),
    ("tag-prop", "tag-vote"),
    ("linear-probe", "tag-vote"),
    ("tag-vote-own", "tag-vote"),
    ("tag-vote-own", "original"),
]
"""Who must beat whom, by MAP and by MiAP."""

STORABLE = (np.ndarray, sparse.csr_array, float, int, str, bool, type(None), Collection, Texts)
CLOSE = {"rtol": 1e-6, "atol": 1e-6}
SINGLE_PRECISION = {"sugar-plus": {"rtol": 1e-4, "atol": 2e-5}}
"""Methods that multiply in float32: how a matrix is cut then shows in the fifth digit."""

every_method = pytest.mark.parametrize("name", METHODS)
every_seed = pytest.mark.parametrize("seed", SEEDS)


@functools.cache
def fitted_to_planted(name: str) -> Any:
    return fitted(name, planted_collection())


@functools.cache
def planted_scores(name: str) -> np.ndarray:
    return all_scores(fitted_to_planted(name), planted_collection())


@functools.cache
def planted_accuracy(name: str, seed: int) -> tuple[float, float]:
    collection = planted_collection(seed)
    return accuracy(all_scores(fitted(name, collection), collection), collection)


def fitted(name: str, collection: Collection, engine: Engine | None = None) -> Any:
    method = make_method(name, SETTINGS.get(name, {}))
    return method.fit(collection, engine=engine or LocalEngine(), rng=np.random.default_rng(3))


def all_scores(
    model: Any, collection: Collection, *, engine: Engine | None = None, rows_per_block: int = 256
) -> np.ndarray:
    blocks = collection.blocks(rows_per_block)
    return np.concatenate(list((engine or LocalEngine()).map(_score, blocks, model, collection)))


def _score(block: slice, model: Any, collection: Collection) -> np.ndarray:
    return model.scores(collection.rows(block))


def fingerprint(collection: Collection) -> str:
    digest = hashlib.sha256()
    for array in _arrays(collection):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _arrays(collection: Collection) -> Iterator[np.ndarray]:
    matrices = [collection.groups]
    for shard in collection.shards:
        yield from (shard.owner, shard.features)
        matrices += [shard.tags, shard.truth]
    for matrix in matrices:
        yield from (matrix.data, matrix.indices, matrix.indptr)


def test_every_method_has_an_accuracy_floor():
    assert set(FLOORS) == set(METHODS)


@every_method
def test_it_goes_by_the_name_and_the_type_it_states(name):
    method = make_method(name)

    assert method.name == name
    assert type(fitted_to_planted(name)) is method.fitted_type
    assert method.summary.endswith(".")
    assert "\n" not in method.summary


@every_method
def test_fitting_and_scoring_leave_the_collection_alone(name):
    collection = planted_collection()
    before = fingerprint(collection)

    all_scores(fitted(name, collection), collection)

    assert fingerprint(collection) == before


@every_method
def test_scores_are_single_precision_numbers_for_every_tag(name, collection):
    scores = planted_scores(name)

    assert scores.shape == (collection.n_images, collection.n_tags)
    assert scores.dtype == np.float32
    assert np.isfinite(scores).all()


@every_method
def test_the_floor_is_a_number_and_some_scores_are_above_it(name):
    model = fitted_to_planted(name)

    assert np.isfinite(model.floor)
    assert (planted_scores(name) > model.floor).any()
    assert isinstance(model.gives_whole_sets, bool)


@every_method
def test_the_same_seed_gives_the_same_scores(name, collection):
    again = all_scores(fitted(name, collection), collection)

    np.testing.assert_array_equal(again, planted_scores(name))


@every_method
@pytest.mark.parametrize("rows_per_block", [37, 600])
def test_scores_do_not_depend_on_the_block_an_image_is_in(name, rows_per_block, collection):
    model = fitted_to_planted(name)

    scores = all_scores(model, collection, rows_per_block=rows_per_block)

    np.testing.assert_allclose(scores, planted_scores(name), **SINGLE_PRECISION.get(name, CLOSE))


@every_method
@pytest.mark.parametrize(
    "engine", [LocalEngine(workers=2), LocalEngine(blas_threads=1)], ids=["workers", "one-thread"]
)
def test_scores_do_not_depend_on_workers_or_threads(name, engine, collection):
    scores = all_scores(fitted(name, collection, engine), collection, engine=engine)

    np.testing.assert_allclose(scores, planted_scores(name), **SINGLE_PRECISION.get(name, CLOSE))


@every_method
def test_several_shards_give_the_scores_of_one(name, collection):
    cut = resharded(collection, 1, 250, 251)

    scores = all_scores(fitted(name, cut), cut)

    np.testing.assert_allclose(scores, planted_scores(name), **SINGLE_PRECISION.get(name, CLOSE))


@every_method
@pytest.mark.parametrize("strangers_only", [False, True])
@pytest.mark.parametrize("image", [UNTAGGED, OF_NOBODY, OF_GROUPLESS, OF_ONE_IMAGE])
def test_odd_images_are_scored(name, image, strangers_only, collection):
    rows = collection.rows(slice(image, image + 1))

    scores = fitted_to_planted(name).scores(rows, strangers_only=strangers_only)

    assert scores.shape == (1, collection.n_tags)
    assert np.isfinite(scores).all()


@every_method
@pytest.mark.parametrize("strangers_only", [False, True])
@pytest.mark.parametrize("of_nobody", [False, True])
def test_new_images_are_scored(name, of_nobody, strangers_only, collection):
    owner = collection.nobody if of_nobody else None
    rows = as_new(collection.rows(slice(10, 30)), collection, owner=owner)

    scores = fitted_to_planted(name).scores(rows, strangers_only=strangers_only)

    assert scores.shape == (20, collection.n_tags)
    assert np.isfinite(scores).all()


@every_method
@pytest.mark.parametrize("is_new", [False, True])
def test_everybody_is_a_stranger_to_an_image_of_nobody(name, is_new, collection):
    rows = collection.rows(slice(OF_NOBODY, OF_NOBODY + 1))
    rows = as_new(rows, collection) if is_new else rows
    model = fitted_to_planted(name)

    scores = model.scores(rows, strangers_only=True)

    np.testing.assert_allclose(scores, model.scores(rows), **SINGLE_PRECISION.get(name, CLOSE))


@every_method
def test_a_tag_that_nobody_used_never_stands_first(name):
    scores = planted_scores(name)

    assert not (scores.argmax(axis=1) == NEVER_USED).any()


@every_method
def test_features_are_asked_for_only_where_they_are_needed(name, collection):
    bare = without_features(collection)

    if name in WORKS_WITHOUT_FEATURES:
        assert np.isfinite(all_scores(fitted(name, bare), bare)).all()
    else:
        with pytest.raises(CollectionError, match=f"{name} needs image features"):
            fitted(name, bare)


@every_method
def test_neither_settings_nor_what_was_learned_can_be_changed(name):
    for thing in (make_method(name), fitted_to_planted(name)):
        with pytest.raises(dataclasses.FrozenInstanceError):
            thing.name = "another"


@every_method
def test_what_was_learned_can_be_stored(name):
    model = fitted_to_planted(name)

    for field, value in stored_values(model):
        items = value if isinstance(value, tuple) else [value]
        assert all(isinstance(item, STORABLE) for item in items), field


def stored_values(thing: Any) -> Iterator[tuple[str, Any]]:
    """Yield the fields of a dataclass, and of the dataclasses in it."""
    for field in dataclasses.fields(thing):
        value = getattr(thing, field.name)
        if dataclasses.is_dataclass(value) and not isinstance(value, Collection):
            yield from stored_values(value)
        else:
            yield field.name, value


@every_method
@pytest.mark.parametrize("as_text", [False, True])
def test_settings_survive_a_round_trip(name, as_text):
    method = make_method(name, SETTINGS.get(name, {}))
    values = dataclasses.asdict(method)
    if as_text:
        values = {key: str(value) for key, value in values.items()}

    assert with_settings(METHODS[name], values) == method


@every_method
def test_settings_are_words_and_each_is_explained(name):
    names = [field.name for field in dataclasses.fields(METHODS[name])]

    assert all(len(word) > 1 for setting in names for word in setting.split("_"))
    assert set(names) <= explained_fields(METHODS[name])


def explained_fields(method_type: type) -> set[str]:
    """Return the fields that have a docstring under them, inherited ones included."""
    found = set()
    for ancestor in method_type.__mro__[:-1]:
        body = ast.parse(textwrap.dedent(inspect.getsource(ancestor))).body[0].body
        for field, below in pairwise(body):
            if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr):
                found.add(field.target.id)
    return found


@every_method
@every_seed
def test_it_is_as_accurate_as_it_was(name, seed):
    assert np.all(np.array(planted_accuracy(name, seed)) >= FLOORS[name])


@pytest.mark.parametrize(("winner", "loser"), WINNERS)
@every_seed
def test_it_beats_the_simpler_method(winner, loser, seed):
    better, worse = (np.array(planted_accuracy(name, seed)) for name in (winner, loser))

    assert np.all(better > worse + 0.01)
