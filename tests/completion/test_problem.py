import numpy as np
import pytest
from scipy import sparse

import reference
from completion.problems import fast_problem, random_literal
from sugartag.completion.project import add_posts
from sugartag.linalg.modes import apply_to_tags, mode_product


@pytest.fixture(params=range(4))
def seeded(request):
    return np.random.default_rng(request.param)


def test_objective_equals_the_printed_double_sums(seeded):
    literal = random_literal(seeded)
    problem = fast_problem(literal)
    tensor = seeded.normal(size=problem.shape)

    assert problem.objective(tensor) == pytest.approx(literal.objective(tensor), rel=1e-10)


def test_gradient_equals_the_printed_double_sums(seeded):
    literal = random_literal(seeded)
    problem = fast_problem(literal)
    tensor = seeded.normal(size=problem.shape)

    expected = literal.gradient(tensor)
    np.testing.assert_allclose(
        problem.gradient(tensor), expected, rtol=0, atol=1e-10 * abs(expected).max()
    )


def test_gradient_is_the_slope_of_the_objective(seeded):
    problem = fast_problem(random_literal(seeded))
    tensor, direction = seeded.normal(size=(2, *problem.shape))
    step = 1e-5

    rise = problem.objective(tensor + step * direction) - problem.objective(
        tensor - step * direction
    )

    slope = np.vdot(problem.gradient(tensor), direction)
    assert rise / (2 * step) == pytest.approx(slope, rel=1e-7)


def test_regulariser_equals_the_printed_double_sum_over_images_and_users(seeded):
    literal = random_literal(seeded)
    problem = fast_problem(literal)
    tensor = seeded.normal(size=problem.shape)

    of_images = np.vdot(tensor, mode_product(tensor, problem.images.roughness, 1))
    of_users = np.vdot(tensor, mode_product(tensor, problem.users.roughness, 2))

    assert of_images == pytest.approx(
        reference.smoothness(tensor, literal.image_links, 1), rel=1e-10
    )
    assert of_users == pytest.approx(reference.smoothness(tensor, literal.user_links, 2), rel=1e-10)


def test_gram_summaries_equal_the_products_with_the_whole_neighbour_matrix(seeded):
    links = random_literal(seeded).image_links
    weights = reference.neighbour_weights(links)
    problem = fast_problem(random_literal(np.random.default_rng(0)))

    from sugartag.graph.gram import LinkGrams, link_sums

    grams = LinkGrams.of(link_sums(sparse.csr_array(links)))

    assert problem.images.gram.shape == grams.gram.shape
    np.testing.assert_allclose(grams.gram, links.T @ links, atol=1e-12)
    np.testing.assert_allclose(grams.smoothed, links.T @ weights @ links, atol=1e-12)
    degrees = np.diag(weights.sum(axis=1))
    np.testing.assert_allclose(grams.degree, links.T @ degrees @ links, atol=1e-12)


def test_sums_of_two_halves_are_the_sums_of_the_whole(seeded):
    from sugartag.graph.gram import link_sums

    links = sparse.csr_array(seeded.random((20, 4)) * (seeded.random((20, 4)) < 0.5))
    whole, halves = link_sums(links), link_sums(links[:7]) + link_sums(links[7:])

    np.testing.assert_allclose(halves.gram, whole.gram, atol=1e-12)
    np.testing.assert_allclose(halves.weighted_gram, whole.weighted_gram, atol=1e-12)
    np.testing.assert_allclose(halves.column_sums, whole.column_sums, atol=1e-12)


def test_posts_mixed_by_the_affinity_are_the_projected_tensor(seeded):
    n_images, n_users = 30, 6
    tags = (seeded.random((n_images, 5)) < 0.3).astype(float)
    owner = seeded.integers(0, n_users + 1, n_images)
    image_links = seeded.random((n_images, 4)) * (seeded.random((n_images, 4)) < 0.5)
    user_links = seeded.random((n_users, 3)) * (seeded.random((n_users, 3)) < 0.7)
    affinity = seeded.random((5, 5))
    with_nobody = sparse.csr_array(np.vstack([user_links, np.zeros(3)]))

    posts = np.zeros((5, 4, 3))
    for part in (slice(0, 11), slice(11, 30)):
        add_posts(
            posts,
            sparse.csr_array(tags[part]),
            sparse.csr_array(image_links[part]),
            with_nobody[owner[part]],
        )
    apply_to_tags((affinity.T,), posts, posts)

    expected = reference.projected(
        reference.observed_tensor(tags, owner, n_users), affinity, image_links, user_links
    )
    np.testing.assert_allclose(posts, expected, rtol=0, atol=1e-10)


def test_posts_do_not_depend_on_the_threads_that_add_them(seeded):
    tags = sparse.csr_array((seeded.random((300, 200)) < 0.05).astype(float))
    links = sparse.random_array((300, 9), density=0.4, rng=seeded, format="csr")
    user_links = sparse.random_array((300, 7), density=0.4, rng=seeded, format="csr")

    alone, together = np.zeros((2, 200, 9, 7))
    add_posts(alone, tags, links, user_links)
    add_posts(together, tags, links, user_links, threads=3)

    np.testing.assert_array_equal(alone, together)


def test_products_are_not_written_to_a_tensor_that_is_not_contiguous():
    tensor = np.zeros((3, 4, 5))

    with pytest.raises(ValueError, match="not contiguous"):
        apply_to_tags((np.eye(3),), tensor, np.zeros((3, 5, 4)).swapaxes(1, 2))


def test_the_operator_takes_a_tensor_in_any_order(seeded):
    problem = fast_problem(random_literal(seeded))
    tensor = seeded.normal(size=problem.shape)
    by_users = np.ascontiguousarray(tensor.swapaxes(1, 2)).swapaxes(1, 2)

    expected = problem.operator(tensor)

    np.testing.assert_allclose(problem.operator(by_users), expected, rtol=1e-12, atol=1e-12)


def test_a_mode_product_of_the_wrong_size_names_both_shapes():
    with pytest.raises(ValueError, match=r"\(2, 9\).*mode 1.*\(3, 4, 5\)"):
        mode_product(np.zeros((3, 4, 5)), np.zeros((2, 9)), 1)


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_mode_products_equal_einsum(mode, seeded):
    tensor, matrix = seeded.normal(size=(3, 4, 5)), seeded.normal(size=(6, (3, 4, 5)[mode]))
    pattern = ("tij,at->aij", "tij,ai->taj", "tij,aj->tia")[mode]

    expected = np.einsum(pattern, tensor, matrix)

    np.testing.assert_allclose(mode_product(tensor, matrix, mode), expected, atol=1e-12)
    np.testing.assert_allclose(
        mode_product(tensor, sparse.csr_array(matrix), mode), expected, atol=1e-12
    )
