import numpy as np
import pytest
from scipy import sparse

from sugartag.linalg import sparse_times_dense as module
from sugartag.linalg.entries import Entries

N_ROWS, N_INNER = 40, 13


def made(seed, n_columns):
    """Return sparse rows of no to a dozen entries, and a matrix."""
    rng = np.random.default_rng(seed)
    share = np.linspace(0.0, 1.0, N_ROWS)[:, None]
    rows = np.where(rng.random((N_ROWS, N_INNER)) < share, rng.normal(size=(N_ROWS, N_INNER)), 0.0)
    matrix = rng.normal(size=(N_INNER, n_columns)).astype(np.float32)
    return sparse.csr_array(rows), matrix


@pytest.mark.parametrize("n_columns", [1, 9, module.COLUMNS_AT_ONCE, module.COLUMNS_AT_ONCE + 7])
def test_sparse_rows_times_a_matrix_are_added(n_columns):
    rows, matrix = made(0, n_columns)
    total = np.full((N_ROWS, n_columns), 2.0, dtype=np.float32)

    module.add_products(Entries.of(rows, N_INNER), matrix, total)

    np.testing.assert_allclose(total, 2.0 + rows.toarray() @ matrix, atol=1e-4)


def test_where_nothing_is_known_nothing_is_added():
    nothing, total = Entries.none(3), np.ones((3, 4), dtype=np.float32)
    empty = np.zeros((0, 4), dtype=np.float32)

    module.add_products(nothing, empty, total)

    assert (total == 1.0).all()
