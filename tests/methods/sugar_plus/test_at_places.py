import numpy as np
import pytest
from scipy import sparse

from sugartag.methods.sugar_plus.at_places import (
    dense_products,
    inner_products,
    sparse_products,
    stored_at,
)

N_ROWS, N_COLUMNS, N_PLACES = 40, 15, 30


def some_of(rng, shape):
    """Return a sparse matrix with rows of all lengths, empty and full ones among them."""
    share = np.linspace(0.0, 1.0, shape[0])
    rng.shuffle(share)
    return sparse.csr_array(
        np.where(rng.random(shape) < share[:, None], rng.normal(size=shape), 0.0).astype(np.float32)
    )


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def test_sparse_rows_are_multiplied_at_the_places_asked_for(rng):
    places, columns = some_of(rng, (N_ROWS, N_PLACES)), some_of(rng, (N_ROWS, N_COLUMNS))
    matrix = rng.normal(size=(N_COLUMNS + 3, N_PLACES + 2)).astype(np.float32)
    other = rng.normal(size=columns.nnz).astype(np.float32)

    found = sparse_products(places, columns, np.stack([columns.data, other]), matrix)

    asked = places.nonzero()
    again = sparse.csr_array((other, columns.indices, columns.indptr), shape=columns.shape)
    for number, rows in enumerate((columns, again)):
        expected = (rows.toarray() @ matrix[:N_COLUMNS])[asked]
        np.testing.assert_allclose(found[number], expected, atol=1e-5)


def test_dense_rows_are_multiplied_at_the_places_asked_for(rng):
    places = some_of(rng, (N_ROWS, N_PLACES))
    rows = rng.normal(size=(N_ROWS, 9)).astype(np.float32)
    turned = rng.normal(size=(N_PLACES, 9)).astype(np.float32)

    found = dense_products(places, rows, turned)

    np.testing.assert_allclose(found, (rows @ turned.T)[places.nonzero()], atol=1e-5)


def test_rows_that_have_nothing_or_ask_for_nothing_have_no_products():
    nothing = sparse.csr_array((3, N_COLUMNS), dtype=np.float32)
    one = sparse.csr_array(np.eye(3, N_COLUMNS, dtype=np.float32))
    matrix = np.ones((N_COLUMNS, N_COLUMNS), dtype=np.float32)

    assert sparse_products(nothing, one, one.data[None], matrix).shape == (1, 0)
    assert sparse_products(one, nothing, nothing.data[None], matrix).tolist() == [[0.0] * 3]
    assert dense_products(nothing, matrix[:3], matrix).shape == (0,)


def test_rows_are_multiplied_with_those_of_another_matrix(rng):
    left, right = (rng.normal(size=(count, 6)).astype(np.float32) for count in (20, 4))
    row = rng.integers(4, size=20)

    found = inner_products(left, right, row)

    np.testing.assert_allclose(found, (left * right[row]).sum(axis=1), atol=1e-6)


def test_places_are_found_where_a_matrix_stores_them(rng):
    matrix = some_of(rng, (N_ROWS, N_PLACES))
    # The last ones are past the rows that the matrix has.
    row = np.append(rng.integers(N_ROWS, size=60), [N_ROWS, N_ROWS + 5])
    places = some_of(rng, (len(row), N_PLACES))

    place, there = stored_at(matrix, row, places)

    image, column = places.nonzero()
    padded = np.vstack([matrix.toarray(), np.zeros((6, N_PLACES))])
    expected = padded[row[image], column]
    assert 0 < there.sum() < len(there)
    np.testing.assert_array_equal(there, expected != 0)
    np.testing.assert_array_equal(matrix.data[place[there]], expected[there])


def test_a_matrix_without_rows_stores_nothing(rng):
    places = some_of(rng, (5, N_PLACES))

    _, there = stored_at(sparse.csr_array((0, N_PLACES)), np.zeros(5, dtype=int), places)

    assert len(there) == places.nnz
    assert not there.any()


def test_places_may_come_as_large_numbers_and_arrays_that_cannot_be_written_to(rng):
    places, columns = some_of(rng, (N_ROWS, N_PLACES)), some_of(rng, (N_ROWS, N_COLUMNS))
    matrix = rng.normal(size=(N_COLUMNS, N_PLACES)).astype(np.float32)
    expected = sparse_products(places, columns, columns.data[None], matrix)
    large = places.copy()
    large.indptr, large.indices = (
        part.astype(np.int64) for part in (places.indptr, places.indices)
    )
    for part in (large.indptr, large.indices, matrix):
        part.flags.writeable = False

    found = sparse_products(large, columns, columns.data[None], matrix)

    np.testing.assert_array_equal(found, expected)
