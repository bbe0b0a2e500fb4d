import numpy as np
import pytest
from scipy import sparse

from sugartag.methods.sugar_plus.at_places import (
    inner_product,
    place_of,
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


def test_rows_that_have_nothing_or_ask_for_nothing_have_no_products():
    nothing = sparse.csr_array((3, N_COLUMNS), dtype=np.float32)
    one = sparse.csr_array(np.eye(3, N_COLUMNS, dtype=np.float32))
    matrix = np.ones((N_COLUMNS, N_COLUMNS), dtype=np.float32)

    assert sparse_products(nothing, one, one.data[None], matrix).shape == (1, 0)
    assert sparse_products(one, nothing, nothing.data[None], matrix).tolist() == [[0.0] * 3]


def test_two_rows_have_an_inner_product(rng):
    left, right = rng.normal(size=(2, 600)).astype(np.float32)

    assert inner_product(left, right) == pytest.approx(float(left @ right), abs=1e-4)
    assert inner_product(left[:0], right[:0]) == 0.0


def test_a_column_is_found_among_others_or_not(rng):
    column = np.array([0, 3, 4, 7, 9, 12, 2], dtype=np.int32)

    found = [place_of(wanted, column, 1, 6) for wanted in range(14)]

    assert found == [place_of.py_func(wanted, column, 1, 6) for wanted in range(14)]
    assert [place for place in found if place < 6] == [1, 2, 3, 4, 5]
    assert [found.index(place) for place in range(1, 6)] == [3, 4, 7, 9, 12]


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
