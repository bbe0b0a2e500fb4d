import numpy as np
import pytest

from methods.sugar_plus.literal import ridge_of
from sugartag.engine import LocalEngine
from sugartag.methods.sugar_plus.given import Multiplied
from sugartag.methods.sugar_plus.turned import Turned


@pytest.fixture(scope="module")
def ridge(odd, evidence, trusted):
    penalty = np.linspace(2.0, 6.0, evidence.n_sparse + evidence.n_dense)
    return ridge_of(odd, evidence, trusted, penalty, 0.3)


@pytest.fixture(scope="module")
def precision(ridge):
    """P, put together from what the ridge keeps of it."""
    predictor = ridge.evidence.predictor
    own = ridge.own_precision[predictor].astype(float)
    tags = -ridge.weights[:, predictor] * own
    tags[np.arange(len(own)), np.arange(len(own))] = own
    return np.hstack([tags, ridge.other_precision])


def test_half_of_a_symmetric_matrix_gives_the_whole_form(ridge, precision):
    n, n_dense = ridge.evidence.n_sparse, ridge.evidence.n_dense
    dense = np.random.default_rng(2).normal(size=(30, n_dense)).astype(np.float32)

    found = Turned(ridge).dense_form.at(dense)

    expected = np.einsum("ij,jk,ik->i", dense, precision[n:, n:], dense)
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_products_with_the_mean_are_those_of_the_whole_matrix(ridge, precision):
    n, turned = ridge.evidence.n_sparse, Turned(ridge)
    means = np.stack([ridge.fitted_mean[:n], ridge.mean[:n]]).astype(float)

    np.testing.assert_allclose(turned.at_mean, means @ precision[:n], atol=1e-6)
    np.testing.assert_allclose(
        turned.of_mean, means @ precision[:n, :n] @ ridge.fitted_mean[:n], atol=1e-6
    )


def test_sums_of_owners_are_multiplied_where_they_are_asked_for(ridge, precision):
    evidence, owners = ridge.evidence, ridge.owners
    n, n_words, n_tags = evidence.n_sparse, len(evidence.words), len(evidence.predictor)
    raw = np.hstack([evidence.known(owners.tags, owners.words).toarray(), owners.dense])
    mean = np.append(ridge.fitted_mean[:n], ridge.mean[n:])
    sums = raw - np.multiply.outer(owners.images, mean)
    products = sums @ precision
    unexplained = owners.tags.toarray() - np.multiply.outer(owners.images, ridge.fitted_share)
    unexplained -= sums @ ridge.weights

    found = Multiplied.of(ridge, engine=LocalEngine()).owners

    used, spelled = owners.tags.nonzero(), owners.words.nonzero()
    np.testing.assert_allclose(found.unexplained.data, unexplained[used], atol=1e-5)
    np.testing.assert_allclose(found.at_words.data, products[:, n_tags:n][spelled], atol=1e-5)
    np.testing.assert_allclose(found.at_dense[:-1], products[:, n:], atol=1e-5)
    squared, at_mean, at_mean_now = found.forms[:, :-1]
    np.testing.assert_allclose(squared, np.einsum("ij,ij->i", products, sums), rtol=1e-4)
    np.testing.assert_allclose(at_mean, products[:, :n] @ mean[:n], atol=1e-4)
    now = np.append(ridge.share[evidence.predictor], mean[n_tags:n])
    np.testing.assert_allclose(at_mean_now, products[:, :n] @ now, atol=1e-4)
    assert n_words > 0
    assert not found.at_dense[-1].any()
    assert not found.forms[:, -1].any()
