import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as some
from scipy import sparse

from sugartag.linalg.distances import squared_distances, unit_rows
from sugartag.linalg.modes import apply_to_tags, inner
from sugartag.linalg.sparse_rows import (
    GrowingRows,
    chosen_columns,
    damped_unit_rows,
    entries_between,
    row_number_of_entries,
    same_places,
    strongest_per_row,
)

small_matrices = some.arrays(
    np.int64, st.tuples(st.integers(0, 6), st.integers(0, 6)), elements=st.integers(0, 4)
)


def literal_strongest(row: np.ndarray, count: int) -> np.ndarray:
    order = sorted(np.flatnonzero(row), key=lambda column: (-row[column], column))[:count]
    made = np.zeros_like(row)
    made[order] = row[order]
    return made


@settings(deadline=None)
@given(small_matrices)
def test_each_entry_knows_its_row(matrix):
    stored = sparse.csr_array(matrix)

    np.testing.assert_array_equal(row_number_of_entries(stored), stored.tocoo().row)


@settings(deadline=None)
@given(small_matrices, st.integers(1, 7))
def test_the_strongest_of_each_row_are_kept_and_ties_go_by_column(matrix, count):
    found = strongest_per_row(sparse.csr_array(matrix), count)

    expected = [literal_strongest(row, count) for row in matrix]
    np.testing.assert_array_equal(found.toarray(), np.reshape(expected, matrix.shape))
    assert (np.diff(found.indptr) <= count).all()


def test_the_strongest_are_found_in_any_storage_order():
    shuffled = sparse.csr_array(
        (np.array([1.0, 5.0, 5.0, 3.0]), np.array([3, 2, 0, 1]), np.array([0, 4])), shape=(1, 4)
    )

    assert strongest_per_row(shuffled, 2).toarray().tolist() == [[5, 0, 5, 0]]
    assert strongest_per_row(shuffled, 1).toarray().tolist() == [[5, 0, 0, 0]]


@settings(deadline=None)
@given(small_matrices)
def test_dampened_rows_have_length_one_or_nothing(matrix):
    found = damped_unit_rows(sparse.csr_array(matrix)).toarray()

    for row, made in zip(matrix, found, strict=True):
        dampened = np.log(1.0 + row)
        length = np.sqrt(np.sum(dampened**2))
        np.testing.assert_allclose(made, dampened / (length or 1.0), atol=1e-12)


@pytest.mark.parametrize("kind", [np.int8, np.float64])
def test_dampening_leaves_the_counts_alone(kind):
    counts = sparse.csr_array(np.array([[1, 2], [0, 3]], dtype=kind))

    damped_unit_rows(counts)

    assert counts.dtype == kind
    assert counts.toarray().tolist() == [[1, 2], [0, 3]]


@settings(deadline=None)
@given(small_matrices, st.data())
def test_chosen_columns_are_those_of_the_matrix(matrix, data):
    wanted = data.draw(some.arrays(np.bool_, matrix.shape[1]))
    columns = np.flatnonzero(wanted)

    found = chosen_columns(sparse.csr_array(matrix), columns)

    np.testing.assert_array_equal(found.toarray(), matrix[:, columns])
    assert found.dtype == matrix.dtype
    assert found.has_canonical_format


@pytest.mark.parametrize("kind", [np.int8, np.float32])
def test_choosing_columns_keeps_stored_zeros_and_leaves_the_matrix_alone(kind):
    matrix = sparse.csr_array(np.array([[1, 2, 3], [4, 0, 5]], dtype=kind))
    matrix.data[1] = 0

    found = chosen_columns(matrix, np.array([1, 2]))

    assert found.dtype == kind
    assert found.nnz == 3
    assert found.toarray().tolist() == [[0, 3], [0, 5]]
    assert matrix.toarray().tolist() == [[1, 0, 3], [4, 0, 5]]


@settings(deadline=None)
@given(small_matrices)
def test_other_values_lie_in_the_same_places(matrix):
    stored = sparse.csr_array(matrix)
    values = np.arange(stored.nnz, dtype=np.float32)

    found = same_places(values, stored)

    expected = np.zeros(matrix.shape)
    expected[stored.nonzero()] = values
    np.testing.assert_array_equal(found.toarray(), expected)
    assert found.nnz == stored.nnz
    assert found.dtype == np.float32
    np.testing.assert_array_equal(stored.toarray(), matrix)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_squared_distances_are_those_of_pairs(kind, rng):
    rows, others = rng.normal(size=(7, 5)).astype(kind), rng.normal(size=(4, 5)).astype(kind)

    found = squared_distances(rows, others)

    pairs = rows.astype(float)[:, None] - others.astype(float)[None]
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, np.sum(pairs**2, axis=2), atol=1e-12)


def test_squared_distances_are_never_negative(rng):
    rows = 1e3 * rng.normal(size=(200, 30))

    assert squared_distances(rows, rows).min() >= 0


def test_unit_rows_have_length_one_and_nothing_stays_nothing():
    found = unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]], dtype=np.float32))

    assert found.dtype == np.float32
    np.testing.assert_allclose(found, [[0.6, 0.8], [0.0, 0.0]], atol=1e-7)


@pytest.mark.parametrize("threads", [1, 3])
def test_tags_are_mixed_in_chunks_as_in_one_product(threads, rng, monkeypatch):
    monkeypatch.setattr("sugartag.linalg.modes.COLUMNS_PER_CHUNK", 7)
    tensor, first, second = (rng.normal(size=shape) for shape in ((4, 5, 6), (4, 4), (4, 4)))
    expected = np.einsum("at,bij,tb->aij", second, tensor, first)

    apply_to_tags((sparse.csr_array(first), second), tensor, tensor, threads=threads)

    np.testing.assert_allclose(tensor, expected, atol=1e-12)


def test_inner_products_of_single_precision_are_summed_in_double():
    ones = np.full((3, 1000, 1000), 0.1, dtype=np.float32)

    found = inner(ones, ones)

    assert found == pytest.approx(3e6 * float(np.float32(0.1)) ** 2, rel=1e-12)


@pytest.mark.parametrize("guess", [0, 3, 1_000])
def test_rows_that_grow_are_those_that_came_in(rng, guess):
    matrix = sparse.csr_array((rng.random((40, 9)) < 0.3).astype(np.float64))
    growing = GrowingRows(9, guess, guess, np.float64)

    for start in range(0, 40, 7):
        growing.take(matrix[start : start + 7])

    np.testing.assert_array_equal(growing.rows().toarray(), matrix.toarray())
    assert growing.filled == matrix.nnz


def test_rows_that_grow_have_small_numbers_for_places():
    growing = GrowingRows(9, 4, 10, np.float32)
    growing.take(sparse.csr_array(np.eye(4, 9)))

    found = growing.rows()

    assert found.indices.dtype == found.indptr.dtype == np.int32


def test_numbers_between_ends_come_case_by_case():
    case, number = entries_between(np.array([3, 7, 0]), np.array([5, 7, 2]))

    assert case.tolist() == [0, 0, 2, 2]
    assert number.tolist() == [3, 4, 0, 1]
