import numpy as np
import pytest

from methods.sugar_plus.literal import (
    all_rows,
    columns_of,
    covariance_of,
    regression,
    ridge_of,
)
from planted import OF_NOBODY, OF_ONE_IMAGE, UNTAGGED, as_new
from sugartag.engine import LocalEngine, room
from sugartag.methods.sugar_plus import kept_owners
from sugartag.methods.sugar_plus.learning import tags_as_given
from sugartag.methods.sugar_plus.ridge import inverse_of
from sugartag.methods.sugar_plus.sums import outside_of
from sugartag.methods.sugar_plus.through import INTEREST_SHRINKAGE

IMAGES = (UNTAGGED, OF_NOBODY, OF_ONE_IMAGE, 4, 77, 301)


@pytest.fixture(params=[0.0, 0.3])
def variance(request):
    return request.param


@pytest.fixture(params=["as given", "in part"])
def believed(request, odd, trusted):
    return trusted if request.param == "in part" else tags_as_given(odd)


def penalty_of(evidence):
    return np.linspace(2.0, 6.0, evidence.n_sparse + evidence.n_dense)


def some_tags(evidence):
    """Return tags that are columns, and tags that are not."""
    return [*evidence.predictor[[0, 9, 20]], *outside_of(evidence)[[0, 5]]]


def centred(odd, evidence, tags):
    """Return the columns and the tags, centred by all images."""
    columns = columns_of(all_rows(odd), tags, evidence)
    return columns - columns.mean(axis=0), tags - tags.mean(axis=0)


def column_of(evidence, tag):
    return np.flatnonzero(evidence.predictor == tag)


def test_one_inverse_gives_the_regression_of_every_tag_on_all_columns_but_itself(
    odd, evidence, believed, variance
):
    ridge = ridge_of(odd, evidence, believed, penalty_of(evidence), variance)
    columns, tags = centred(odd, evidence, believed.toarray().astype(float))
    covariance = covariance_of(odd.owner, odd.nobody, variance)

    for tag in some_tags(evidence):
        without = column_of(evidence, tag)
        found = regression(columns, tags[:, tag], covariance, penalty_of(evidence), without)
        np.testing.assert_allclose(ridge.weights[:, tag], found, rtol=1e-4, atol=2e-6)
        assert not ridge.weights[without, tag].any()


def test_a_fitted_image_is_judged_as_if_it_had_not_been(odd, evidence, believed, variance):
    ridge = ridge_of(odd, evidence, believed, penalty_of(evidence), variance)
    rows = all_rows(odd)
    columns, tags = centred(odd, evidence, believed.toarray().astype(float))
    as_given, _ = centred(odd, evidence, rows.tags.toarray().astype(float))
    covariance = covariance_of(odd.owner, odd.nobody, variance)

    found = ridge.judge(rows, believed).excess

    for image in IMAGES:
        rest = np.arange(odd.n_images) != image
        for tag in some_tags(evidence):
            weights = regression(
                columns[rest],
                tags[rest, tag],
                covariance[np.ix_(rest, rest)],
                penalty_of(evidence),
                column_of(evidence, tag),
            )
            assert found[image, tag] == pytest.approx(as_given[image] @ weights, abs=5e-6)


def test_a_new_image_is_judged_by_all(odd, evidence, trusted):
    ridge = ridge_of(odd, evidence, trusted, penalty_of(evidence), 0.3)
    new = as_new(all_rows(odd), odd)

    found = ridge.judge(new, trusted).excess

    columns, _ = centred(odd, evidence, new.tags.toarray().astype(float))
    np.testing.assert_allclose(found, columns @ ridge.weights, atol=5e-6)


def literal_interest(odd, evidence, believed, ridge, owner, without):
    """Return the mean of what is said about an owner's images but one."""
    columns, _ = centred(odd, evidence, believed.toarray().astype(float))
    mine = (odd.owner == owner) & (owner < odd.nobody)
    mine[without] = False
    said = (columns[mine] @ ridge.weights).sum(axis=0)
    return said / (mine.sum() + INTEREST_SHRINKAGE)


def test_interest_is_the_mean_of_what_is_said_about_the_owners_other_images(
    odd, evidence, believed, variance
):
    ridge = ridge_of(odd, evidence, believed, penalty_of(evidence), variance)
    rows = all_rows(odd)

    seen = ridge.judge(rows, believed).interest
    new = ridge.judge(as_new(rows, odd), believed).interest

    for image in IMAGES:
        owner = rows.owner[image]
        expected = literal_interest(odd, evidence, believed, ridge, owner, without=[image])
        np.testing.assert_allclose(seen[image], expected, atol=5e-6)
        expected = literal_interest(odd, evidence, believed, ridge, owner, without=[])
        np.testing.assert_allclose(new[image], expected, atol=5e-6)


@pytest.mark.parametrize("beyond", [0, 3])
def test_images_of_nobody_have_no_interest(odd, evidence, trusted, beyond):
    ridge = ridge_of(odd, evidence, trusted, penalty_of(evidence), 0.3)
    rows = all_rows(odd)
    strangers = as_new(rows, odd, owner=odd.nobody + beyond)

    assert not ridge.judge(strangers, trusted).interest.any()
    assert not ridge.judge(rows, trusted).interest[odd.owner == odd.nobody].any()


@pytest.mark.parametrize("kept", [0, 1, 12, 10**6])
def test_owners_whose_sums_are_kept_ready_are_judged_the_same(
    odd, evidence, trusted, kept, monkeypatch, tmp_path
):
    ridge = ridge_of(odd, evidence, trusted, penalty_of(evidence), 0.3)
    rows = all_rows(odd).at(np.random.default_rng(2).permutation(odd.n_images))
    expected = ridge.judge(rows, trusted)
    monkeypatch.setattr(kept_owners, "OWNERS_AT_ONCE", 5)
    monkeypatch.setattr(kept_owners, "SCRATCH_CELLS", kept * odd.n_tags)

    ridge.keep_owners(engine=LocalEngine(workers=2, scratch=tmp_path))
    found = ridge.judge(rows, trusted)

    images = ridge.owners.images
    assert np.count_nonzero(images == 1)
    assert len(ridge.kept_owners.kept) == min(kept, np.count_nonzero(images > 1))
    np.testing.assert_allclose(found.excess, expected.excess, atol=5e-6)
    np.testing.assert_allclose(found.interest, expected.interest, atol=5e-6)


def test_without_scratch_or_disk_few_owners_are_kept(odd, evidence, trusted, monkeypatch, tmp_path):
    monkeypatch.setattr(kept_owners, "OWNER_CELLS", 3 * odd.n_tags)
    ridge = ridge_of(odd, evidence, trusted, penalty_of(evidence), 0.3)
    monkeypatch.setattr(room, "SMALL", 0)

    for folder in (None, tmp_path / "gone"):
        ridge.keep_owners(engine=LocalEngine(scratch=folder))
        assert len(ridge.kept_owners.kept) == 3


def test_an_image_is_judged_alone_as_among_others(odd, evidence, trusted):
    ridge = ridge_of(odd, evidence, trusted, penalty_of(evidence), 0.3)
    rows = all_rows(odd)
    together = ridge.judge(rows, trusted)

    for image in IMAGES:
        alone = ridge.judge(rows.at(np.array([image])), trusted)
        np.testing.assert_allclose(alone.excess[0], together.excess[image], atol=5e-6)
        np.testing.assert_allclose(alone.interest[0], together.interest[image], atol=5e-6)


def test_an_inverse_is_one(rng):
    columns = rng.normal(size=(30, 8))
    gram, penalty = columns.T @ columns, rng.random(8)

    found = inverse_of(gram.copy(), penalty)

    np.testing.assert_allclose(found @ (gram + np.diag(penalty)), np.eye(8), atol=1e-10)


def test_a_matrix_that_has_no_inverse_is_refused():
    with pytest.raises(ValueError, match="negative in length"):
        inverse_of(np.diag([1.0, -2.0]), np.ones(2))
