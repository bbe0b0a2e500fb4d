"""The scikit-learn estimator: its rules, pipelines, searches and metadata."""

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from sugartag.collection.model import Collection
from sugartag.sklearn import Retagger


@pytest.fixture(scope="module")
def images(collection: Collection) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features, tags as an indicator, and owners."""
    rows = collection.rows(slice(0, 600))
    return rows.features, rows.tags.toarray()[:, :32].astype(int), rows.owner.astype(str)


def test_it_keeps_all_rules_of_scikit_learn():
    found = check_estimator(Retagger(), on_skip=None, on_fail=None)

    assert len(found) > 50
    assert [one["check_name"] for one in found if one["status"] == "failed"] == []


def test_tags_are_predicted_in_the_form_they_were_given(images):
    X, y, _ = images
    # Names without a meaning, as columns have none: similar names would lend each other evidence.
    names = np.array([f"qz{k:03}x" for k in range(32)])
    listed = [names[row > 0].tolist() for row in y]

    by_indicator = Retagger(threshold=0.3).fit(X[:400], y[:400])
    by_names = Retagger(threshold=0.3).fit(X[:400], listed[:400])

    indicator = by_indicator.predict(X[400:])
    assert indicator.shape == (200, 32)
    assert 0 < indicator.mean() < 0.5
    order = [by_names.classes_.tolist().index(name) for name in names]
    found = [set(tags) for tags in by_names.predict(X[400:])]
    assert found == [set(names[row > 0].tolist()) for row in indicator]
    np.testing.assert_allclose(
        by_names.predict_proba(X[400:])[:, order], by_indicator.predict_proba(X[400:]), atol=1e-6
    )
    assert by_names.score(X[400:], listed[400:]) == pytest.approx(
        by_indicator.score(X[400:], y[400:])
    )
    assert by_indicator.score(X[400:], y[400:]) > 2 * y.mean()


def test_tags_come_as_lists_of_any_library_and_indicators_sparse_or_dense(images):
    X, y, _ = images
    listed = [sorted(np.flatnonzero(row).astype(str).tolist()) for row in y]
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    kinds = [listed, [set(some) for some in listed], pandas.Series(listed), polars.Series(listed)]

    by_list = [Retagger("tag-prior").fit(X, given).predict_proba(X[:2]) for given in kinds]
    by_indicator = [
        Retagger("tag-prior").fit(X, given).predict_proba(X[:2])
        for given in (y, y > 0, sparse.csr_array(y), sparse.csr_matrix(y))
    ]

    for found in (by_list, by_indicator):
        assert all(np.array_equal(found[0], other) for other in found)


def test_what_is_missing_in_a_column_is_no_tag_and_no_owner(images):
    X, y, owners = images
    pandas = pytest.importorskip("pandas")
    listed = [[f"tag {k}" for k in np.flatnonzero(row)] for row in y]
    gaps = pandas.Series([None, float("nan"), *listed[2:]], dtype=object)
    whose = pandas.Series([None, float("nan"), pandas.NA, *owners[3:]], dtype=object)

    found = Retagger("tag-prior").fit(X, gaps, owners=whose)
    wanted = Retagger("tag-prior").fit(X, [[], [], *listed[2:]], owners=[None] * 3 + [*owners[3:]])

    assert list(found.model_.catalogue.owner_names) == list(wanted.model_.catalogue.owner_names)
    np.testing.assert_array_equal(found.predict_proba(X[:2]), wanted.predict_proba(X[:2]))
    assert found.score(X, gaps) == wanted.score(X, [[], [], *listed[2:]])


def test_tags_that_images_have_already_say_something(images):
    X, y, _ = images
    fitted = Retagger().fit(X[:400], y[:400])

    without, given = (fitted.predict_proba(X[400:], tags=tags) for tags in (None, y[400:]))

    assert given[y[400:] > 0].mean() > without[y[400:] > 0].mean()


def test_it_works_in_a_pipeline_and_a_search_with_owners_as_metadata(images):
    X, y, owners = images
    with sklearn.config_context(enable_metadata_routing=True):
        retagger = Retagger().set_fit_request(owners=True).set_score_request(owners=True)
        pipeline = make_pipeline(StandardScaler(), retagger)
        grid = {"retagger__settings": [{"components": 4}, {"neighbour_weight": 0.2}]}
        search = GridSearchCV(pipeline, grid, cv=2).fit(X, y, owners=owners)

    assert search.best_params_["retagger__settings"] == {"neighbour_weight": 0.2}
    assert search.predict(X[:3]).shape == (3, 32)
    assert set(search.best_estimator_[-1].model_.catalogue.owner_names) == set(owners)


def test_owners_and_groups_are_routed_through_a_search_with_a_pipeline(images):
    X, y, owners = images
    groups = [[owner[:1], "all"] for owner in owners]
    with sklearn.config_context(enable_metadata_routing=True):
        retagger = Retagger("tag-prior").set_fit_request(owners=True, groups=True)
        pipeline = make_pipeline(StandardScaler(), retagger.set_score_request(owners=True))
        grid = {"retagger__settings": [{"per_owner": False}, {"per_owner": True}]}
        search = GridSearchCV(pipeline, grid, cv=2).fit(X, y, owners=owners, groups=groups)

    model = search.best_estimator_[-1].model_
    assert search.best_params_["retagger__settings"] == {"per_owner": False}
    assert len(model.catalogue.owner_names) == len(set(owners))


def test_metrics_of_scikit_learn_take_its_scores(images):
    X, y, _ = images
    kept = y.sum(axis=0) > 20

    found = cross_val_score(Retagger(), X, y[:, kept], scoring="average_precision", cv=2)

    assert (found > 1.5 * y[:, kept].mean()).all()


def test_the_owner_and_the_groups_reach_the_method(images):
    X, y, owners = images
    groups = [[f"group of {owner[0]}", "all"] for owner in owners]

    counted = Retagger("tag-prior", settings={"per_owner": True})
    by_owner = counted.fit(X, y, owners=owners, groups=groups).predict_proba(X[:1])
    by_image = counted.fit(X, y).predict_proba(X[:1])

    assert not np.allclose(by_owner, by_image)
    with pytest.raises(ValueError, match="pass owners, too"):
        Retagger().fit(X, y, groups=groups)


def test_what_cannot_be_is_refused(images):
    X, y, owners = images

    with pytest.raises(NotFittedError):
        Retagger().score(X, y)
    with pytest.raises(ValueError, match="600 rows and its metadata 9"):
        Retagger().fit(X, y, owners=owners[:9])
    with pytest.raises(ValueError, match="600 rows and its metadata 3"):
        Retagger().fit(X, y, owners=owners, groups=[["a"]] * 3)
    with pytest.raises(ValueError, match="not indicators"):
        Retagger().fit(X, 2 * y)
