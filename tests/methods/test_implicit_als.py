"""The owner's taste alone, by the implicit package; most of it needs the package."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from planted import OF_NOBODY, UNTAGGED, as_new, without_features
from sugartag.collection.build import collection_from_arrays
from sugartag.errors import MissingExtraError, SettingsError
from sugartag.methods.implicit_als import ImplicitALS, count_uses


@pytest.fixture
def package():
    return pytest.importorskip("implicit.cpu.als")


@pytest.fixture
def model(package, collection, engine, rng):
    return ImplicitALS(factors=8).fit(collection, engine=engine, rng=rng)


def test_without_the_package_fitting_says_what_to_install(monkeypatch, collection, engine, rng):
    for name in [name for name in sys.modules if name.partition(".")[0] == "implicit"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [_Absent(), *sys.meta_path])

    with pytest.raises(MissingExtraError, match=r"pip install 'sugartag\[implicit\]'"):
        ImplicitALS().fit(collection, engine=engine, rng=rng)
    assert ImplicitALS.extra == "implicit"


class _Absent:
    """Finds no implicit package, wherever it is."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "implicit":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def test_uses_are_counted_by_owner_and_nobodys_images_each():
    tags = np.array([[1, 0], [1, 1], [0, 1], [0, 1], [1, 0]])
    collection = collection_from_arrays(
        sparse.csr_array(tags), np.array([0, 0, 2, 1, 2]), groups=sparse.csr_array((2, 0))
    )

    parts = [count_uses(slice(0, 3), collection), count_uses(slice(3, 5), collection)]

    np.testing.assert_array_equal((parts[0] + parts[1]).toarray(), [[2, 1], [0, 1], [0, 1], [1, 0]])


def test_images_of_one_owner_are_scored_alike(model, collection):
    rows = collection.rows(slice(0, collection.n_images))
    busy = np.bincount(rows.owner).argmax()

    scores = model.scores(rows)[rows.owner == busy]

    np.testing.assert_array_equal(scores, np.tile(scores[0], (len(scores), 1)))
    expected = model.owner_factors[busy] @ model.tag_factors.T
    np.testing.assert_allclose(scores[0], expected, atol=1e-5)


def test_an_owners_habits_stand_above_other_tags(model, collection):
    rows = collection.rows(slice(0, collection.n_images))
    busy = np.bincount(rows.owner).argmax()
    uses = rows.tags[np.flatnonzero(rows.owner == busy)].toarray().sum(axis=0)

    scores = model.scores(rows)[rows.owner == busy][0]

    assert scores[uses >= 5].mean() > scores[uses == 0].mean() + 0.3


def test_an_unknown_owner_is_folded_in_as_the_package_does(package, model, collection):
    rows = as_new(collection.rows(slice(10, 20)), collection, owner=collection.nobody)
    rows = replace(rows, tags=rows.tags[np.diff(rows.tags.indptr) > 0][:3], owner=rows.owner[:3])
    theirs = package.AlternatingLeastSquares(
        factors=8, regularization=model.regularization, alpha=model.confidence, num_threads=1
    )
    theirs.item_factors = model.tag_factors
    tags = sparse.csr_matrix(rows.tags, dtype=np.float32)

    found = model.folded_in(rows.tags)

    np.testing.assert_allclose(found, theirs.recalculate_user(np.arange(3), tags), atol=1e-3)
    np.testing.assert_allclose(
        model.scores(replace(rows, position=rows.position[:3])),
        found @ model.tag_factors.T,
        atol=1e-5,
    )


def test_strangers_only_forgets_the_owner(model, collection):
    rows = collection.rows(slice(20, 30))

    scores = model.scores(rows, strangers_only=True)

    unknown = as_new(rows, collection, owner=collection.nobody)
    np.testing.assert_array_equal(scores, model.scores(unknown))
    assert not np.allclose(scores, model.scores(rows), atol=1e-3)


def test_an_image_of_which_nothing_is_known_gets_the_average_owners_tags(model, collection):
    rows = as_new(
        collection.rows(slice(UNTAGGED, UNTAGGED + 1)), collection, owner=collection.nobody
    )

    expected = model.average @ model.tag_factors.T
    np.testing.assert_allclose(model.scores(rows)[0], expected, atol=1e-5)


def test_it_needs_neither_features_nor_owners(package, collection, engine, rng):
    bare = without_features(collection)
    rows = bare.rows(slice(0, bare.n_images))
    ownerless = collection_from_arrays(
        rows.tags, np.zeros(len(rows), dtype=int), groups=sparse.csr_array((0, 0))
    )

    for some in (bare, ownerless):
        model = ImplicitALS(factors=4).fit(some, engine=engine, rng=rng)
        assert np.isfinite(model.scores(some.rows(slice(OF_NOBODY, 50)))).all()


def test_the_same_seed_gives_the_same_factors(package, collection, engine):
    one, two = (
        ImplicitALS(factors=8).fit(collection, engine=engine, rng=np.random.default_rng(4))
        for _ in range(2)
    )

    np.testing.assert_array_equal(one.tag_factors, two.tag_factors)
    assert one.tag_factors.dtype == np.float32


def test_counts_may_be_taken_one_by_one(package, collection, engine):
    plain, damped = (
        ImplicitALS(factors=8, log_counts=log_counts).fit(
            collection, engine=engine, rng=np.random.default_rng(4)
        )
        for log_counts in (False, True)
    )

    assert not np.allclose(plain.tag_factors, damped.tag_factors, atol=1e-3)


@pytest.mark.parametrize(
    ("setting", "value"),
    [("factors", 0), ("iterations", 0), ("regularization", 0.0), ("confidence", -1.0)],
)
def test_impossible_settings_are_named(setting, value):
    with pytest.raises(SettingsError, match=f"implicit-als setting {setting} is {value}"):
        ImplicitALS(**{setting: value})
