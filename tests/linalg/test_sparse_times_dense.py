import numpy as np
import pytest
from scipy import sparse

from sugartag.linalg import sparse_times_dense as module
from sugartag.linalg.entries import Entries

N_ROWS, N_INNER = 40, 13


def made(seed, n_columns):
    """Return sparse rows of no to a dozen entries, others like them, and a matrix."""
    rng = np.random.default_rng(seed)
    share = np.linspace(0.0, 1.0, N_ROWS)[:, None]
    one = np.where(rng.random((N_ROWS, N_INNER)) < share, rng.normal(size=(N_ROWS, N_INNER)), 0.0)
    other = np.where(rng.random(one.shape) < 0.7, 0.5 * one, 0.0)
    other[::5] = rng.normal(size=other[::5].shape)
    matrix = rng.normal(size=(N_INNER, n_columns)).astype(np.float32)
    return sparse.csr_array(one), sparse.csr_array(other), matrix


@pytest.mark.parametrize("n_columns", [1, 9, module.COLUMNS_AT_ONCE, module.COLUMNS_AT_ONCE + 7])
def test_sparse_rows_times_a_matrix_are_added(n_columns):
    rows, _, matrix = made(0, n_columns)
    total = np.full((N_ROWS, n_columns), 2.0, dtype=np.float32)

    module.add_products(Entries.of(rows, N_INNER), matrix, total)

    np.testing.assert_allclose(total, 2.0 + rows.toarray() @ matrix, atol=1e-4)


@pytest.mark.parametrize("ascending", [True, False])
def test_two_sparse_rows_are_multiplied_as_each_alone_would_be(ascending):
    one, other, matrix = made(1, 30)
    if not ascending:
        one, other = (part[:, ::-1] for part in (one, other))
        matrix = np.ascontiguousarray(matrix[::-1])
    pair = Entries.of(one, N_INNER), Entries.of(other, N_INNER)
    assert ascending == all(part.has_sorted_indices for part in (one, other))

    for row in range(N_ROWS):
        totals = np.full((2, 30), -1.0, dtype=np.float32)
        module.add_both_products(*pair, row, matrix, *totals)

        expected = np.stack([part.toarray()[row] @ matrix for part in (one, other)])
        np.testing.assert_allclose(totals, expected - 1.0, atol=1e-4)


def test_where_nothing_is_known_nothing_is_added():
    nothing, total = Entries.none(3), np.ones((3, 4), dtype=np.float32)
    empty = np.zeros((0, 4), dtype=np.float32)

    module.add_products(nothing, empty, total)
    module.add_both_products(nothing, nothing, 1, empty, total[0], total[1])

    assert (total == 1.0).all()
