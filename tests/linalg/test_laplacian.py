import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as some
from scipy import sparse

from sugartag.linalg.laplacian import (
    degrees,
    inverse_roots,
    laplacian,
    symmetrised,
    without_diagonal,
)

graphs = some.arrays(np.float64, (6, 6), elements=st.sampled_from([0.0, 0.0, 0.3, 1.0, 2.5])).map(
    lambda links: np.maximum(links, links.T)
)


def literal_roughness(links: np.ndarray, vector: np.ndarray, *, normalised: bool) -> float:
    """Half the sum over pairs of the link times the squared difference."""
    degree = (links - np.diag(np.diag(links))).sum(axis=1)
    root = np.sqrt(degree) if normalised else np.ones(len(degree))
    return sum(
        links[i, j] * (vector[i] / root[i] - vector[j] / root[j]) ** 2 / 2
        for i in range(len(links))
        for j in range(len(links))
        if i != j and links[i, j] > 0
    )


@pytest.mark.parametrize("normalised", [False, True])
@given(graphs)
def test_it_measures_differences_over_links(normalised, links):
    vector = np.linspace(-1, 2, 6)

    rough = laplacian(sparse.csr_array(links), normalised=normalised)

    expected = literal_roughness(links, vector, normalised=normalised)
    assert vector @ (rough @ vector) == pytest.approx(expected, abs=1e-12)


@given(graphs)
def test_the_normalised_one_has_eigenvalues_from_0_to_2(links):
    values = np.linalg.eigvalsh(laplacian(sparse.csr_array(links)).toarray())

    assert values.min() >= -1e-12
    assert values.max() <= 2 + 1e-12


def test_a_node_without_links_costs_nothing():
    links = sparse.csr_array(np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, 5]]))

    for normalised in (False, True):
        rough = laplacian(links, normalised=normalised).toarray()
        assert not rough[2].any()
        assert not rough[:, 2].any()


def test_a_link_with_itself_counts_in_no_degree():
    links = sparse.csr_array(np.array([[4.0, 2], [2, 0]]))

    assert degrees(links).tolist() == [2, 2]
    assert without_diagonal(links).toarray().tolist() == [[0, 2], [2, 0]]
    assert inverse_roots(np.array([4.0, 0.0])).tolist() == [0.5, 0]


def test_the_stronger_of_two_directions_stands():
    links = sparse.csr_array(np.array([[0.0, 0.2, 0], [0.7, 0, 0], [0.1, 0, 0]]))

    both = symmetrised(links)

    assert both.toarray().tolist() == [[0, 0.7, 0.1], [0.7, 0, 0], [0.1, 0, 0]]
    assert both.has_sorted_indices
