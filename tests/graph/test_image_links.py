import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as some

import reference
from sugartag.graph.image_links import ImageLinker, median_distance, nearest_columns

EVERY_ANCHOR = 10**6


@pytest.fixture(params=range(3))
def seeded(request):
    return np.random.default_rng(request.param)


def literal_top(kernel: np.ndarray, count: int) -> np.ndarray:
    """Keep the ``count`` largest values of each row, ties by column, one row at a time."""
    made = np.zeros_like(kernel)
    for row, values in enumerate(kernel):
        kept = sorted(range(len(values)), key=lambda column: (-values[column], column))[:count]
        made[row, kept] = values[kept]
    return made


def test_links_are_the_printed_kernel_with_its_cut(seeded):
    rows, anchors = seeded.normal(size=(20, 6)), seeded.normal(size=(9, 6))

    found = ImageLinker(anchors, 1.2, 1e-4, EVERY_ANCHOR).links(rows)

    expected = reference.rbf(rows, anchors, 1.2)
    assert (expected == 0).any()
    assert (expected > 0).any()
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-10, atol=0)
    assert found.nnz == np.count_nonzero(expected)


@pytest.mark.parametrize("max_links", [1, 3, 8, 9])
def test_the_nearest_anchors_alone_are_kept(max_links, seeded):
    rows, anchors = seeded.normal(size=(20, 6)), seeded.normal(size=(9, 6))

    found = ImageLinker(anchors, 1.5, 1e-4, max_links).links(rows)

    expected = literal_top(reference.rbf(rows, anchors, 1.5), max_links)
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-10, atol=0)


def test_links_are_rows_of_doubles_with_rising_columns(seeded):
    rows, anchors = seeded.normal(size=(20, 6)).astype(np.float32), seeded.normal(size=(9, 6))

    found = ImageLinker(anchors, 3.0, 1e-4, 4).links(rows)

    assert found.dtype == np.float64
    assert found.shape == (20, 9)
    for start, stop in zip(found.indptr, found.indptr[1:], strict=False):
        assert (np.diff(found.indices[start:stop]) > 0).all()


def test_an_image_far_from_every_anchor_is_linked_to_none(rng):
    found = ImageLinker(rng.normal(size=(5, 3)), 1.0, 1e-4, 2).links(np.full((2, 3), 100.0))

    assert found.shape == (2, 5)
    assert found.nnz == 0


def test_an_anchor_is_linked_to_itself_by_one(rng):
    anchors = rng.normal(size=(5, 3))

    found = ImageLinker(anchors, 1.0, 1e-4, 2).links(anchors)

    np.testing.assert_allclose(found.diagonal(), 1.0, atol=1e-12)


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_ties_go_to_the_anchor_that_comes_first(count, rng):
    anchors = np.repeat(rng.normal(size=(2, 4)), 4, axis=0)
    anchors[[1, 5]] = 50.0

    found = ImageLinker(anchors, 2.0, 0.0, count).links(anchors[:1])

    assert found.indices.tolist() == [0, 2, 3, 4, 6][:count]


@settings(deadline=None)
@given(
    some.arrays(
        np.int64, st.tuples(st.integers(1, 5), st.integers(1, 9)), elements=st.integers(0, 4)
    ),
    st.integers(1, 10),
)
def test_nearest_columns_are_the_smallest_values_ties_by_column(distances, count):
    found = nearest_columns(distances.astype(float), count)

    expected = [sorted(np.argsort(row, kind="stable")[:count].tolist()) for row in distances]
    assert found.tolist() == expected


def test_barred_pairs_are_never_linked_and_others_take_their_place(seeded):
    rows, anchors = seeded.normal(size=(20, 6)), seeded.normal(size=(9, 6))
    barred = seeded.random((20, 9)) < 0.4

    found = ImageLinker(anchors, 3.0, 1e-4, 3).links(rows, barred=barred)

    kernel = np.where(barred, 0.0, reference.rbf(rows, anchors, 3.0))
    np.testing.assert_allclose(found.toarray(), literal_top(kernel, 3), rtol=1e-10, atol=0)


@pytest.mark.parametrize("max_links", [2, EVERY_ANCHOR])
@pytest.mark.parametrize("cutoff", [1e-4, 0.0])
def test_an_image_barred_from_every_anchor_is_linked_to_none(max_links, cutoff, rng):
    anchors = rng.normal(size=(5, 3))
    barred = np.zeros((3, 5), dtype=bool)
    barred[1] = True

    found = ImageLinker(anchors, 3.0, cutoff, max_links).links(anchors[:3], barred=barred)

    assert np.diff(found.indptr).tolist() == [min(max_links, 5), 0, min(max_links, 5)]


def test_an_image_without_links_may_be_linked_to_its_nearest_anchor_by_the_cutoff(rng):
    anchors, far = rng.normal(size=(5, 3)), np.full((2, 3), 100.0)
    rows = np.concatenate([far, anchors[:1]])

    found = ImageLinker(anchors, 1.0, 1e-4, 2, lone_links=True).links(rows)

    nearest = np.linalg.norm(anchors - far[0], axis=1).argmin()
    expected = ImageLinker(anchors, 1.0, 1e-4, 2).links(rows).toarray()
    expected[:2, nearest] = 1e-4
    np.testing.assert_allclose(found.toarray(), expected)


@pytest.mark.parametrize(("count", "max_links"), [(3, 9), (6, 2), (9, 4), (50, 50)])
def test_all_of_the_nearest_anchors_are_named_even_where_their_link_is_cut(
    count, max_links, seeded
):
    rows, anchors = seeded.normal(size=(20, 6)), seeded.normal(size=(9, 6))

    found = ImageLinker(anchors, 0.9, 1e-4, max_links).nearest(rows, count)

    kernel = literal_top(reference.rbf(rows, anchors, 0.9), max_links)
    assert (kernel == 0).any()
    for row in range(20):
        distance = np.linalg.norm(rows[row] - anchors, axis=1)
        named = found.indices[found.indptr[row] : found.indptr[row + 1]]
        assert sorted(named) == sorted(np.argsort(distance, kind="stable")[:count])
        linked = np.zeros(9)
        linked[named] = kernel[row, named]
        np.testing.assert_allclose(found.toarray()[row], linked, rtol=1e-10, atol=0)


def test_an_anchor_that_is_barred_is_not_among_the_nearest(seeded):
    rows, anchors = seeded.normal(size=(20, 6)), seeded.normal(size=(9, 6))
    barred = seeded.random((20, 9)) < 0.7

    found = ImageLinker(anchors, 3.0, 1e-4, 9).nearest(rows, 4, barred=barred)

    row = np.repeat(np.arange(20), np.diff(found.indptr))
    assert not barred[row, found.indices].any()
    np.testing.assert_array_equal(
        np.diff(found.indptr), np.minimum(np.count_nonzero(~barred, axis=1), 4)
    )


def test_the_median_distance_is_that_of_all_pairs_and_follows_the_scale(seeded):
    sample, anchors = seeded.normal(size=(30, 4)), seeded.normal(size=(7, 4))

    found = median_distance(sample, anchors)

    pairs = [np.linalg.norm(row - anchor) for row in sample for anchor in anchors]
    assert found == pytest.approx(np.median(pairs), rel=1e-3)
    assert median_distance(100 * sample, 100 * anchors) == pytest.approx(100 * found, rel=1e-9)


def test_a_median_distance_is_above_nothing_where_all_images_are_the_same():
    same = np.zeros((4, 3))

    assert median_distance(same, same) == 1.0
