"""The start of a factorisation."""

import numpy as np
from scipy import sparse

from sugartag.linalg.proximal import singular_start


def test_the_product_is_the_best_of_its_rank():
    dense = np.random.default_rng(0).random((12, 7))
    left, values, right = np.linalg.svd(dense, full_matrices=False)

    found = singular_start(sparse.csr_array(dense), 3, rng=np.random.default_rng(1))

    best = (left[:, :3] * values[:3]) @ right[:3]
    np.testing.assert_allclose(found[0] @ found[1].T, best, atol=1e-9)
    np.testing.assert_allclose(
        np.linalg.norm(found[0], axis=0), np.linalg.norm(found[1], axis=0), rtol=1e-9
    )


def test_directions_that_are_not_there_are_left_out():
    matrix = sparse.csr_array(np.outer([1.0, 2.0, 0.0, 1.0], [1.0, 0.0, 1.0]))

    rows, columns = singular_start(matrix, 3, rng=np.random.default_rng(1))

    assert rows.shape == (4, 1)
    assert columns.shape == (3, 1)
    np.testing.assert_allclose(rows @ columns.T, matrix.toarray(), atol=1e-12)


def test_an_empty_matrix_has_one_column_of_zeros():
    rows, columns = singular_start(sparse.csr_array((4, 3)), 2, rng=np.random.default_rng(1))

    assert rows.shape == (4, 1)
    np.testing.assert_array_equal(rows, 0)
    np.testing.assert_array_equal(columns, 0)
