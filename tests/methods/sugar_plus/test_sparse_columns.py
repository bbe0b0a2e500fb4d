import numpy as np
import pytest

from methods.sugar_plus.literal import all_rows, columns_of
from sugartag.methods.sugar_plus import sparse_columns as module
from sugartag.methods.sugar_plus.owner_sums import add_rows, rows_summed
from sugartag.methods.sugar_plus.sparse_columns import (
    add_mixed_products,
    add_products,
    outside_of,
    runs,
    sparse_columns,
)


@pytest.fixture
def words(odd, evidence):
    return evidence.words_of(all_rows(odd))


@pytest.fixture
def columns(trusted, words, evidence):
    return sparse_columns(trusted, words, evidence)


@pytest.fixture
def literal(odd, trusted, evidence):
    """The same as a matrix in full."""
    tags = trusted.toarray().astype(float)
    known = columns_of(all_rows(odd), tags, evidence)[:, : evidence.n_sparse]
    return np.hstack([known, tags[:, outside_of(evidence)]])


def test_columns_are_tags_then_words_then_all_other_tags(columns, literal):
    by_row, by_column = np.zeros(literal.shape), np.zeros(literal.shape)
    row = np.repeat(np.arange(len(literal)), np.diff(columns.start))
    column = np.repeat(np.arange(columns.n_columns), np.diff(columns.top))

    by_row[row, columns.column] = columns.value
    by_column[columns.row, column] = columns.value[columns.place]

    np.testing.assert_array_equal(by_row, literal)
    np.testing.assert_array_equal(by_column, literal)
    assert (np.diff(columns.column)[row[1:] == row[:-1]] > 0).all()
    np.testing.assert_allclose(columns.sums(), literal.sum(axis=0), rtol=1e-12)


def test_columns_are_the_same_whatever_the_order_of_what_is_stored(
    trusted, words, evidence, columns
):
    turned = trusted.copy()
    for start, stop in zip(trusted.indptr[:-1], trusted.indptr[1:], strict=True):
        turned.indices[start:stop] = trusted.indices[start:stop][::-1]
        turned.data[start:stop] = trusted.data[start:stop][::-1]
    turned.has_sorted_indices = False

    found = sparse_columns(turned, words, evidence)

    for some, expected in zip(found, columns, strict=True):
        np.testing.assert_array_equal(some, expected)


def test_rows_are_weighed(columns, literal, rng):
    weight = rng.random(len(literal))

    found = columns.weighed(weight)

    np.testing.assert_allclose(found.sums(), weight @ literal, rtol=1e-12)


@pytest.mark.parametrize("threads", [1, 3])
def test_products_of_columns_are_added_above_the_diagonal(
    columns, literal, evidence, threads, monkeypatch
):
    monkeypatch.setattr(module, "BAND", 7)
    n = evidence.n_sparse
    gram, cross = np.ones((n + 2, n + 2)), np.ones((n + 2, columns.n_columns - n))

    add_products(columns, gram, cross, threads=threads)

    products = literal.T @ literal
    expected = np.ones_like(gram)
    expected[:n, :n] += np.triu(products[:n, :n])
    np.testing.assert_allclose(gram, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(cross[:n], 1 + products[:n, n:], rtol=1e-12, atol=1e-12)
    assert (cross[n:] == 1).all()


@pytest.mark.parametrize("threads", [1, 3])
def test_products_with_dense_columns_are_added_in_double_precision(
    columns, literal, threads, rng, monkeypatch
):
    monkeypatch.setattr(module, "BAND", 7)
    dense = rng.random((len(literal), 5)).astype(np.float32)
    mixed = np.ones((columns.n_columns, 5))

    add_mixed_products(columns, dense, mixed, threads=threads)

    np.testing.assert_allclose(mixed, 1 + literal.T @ dense.astype(float), rtol=1e-12)


def test_compiled_loops_do_what_is_written(columns, evidence, rng):
    n, n_every = evidence.n_sparse, columns.n_columns
    dense = rng.random((len(columns.start) - 1, 3)).astype(np.float32)
    gram, cross, mixed = np.zeros((n, n)), np.zeros((n, n_every - n)), np.zeros((n_every, 3))
    expected = [part.copy() for part in (gram, cross, mixed)]

    module._add_products(columns, 2, n, gram, cross)
    module._add_products.py_func(columns, 2, n, expected[0], expected[1])
    module._add_mixed_products(columns, 3, n_every, dense, mixed)
    module._add_mixed_products.py_func(columns, 3, n_every, dense, expected[2])

    for found, wanted in zip((gram, cross, mixed), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
        assert wanted.any()


def test_rows_of_each_run_are_summed_and_added_in_their_places(rng):
    rows = rng.random((9, 4)).astype(np.float32)
    order, start, stop = rng.permutation(9), np.array([0, 3, 4]), np.array([3, 4, 8])
    total = np.ones((6, 4), dtype=np.float32)

    found = np.empty((3, 4), dtype=np.float32)
    rows_summed(rows, order, start, stop, found)
    add_rows(total, np.array([5, 0, 2]), found)

    parts = [order[0:3], order[3:4], order[4:8]]
    expected = np.array([rows[part].sum(axis=0) for part in parts])
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    np.testing.assert_array_equal(total[[5, 0, 2]], 1 + found)
    assert (total[[1, 3, 4]] == 1).all()


@pytest.mark.parametrize("at_once", [1, 30, 10_000])
def test_runs_have_all_rows_and_few_entries(trusted, at_once, monkeypatch):
    monkeypatch.setattr(module, "ENTRIES_AT_ONCE", at_once)

    found = list(runs(trusted.indptr))

    rows = np.concatenate([np.arange(run.start, run.stop) for run in found])
    np.testing.assert_array_equal(rows, np.arange(trusted.shape[0]))
    for run in found:
        entries = trusted.indptr[run.stop] - trusted.indptr[run.start]
        assert entries <= at_once or run.stop - run.start == 1
