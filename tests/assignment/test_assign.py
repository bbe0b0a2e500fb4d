import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import reference
from sugartag.assignment.assign import Assignment
from sugartag.assignment.reconstruct import Reconstruction, reconstructed, row_kronecker

N_IMAGES, N_TAGS, M_IMAGES, M_USERS = 15, 6, 12, 5


@pytest.fixture(params=range(3))
def seeded(request):
    return np.random.default_rng(request.param)


def links(rng: np.random.Generator, n_rows: int, n_columns: int, share: float) -> np.ndarray:
    return rng.random((n_rows, n_columns)) * (rng.random((n_rows, n_columns)) < share)


def an_assignment(rng: np.random.Generator, **changed) -> Assignment:
    """Return an assignment in which some anchor images belong to no anchor user."""
    parts = {
        "by_image": rng.normal(size=(M_IMAGES, N_TAGS)),
        "by_user": rng.normal(size=(M_USERS, N_TAGS)),
        "user_of_image": rng.integers(0, M_USERS + 1, M_IMAGES),
        "n_neighbours": 4,
        "image_share": 0.8,
        "user_neighbours": "unit",
    }
    return Assignment(**(parts | changed))


def scores(assignment: Assignment, images: np.ndarray, users: np.ndarray) -> np.ndarray:
    return assignment.scores(sparse.csr_array(images), sparse.csr_array(users))


@pytest.mark.parametrize("share", [0.0, 0.8, 1.0])
@pytest.mark.parametrize("s", [1, 4, M_IMAGES])
def test_scores_are_the_printed_ones(s, share, seeded):
    assignment = an_assignment(seeded, n_neighbours=s, image_share=share)
    images = links(seeded, N_IMAGES, M_IMAGES, 1.0)
    users = links(seeded, N_IMAGES, M_USERS, 0.6)

    found = scores(assignment, images, users)

    for row in range(N_IMAGES):
        expected = reference.assigned(
            images[row],
            users[row],
            assignment.by_image.T,
            assignment.by_user.T,
            assignment.user_of_image,
            s,
            share,
        )
        np.testing.assert_allclose(found[row], expected, atol=1e-12)


def test_an_owner_of_two_near_anchors_counts_twice(rng):
    assignment = an_assignment(rng, user_of_image=np.full(M_IMAGES, 2), image_share=0.0)

    found = scores(assignment, np.full((1, M_IMAGES), 0.5), np.full((1, M_USERS), 0.3))

    np.testing.assert_allclose(found[0], 0.3 * assignment.by_user[2], atol=1e-12)


def test_an_anchor_that_is_not_linked_is_no_neighbour(seeded):
    images = np.zeros((1, M_IMAGES))
    images[0, 7] = 0.6
    users = links(seeded, 1, M_USERS, 1.0)
    assignment = an_assignment(seeded, user_of_image=np.arange(M_IMAGES) % M_USERS)

    found = scores(assignment, images, users)

    expected = 0.8 * 0.6 * assignment.by_image[7] + 0.2 * users[0, 2] * assignment.by_user[2]
    np.testing.assert_allclose(found[0], expected / 4, atol=1e-12)


def test_the_owner_of_a_near_anchor_counts_even_where_its_link_is_cut(seeded):
    near = sparse.csr_array((np.array([0.6, 0.0]), (np.zeros(2, int), np.array([7, 9]))), (1, 12))
    users = links(seeded, 1, M_USERS, 1.0)
    assignment = an_assignment(seeded, user_of_image=np.arange(M_IMAGES) % M_USERS)

    found = assignment.scores(near, sparse.csr_array(users))

    expected = 0.8 * 0.6 * assignment.by_image[7]
    for user in (7 % M_USERS, 9 % M_USERS):
        expected += 0.2 * users[0, user] * assignment.by_user[user]
    np.testing.assert_allclose(found[0], expected / 4, atol=1e-12)


def test_an_image_linked_to_nothing_scores_nothing(rng):
    found = scores(an_assignment(rng), np.zeros((2, M_IMAGES)), np.zeros((2, M_USERS)))

    np.testing.assert_array_equal(found, np.zeros((2, N_TAGS)))


def test_user_neighbours_may_be_the_nearest_users(seeded):
    assignment = an_assignment(seeded, user_neighbours="user", n_neighbours=2)
    images, users = links(seeded, N_IMAGES, M_IMAGES, 0.6), links(seeded, N_IMAGES, M_USERS, 0.7)

    found = scores(assignment, images, users)

    for row in range(N_IMAGES):
        expected = np.zeros(N_TAGS)
        for j in np.argsort(-images[row], kind="stable")[:2]:
            expected += 0.8 * images[row, j] * assignment.by_image[j] / 2
        for k in np.argsort(-users[row], kind="stable")[:2]:
            expected += 0.2 * users[row, k] * assignment.by_user[k] / 2
        np.testing.assert_allclose(found[row], expected, atol=1e-12)


def test_user_neighbours_may_be_all_users(seeded):
    assignment = an_assignment(seeded, user_neighbours="all", n_neighbours=2)
    images, users = links(seeded, N_IMAGES, M_IMAGES, 0.6), links(seeded, N_IMAGES, M_USERS, 0.7)

    found = scores(assignment, images, users)

    for row in range(N_IMAGES):
        expected = np.zeros(N_TAGS)
        for j in np.argsort(-images[row], kind="stable")[:2]:
            expected += 0.8 * images[row, j] * assignment.by_image[j] / 2
        for k in range(M_USERS):
            expected += 0.2 * users[row, k] * assignment.by_user[k] / 2
        np.testing.assert_allclose(found[row], expected, atol=1e-12)


def test_the_reconstruction_is_the_tensor_times_the_links_along_every_mode(seeded):
    tensor = seeded.normal(size=(N_TAGS, M_IMAGES, M_USERS))
    affinity = links(seeded, N_TAGS, N_TAGS, 0.5)
    images, users = links(seeded, N_IMAGES, M_IMAGES, 0.3), links(seeded, N_IMAGES, M_USERS, 0.5)

    found = reconstructed(tensor, *map(sparse.csr_array, (affinity, images, users)))

    expected = np.einsum("tij,at,ni,nj->na", tensor, affinity, images, users)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_the_reconstruction_of_an_image_and_its_owner_is_an_entry_of_the_whole(seeded):
    tensor = seeded.normal(size=(N_TAGS, M_IMAGES, M_USERS))
    affinity = links(seeded, N_TAGS, N_TAGS, 0.5)
    images, users = links(seeded, N_IMAGES, M_IMAGES, 0.3), links(seeded, 4, M_USERS, 0.5)
    owner = seeded.integers(0, 4, N_IMAGES)

    found = reconstructed(tensor, *map(sparse.csr_array, (affinity, images, users[owner])))

    whole = reference.multiply(tensor, affinity, images, users)
    np.testing.assert_allclose(found, whole[:, np.arange(N_IMAGES), owner].T, atol=1e-12)


@settings(deadline=None)
@given(
    st.integers(0, 2**32), st.integers(0, 5), st.integers(1, 4), st.integers(1, 4), st.floats(0, 1)
)
def test_the_kronecker_product_of_rows_is_taken_row_by_row(seed, n_rows, n_left, n_right, share):
    rng = np.random.default_rng(seed)
    left, right = links(rng, n_rows, n_left, share), links(rng, n_rows, n_right, share)

    found = row_kronecker(sparse.csr_array(left), sparse.csr_array(right))

    assert found.shape == (n_rows, n_left * n_right)
    expected = [np.kron(a, b) for a, b in zip(left, right, strict=True)]
    np.testing.assert_allclose(
        found.toarray(), np.reshape(expected, found.shape), rtol=0, atol=1e-15
    )


@pytest.mark.parametrize(("left", "right"), [(0, 1), (1, 0), (0, 0)])
def test_the_kronecker_product_with_an_empty_row_is_empty(left, right):
    filled = sparse.csr_array(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 0.0]]))
    holes = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 0.0]])
    holes[1] = 0.0
    holed = sparse.csr_array(holes)

    found = row_kronecker(holed if left == 0 else filled, holed if right == 0 else filled)

    assert np.diff(found.indptr).tolist() == [4, 0, 1]
    assert found.toarray()[0].tolist() == [1.0, 2.0, 2.0, 4.0]
    assert found.toarray()[2].tolist() == [25.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("share", [0.1, 1.0])
def test_the_reconstruction_by_user_is_the_one_by_image(share, seeded):
    tensor = seeded.normal(size=(N_TAGS, M_IMAGES, M_USERS))
    affinity = sparse.csr_array(links(seeded, N_TAGS, N_TAGS, 0.4))
    images, users = links(seeded, 90, M_IMAGES, share), links(seeded, 3, M_USERS, 1.0)
    user = seeded.integers(0, 3, 90)

    found = reconstructed(tensor, affinity, sparse.csr_array(images), sparse.csr_array(users), user)

    expected = np.einsum("tij,at,bi,bj->ba", tensor, affinity.toarray(), images, users[user])
    np.testing.assert_allclose(found, expected, atol=1e-10)


def test_a_share_of_the_reconstruction_is_that_of_the_image_whoever_posted_it(seeded):
    tensor = seeded.normal(size=(N_TAGS, M_IMAGES, M_USERS))
    affinity = sparse.csr_array(links(seeded, N_TAGS, N_TAGS, 0.4))
    images, users = links(seeded, 20, M_IMAGES, 0.7), links(seeded, 7, M_USERS, 0.8)
    user, totals = seeded.integers(0, 7, 20), users.sum(axis=0)
    model = Reconstruction.of(tensor, affinity, totals, image_share=0.3)

    found = model.scores(sparse.csr_array(images), sparse.csr_array(users), user)

    weights = 0.3 * totals + 0.7 * users[user]
    expected = np.einsum("tij,at,bi,bj->ba", tensor, affinity.toarray(), images, weights)
    np.testing.assert_allclose(found, expected, atol=1e-10)
