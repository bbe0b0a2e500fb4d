"""Posts of a Tucker tensor against the whole tensor, and their gradients against differences."""

import numpy as np
import pytest

from sugartag.linalg.tucker import post_gradients, post_vectors


@pytest.fixture
def parts(rng):
    """Core, and the factors of the users and images of five posts."""
    return (
        rng.standard_normal((2, 3, 4)),
        rng.standard_normal((5, 2)),
        rng.standard_normal((5, 3)),
    )


def test_a_post_vector_meets_the_tags_as_the_tensor_has_it(parts, rng):
    core, users, images = parts
    tags = rng.standard_normal((6, 4))
    tensor = np.einsum("abc,ua,ib,tc->uit", core, users, images, tags)

    found = post_vectors(core, users, images) @ tags.T

    np.testing.assert_allclose(found, tensor[np.arange(5), np.arange(5)], rtol=1e-12)


@pytest.mark.parametrize("which", [0, 1, 2], ids=["core", "users", "images"])
def test_gradients_are_those_of_finite_differences(parts, which, rng):
    slope = rng.standard_normal((5, 4))
    direction = rng.standard_normal(parts[which].shape)

    def value(step):
        moved = [part + step * direction if k == which else part for k, part in enumerate(parts)]
        return np.vdot(slope, post_vectors(*moved))

    found = post_gradients(*parts, slope)
    gradient = (found.core, found.users, found.images)[which]

    difference = (value(1e-4) - value(-1e-4)) / 2e-4
    assert np.vdot(gradient, direction) == pytest.approx(difference, rel=1e-7)
