"""Adam takes its authors' steps, row by row."""

import numpy as np

from sugartag.methods.mrtf.training import RowAdam


def textbook_adam(value, gradients, rate):
    """Algorithm 1 of Kingma and Ba, for one number."""
    first = second = 0.0
    for step, gradient in enumerate(gradients, start=1):
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient**2
        mean, square = first / (1 - 0.9**step), second / (1 - 0.999**step)
        value -= rate * mean / (square**0.5 + 1e-8)
    return value


def test_every_number_takes_the_textbooks_steps(rng):
    values = rng.standard_normal((3, 2))
    gradients = rng.standard_normal((5, 3, 2))
    moved, adam = values.copy(), RowAdam.of(values, 0.1)

    for gradient in gradients:
        adam.descend(moved, gradient)

    expected = [
        [textbook_adam(values[i, j], gradients[:, i, j], 0.1) for j in range(2)] for i in range(3)
    ]
    np.testing.assert_allclose(moved, expected, rtol=1e-12)


def test_a_row_left_out_stands_still_and_misses_nothing(rng):
    values, gradients = rng.standard_normal((2, 3)), rng.standard_normal((4, 2, 3))
    apart, together = values.copy(), values.copy()
    seldom, always = RowAdam.of(values, 0.1), RowAdam.of(values, 0.1)

    for gradient in gradients:
        always.descend(together, gradient)
        seldom.descend(apart, gradient[[0]], np.array([0]))
    np.testing.assert_array_equal(apart[1], values[1])
    for gradient in gradients:
        seldom.descend(apart, gradient[[1]], np.array([1]))

    np.testing.assert_allclose(apart, together, rtol=1e-12)


def test_without_a_gradient_nothing_moves():
    values = np.ones((2, 2))

    RowAdam.of(values, 0.1).descend(values, np.zeros((2, 2)))

    np.testing.assert_array_equal(values, 1.0)


def test_it_finds_the_bottom_of_a_bowl():
    values, bottom = np.zeros((1, 2)), np.array([[1.0, -2.0]])
    adam = RowAdam.of(values, 0.02)

    for _ in range(1000):
        adam.descend(values, np.array([1.0, 10.0]) * (values - bottom))

    np.testing.assert_allclose(values, bottom, atol=0.01)
