import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from sugartag.errors import SettingsError
from sugartag.linalg import neighbours
from sugartag.linalg.neighbours import nearest_rows


def brute_force(queries, rows, k):
    """Return index and distance of the k nearest, from all differences in double precision."""
    apart = queries[:, None, :].astype(np.float64) - rows[None, :, :].astype(np.float64)
    squared = np.square(apart).sum(axis=2)
    order = np.lexsort((np.broadcast_to(np.arange(len(rows)), squared.shape), squared))[:, :k]
    return order, np.sqrt(np.take_along_axis(squared, order, axis=1))


def blocks_of(rows, length):
    return [rows[start : start + length] for start in range(0, len(rows), length)]


def some_rows(rng, n, d=24):
    return rng.standard_normal((n, d)).astype(np.float32)


@pytest.mark.parametrize("k", [1, 7, 300])
def test_it_finds_what_brute_force_finds(k, rng):
    queries, rows = some_rows(rng, 40), some_rows(rng, 300)

    found = nearest_rows(queries, [rows], k)

    index, distance = brute_force(queries, rows, k)
    np.testing.assert_array_equal(found.index, index)
    np.testing.assert_allclose(found.distance, distance, rtol=1e-12)


@pytest.mark.parametrize("length", [120, 500])
@pytest.mark.parametrize("offset", [0.0, 100.0])
@pytest.mark.parametrize("scale", [1e-22, 1.0, 1e12])
def test_it_is_exact_where_single_precision_is_not(scale, offset, length, rng):
    rows = (scale * (some_rows(rng, 500) + offset)).astype(np.float32)

    found = nearest_rows(rows[:60], blocks_of(rows, length), 20)

    index, distance = brute_force(rows[:60], rows, 20)
    np.testing.assert_array_equal(found.index, index)
    np.testing.assert_allclose(found.distance, distance, rtol=1e-12)


@pytest.mark.parametrize("length", [1, 3, 64, 1000])
def test_rows_that_are_equal_stand_in_the_order_of_their_index(length, rng):
    rows = some_rows(rng, 12, d=33)[rng.integers(12, size=200)]

    found = nearest_rows(rows, blocks_of(rows, length), 50)

    same = [np.flatnonzero((rows == row).all(axis=1)) for row in rows]
    for query, twins in enumerate(same):
        np.testing.assert_array_equal(found.index[query, : len(twins)], twins[:50])
        assert (found.distance[query, : len(twins)] == 0).all()
    np.testing.assert_array_equal(found.index, nearest_rows(rows, [rows], 50).index)


@pytest.mark.parametrize("length", [1, 17, 50, 119])
def test_the_cut_into_blocks_does_not_change_a_bit(length, rng, monkeypatch):
    rows = some_rows(rng, 120, d=100)
    whole = nearest_rows(rows, [rows], 30)

    monkeypatch.setattr(neighbours, "QUERIES_AT_ONCE", length)
    monkeypatch.setattr(neighbours, "VALUES_AT_ONCE", 700)
    monkeypatch.setattr(neighbours, "CELLS_AT_ONCE", 100)
    cut = nearest_rows(rows, blocks_of(rows, length), 30)

    np.testing.assert_array_equal(cut.index, whole.index)
    np.testing.assert_array_equal(cut.distance, whole.distance)


def test_the_number_of_threads_does_not_change_a_bit(rng):
    rows = some_rows(rng, 1500, d=256)
    with threadpool_limits(1):
        alone = nearest_rows(rows, [rows], 25)

    found = nearest_rows(rows, [rows], 25)

    np.testing.assert_array_equal(found.index, alone.index)
    np.testing.assert_array_equal(found.distance, alone.distance)


@pytest.mark.parametrize("length", [2, 5])
def test_neighbours_that_do_not_exist_have_the_number_of_rows_for_index(length, rng):
    rows = some_rows(rng, 5)

    found = nearest_rows(rows, blocks_of(rows, length), 8)

    np.testing.assert_array_equal(np.sort(found.index[:, :5]), np.tile(np.arange(5), (5, 1)))
    assert (found.index[:, 5:] == 5).all()
    assert np.isinf(found.distance[:, 5:]).all()


@pytest.mark.parametrize("length", [9, 200])
def test_a_query_never_finds_a_row_of_its_own_label(length, rng):
    rows = some_rows(rng, 200)
    label = rng.integers(4, size=200)

    found = nearest_rows(rows, blocks_of(rows, length), 30, query_labels=label, row_labels=label)

    for query in range(200):
        others = np.flatnonzero(label != label[query])
        index, _ = brute_force(rows[[query]], rows[others], 30)
        np.testing.assert_array_equal(found.index[query], others[index[0]])


def test_a_query_whose_label_all_rows_bear_finds_nothing(rng):
    rows = some_rows(rng, 6)
    same = np.zeros(6, dtype=int)

    found = nearest_rows(rows, blocks_of(rows, 4), 3, query_labels=same, row_labels=same)

    assert (found.index == 6).all()
    assert np.isinf(found.distance).all()


def test_rows_of_zeros_are_all_at_distance_zero():
    zeros = np.zeros((20, 4), dtype=np.float32)

    found = nearest_rows(zeros[:2], blocks_of(zeros, 6), 7)

    np.testing.assert_array_equal(found.index, np.tile(np.arange(7), (2, 1)))
    assert (found.distance == 0).all()


def test_no_queries_find_nothing(rng):
    found = nearest_rows(some_rows(rng, 0), [some_rows(rng, 5)], 3)

    assert found.index.shape == found.distance.shape == (0, 3)


def test_asking_for_no_neighbours_is_an_error(rng):
    with pytest.raises(SettingsError, match="k is 0; ask for at least 1"):
        nearest_rows(some_rows(rng, 2), [some_rows(rng, 2)], 0)


def test_labels_on_one_side_only_are_an_error(rng):
    rows = some_rows(rng, 2)

    with pytest.raises(ValueError, match="for the queries and for the rows"):
        nearest_rows(rows, [rows], 1, query_labels=np.arange(2))
