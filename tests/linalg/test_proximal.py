import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.linalg import aslinearoperator
from threadpoolctl import threadpool_limits

from sugartag.linalg.proximal import (
    largest_singular_parts,
    singular_parts,
    soft_threshold,
    threshold_largest_singular_values,
    threshold_singular_values,
)


def decaying(rng, shape=(80, 50), share=0.7):
    """A matrix whose singular values fall by a share each."""
    left = np.linalg.qr(rng.standard_normal((shape[0], min(shape))))[0]
    right = np.linalg.qr(rng.standard_normal((shape[1], min(shape))))[0]
    return (left * 10 * share ** np.arange(min(shape))) @ right.T


@given(st.floats(-5, 5), st.floats(0, 3))
def test_a_soft_threshold_is_the_proximal_step_of_the_absolute_value(value, threshold):
    found = float(soft_threshold(np.array([value]), threshold)[0])

    def cost(x):
        return threshold * abs(x) + (x - value) ** 2 / 2

    assert all(cost(found) <= cost(x) + 1e-9 for x in np.linspace(-6, 6, 241))


def test_the_whole_matrix_comes_back_from_its_parts(rng):
    matrix = rng.standard_normal((7, 4))

    np.testing.assert_allclose(singular_parts(matrix).matrix(), matrix, atol=1e-12)


def test_thresholding_is_the_proximal_step_of_the_nuclear_norm(rng):
    matrix = rng.standard_normal((6, 5))
    found = threshold_singular_values(matrix, 0.8)

    def cost(candidate):
        nuclear = np.linalg.svd(candidate, compute_uv=False).sum()
        return 0.8 * nuclear + np.sum((candidate - matrix) ** 2) / 2

    least = cost(found.matrix())
    assert found.rank < 5
    for _ in range(200):
        assert least <= cost(found.matrix() + 0.1 * rng.standard_normal((6, 5)))


def test_an_operator_of_low_rank_is_found_exactly(rng):
    matrix = rng.standard_normal((90, 6)) @ rng.standard_normal((6, 40))

    found = largest_singular_parts(aslinearoperator(matrix), 8, rng=rng, power_steps=0)

    np.testing.assert_allclose(found.matrix(), matrix, atol=1e-10)


def test_both_ways_of_thresholding_agree(rng):
    matrix = decaying(rng)

    found = threshold_largest_singular_values(
        aslinearoperator(matrix), 0.5, max_rank=50, rng=rng, power_steps=3
    )

    expected = threshold_singular_values(matrix, 0.5)
    assert found.rank == expected.rank
    np.testing.assert_allclose(found.matrix(), expected.matrix(), atol=1e-6)


def test_the_rank_grows_until_all_above_the_threshold_are_found(rng):
    matrix = decaying(rng, share=0.95)

    found = threshold_largest_singular_values(
        aslinearoperator(matrix), 1.5, max_rank=50, rng=rng, power_steps=4
    )

    expected = threshold_singular_values(matrix, 1.5)
    assert found.rank == expected.rank > 20
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-6)


def test_the_rank_never_exceeds_what_was_asked(rng):
    operator = aslinearoperator(rng.standard_normal((30, 40)))

    assert threshold_largest_singular_values(operator, 0.0, max_rank=7, rng=rng).rank == 7


def test_directions_that_are_known_need_no_power_step(rng):
    matrix = decaying(rng, share=0.9)
    exact = singular_parts(matrix)

    warm = largest_singular_parts(
        aslinearoperator(matrix), 5, rng=rng, power_steps=0, start=exact.right[:, :5]
    )

    np.testing.assert_allclose(warm.values, exact.values[:5], rtol=1e-9)


def test_more_directions_than_needed_do_no_harm(rng):
    matrix = rng.standard_normal((12, 9))

    found = largest_singular_parts(
        aslinearoperator(matrix), 3, rng=rng, start=singular_parts(matrix).right
    )

    np.testing.assert_allclose(found.values, singular_parts(matrix).values[:3], rtol=1e-10)


@pytest.mark.parametrize("threads", [1, 2])
def test_the_same_generator_gives_the_same_bits(threads):
    matrix = decaying(np.random.default_rng(5), shape=(300, 200))

    def parts():
        return largest_singular_parts(
            aslinearoperator(matrix), 20, rng=np.random.default_rng(1), power_steps=1
        )

    once = parts()
    with threadpool_limits(threads):
        again = parts()

    np.testing.assert_array_equal(again.left, once.left)
    np.testing.assert_array_equal(again.values, once.values)
