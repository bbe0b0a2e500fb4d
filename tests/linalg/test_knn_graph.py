from functools import partial

import numpy as np
import pytest

from sugartag.engine import LocalEngine, row_blocks
from sugartag.linalg.knn_graph import gaussian_links, knn_graph, median_distance
from sugartag.linalg.neighbours import Neighbours


@pytest.fixture
def features(rng):
    return rng.standard_normal((60, 5)).astype(np.float32)


def graph_of(features, k, *, rows_per_block=60, workers=1, bandwidth=None):
    return knn_graph(
        partial(read, features=features),
        row_blocks(len(features), rows_per_block),
        k,
        engine=LocalEngine(workers=workers),
        bandwidth=bandwidth,
    )


def read(block, features):
    return features[block]


def literal_graph(features, k):
    """Return the affinity of the definition, and the median distance to a neighbour."""
    wide = features.astype(np.float64)
    distance = np.sqrt(((wide[:, None] - wide) ** 2).sum(axis=2))
    np.fill_diagonal(distance, np.inf)
    nearest = np.argsort(distance, axis=1, kind="stable")[:, :k]
    sigma = np.median(np.take_along_axis(distance, nearest, axis=1))
    links = np.zeros_like(distance)
    for row, columns in enumerate(nearest):
        links[row, columns] = np.exp(-((distance[row, columns] / sigma) ** 2))
    return np.maximum(links, links.T), sigma


def test_it_is_the_graph_of_the_definition(features):
    made = graph_of(features, 4)

    links, sigma = literal_graph(features, 4)
    np.testing.assert_allclose(made.affinity.toarray(), links, rtol=1e-12)
    assert made.bandwidth == pytest.approx(sigma, rel=1e-12)


def test_nobody_is_linked_with_itself_not_even_with_a_twin_around(features):
    features[1] = features[0]

    affinity = graph_of(features, 3).affinity

    assert not affinity.diagonal().any()
    assert affinity[0, 1] == 1.0


@pytest.mark.parametrize(("rows_per_block", "workers"), [(7, 1), (25, 2), (1, 1)])
def test_it_is_the_same_to_the_last_bit_whatever_the_blocks(features, rows_per_block, workers):
    whole = graph_of(features, 5)

    cut = graph_of(features, 5, rows_per_block=rows_per_block, workers=workers)

    np.testing.assert_array_equal(cut.affinity.data, whole.affinity.data)
    np.testing.assert_array_equal(cut.affinity.indices, whole.affinity.indices)
    assert cut.bandwidth == whole.bandwidth


def test_a_bandwidth_may_be_given(features):
    near, far = (graph_of(features, 4, bandwidth=sigma).affinity for sigma in (0.5, 5.0))

    assert near.data.max() < far.data.min()


def test_fewer_rows_than_neighbours_are_all_linked(features):
    affinity = graph_of(features[:3], 10).affinity.toarray()

    assert np.count_nonzero(affinity) == 6


def test_rows_that_are_all_alike_are_linked_fully():
    made = graph_of(np.ones((4, 2), dtype=np.float32), 2)

    assert made.bandwidth == 1.0
    assert set(made.affinity.data.tolist()) == {1.0}


def test_a_missing_neighbour_is_no_link():
    found = Neighbours(np.array([[1, 3], [3, 3]]), np.array([[2.0, np.inf], [np.inf, np.inf]]))

    links = gaussian_links(found, n_rows=3, bandwidth=2.0)

    np.testing.assert_allclose(links.toarray(), [[0, np.exp(-1), 0], [0, 0, 0]])
    assert median_distance(found) == 2.0
