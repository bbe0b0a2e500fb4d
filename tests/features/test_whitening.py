"""Principal components, whitened in part: against literal computations."""

import numpy as np
import pytest
from scipy import sparse

from sugartag.collection.build import collection_from_arrays
from sugartag.engine import LocalEngine
from sugartag.errors import SettingsError
from sugartag.features.whitening import Moments, Whitening, feature_moments, whitening_of
from sugartag.linalg.distances import unit_rows

N, D = 200, 7


@pytest.fixture
def features():
    rng = np.random.default_rng(5)
    return rng.standard_normal((N, D)) @ rng.standard_normal((D, D)) + 3.0


def literal(features, components, power):
    """Return the components by a singular value decomposition, up to their signs."""
    centred = features - features.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    deviation = sizes / np.sqrt(len(features))
    found = (left * np.sqrt(len(features)) * deviation ** (1 - power))[:, :components]
    return found / np.sqrt(np.square(found).sum(axis=1).mean())


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("components", [3, 7, 50])
def test_components_are_those_of_a_singular_value_decomposition(features, components, power):
    found = Whitening.of_moments(Moments.of(features), components, power).transform(features)

    expected = literal(features, components, power)
    signs = np.sign(np.sum(found * expected, axis=0))
    np.testing.assert_allclose(found, expected * signs, atol=1e-8)
    assert np.square(found).sum(axis=1).mean() == pytest.approx(1.0)


def test_without_whitening_distances_only_change_their_scale(features):
    found = Whitening.of_moments(Moments.of(features), D, 0.0).transform(features)

    before = np.linalg.norm(features[:50] - features[50:100], axis=1)
    after = np.linalg.norm(found[:50] - found[50:100], axis=1)
    np.testing.assert_allclose(after / before, (after / before)[0], rtol=1e-9)


def test_images_without_features_count_for_nothing_and_become_zeros(features):
    with_blank = np.concatenate([features[:10], np.zeros((3, D)), features[10:]])

    moments = Moments.of(with_blank)
    whitening = Whitening.of_moments(moments, 4, 0.5)

    assert moments.count == N
    np.testing.assert_allclose(moments.mean, features.mean(axis=0))
    np.testing.assert_array_equal(whitening.transform(with_blank)[10:13], 0.0)
    np.testing.assert_allclose(
        np.abs(whitening.transform(features)), np.abs(literal(features, 4, 0.5)), atol=1e-8
    )


def test_moments_of_blocks_add_up(features):
    collection = collection_from_arrays(
        sparse.csr_array(np.ones((N, 1))), np.zeros(N, dtype=int), features=features
    )
    engine = LocalEngine()

    blocks = collection.blocks(64)
    added = engine.sum(feature_moments, blocks, collection, True)
    whole = Moments.of(unit_rows(collection.rows(slice(0, N)).features.astype(np.float64)))

    np.testing.assert_allclose(added.covariance, whole.covariance, atol=1e-12)
    made = whitening_of(collection, 5, 0.5, unit_features=True, engine=engine)
    expected = Whitening.of_moments(whole, 5, 0.5)
    np.testing.assert_allclose(made.projection, expected.projection, atol=1e-8)
    assert made.n_components == 5


def test_directions_without_variance_are_left_out(features):
    flat = np.concatenate([features, features[:, :2]], axis=1)

    found = Whitening.of_moments(Moments.of(flat), 20, 1.0)

    assert found.n_components == D
    assert np.abs(found.transform(flat)).max() < 5


@pytest.mark.parametrize("rows", [np.ones((4, 3)), np.full((4, 3), 0.1), np.zeros((4, 3))])
def test_images_that_look_all_the_same_are_all_zero(rows):
    found = Whitening.of_moments(Moments.of(rows), 2, 0.5)

    np.testing.assert_array_equal(found.transform(rows), np.zeros((4, 1)))


@pytest.mark.parametrize(("components", "power"), [(0, 0.5), (3, -0.1), (3, 1.1)])
def test_impossible_powers_are_refused(features, components, power):
    with pytest.raises(SettingsError, match="components and power"):
        Whitening.of_moments(Moments.of(features), components, power)
