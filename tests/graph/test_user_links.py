import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import reference
from sugartag.graph.user_links import group_links, profile_links, user_links


@pytest.fixture(params=range(3))
def seeded(request):
    return np.random.default_rng(request.param)


def world(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return memberships of 20 owners, five of them in no group, tag counts and anchor users."""
    groups = (rng.random((20, 8)) < 0.3).astype(np.int8)
    groups[5:10] = 0
    profiles = rng.integers(0, 4, (20, 6)) * (rng.random((20, 6)) < 0.6)
    return groups, profiles, np.array([1, 4, 6, 12, 17])


def literal_cosine(mine: np.ndarray, theirs: np.ndarray) -> float:
    """Return the cosine of two counts, dampened by a logarithm; 0 where there are none."""
    left, right = np.log(1.0 + mine), np.log(1.0 + theirs)
    lengths = np.sqrt(np.sum(left**2)) * np.sqrt(np.sum(right**2))
    return float(np.sum(left * right) / lengths) if lengths else 0.0


def made(groups, profiles, anchors, *, max_profile_links=20, strict=False) -> np.ndarray:
    return user_links(
        sparse.csr_array(groups),
        sparse.csr_array(profiles),
        anchors,
        max_profile_links=max_profile_links,
        strict=strict,
    ).toarray()


@settings(deadline=None)
@given(st.integers(0, 2**32))
def test_group_links_are_the_printed_jaccard(seed):
    rng = np.random.default_rng(seed)
    groups = (rng.random((8, 5)) < rng.random()).astype(np.int8)
    anchors = np.flatnonzero(rng.random(8) < 0.5)

    found = group_links(sparse.csr_array(groups), anchors).toarray()

    expected = [[reference.jaccard(groups, i, j) for j in anchors] for i in range(8)]
    np.testing.assert_allclose(found, np.reshape(expected, (8, len(anchors))), atol=1e-12)


def test_profile_links_are_cosines_of_dampened_counts(seeded):
    _, profiles, anchors = world(seeded)

    found = profile_links(sparse.csr_array(profiles), anchors, max_links=20).toarray()

    expected = [[literal_cosine(profiles[i], profiles[j]) for j in anchors] for i in range(20)]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_only_the_strongest_profile_links_are_kept(seeded):
    _, profiles, anchors = world(seeded)

    found = profile_links(sparse.csr_array(profiles), anchors, max_links=2)

    whole = profile_links(sparse.csr_array(profiles), anchors, max_links=20).toarray()
    assert (np.diff(found.indptr) <= 2).all()
    np.testing.assert_allclose(
        np.sort(found.toarray(), axis=1)[:, -2:], np.sort(whole, axis=1)[:, -2:], atol=1e-12
    )


@pytest.mark.parametrize("strict", [False, True])
def test_owners_in_groups_are_linked_by_their_groups_alone(strict, seeded):
    groups, profiles, anchors = world(seeded)
    grouped = np.flatnonzero(groups.any(axis=1))

    found = made(groups, profiles, anchors, strict=strict)

    for owner in grouped:
        expected = [1.0 if owner == j else reference.jaccard(groups, owner, j) for j in anchors]
        np.testing.assert_allclose(found[owner], expected, atol=1e-12)


def test_owners_in_no_group_are_linked_by_what_they_tag(seeded):
    groups, profiles, anchors = world(seeded)

    found = made(groups, profiles, anchors)

    for owner in range(5, 10):
        expected = [
            1.0 if owner == j else literal_cosine(profiles[owner], profiles[j]) for j in anchors
        ]
        np.testing.assert_allclose(found[owner], expected, atol=1e-12)
    assert found[5:10].sum() > 0


def test_owners_in_no_group_are_linked_to_nobody_but_themselves_when_strict(seeded):
    groups, profiles, anchors = world(seeded)

    found = made(groups, profiles, anchors, strict=True)

    expected = np.zeros((5, 5))
    expected[1, 2] = 1.0  # owner 6 is the third anchor user
    np.testing.assert_array_equal(found[5:10], expected)


@pytest.mark.parametrize("strict", [False, True])
def test_an_anchor_user_is_linked_with_itself_by_one(strict, seeded):
    groups, profiles, anchors = world(seeded)
    profiles[anchors] = 0

    found = made(groups, profiles, anchors, strict=strict)

    np.testing.assert_allclose(found[anchors, np.arange(5)], 1.0, rtol=0, atol=1e-12)
    assert found.max() <= 1.0 + 1e-12


def test_links_have_rising_columns_and_double_precision(seeded):
    groups, profiles, anchors = world(seeded)

    found = user_links(
        sparse.csr_array(groups),
        sparse.csr_array(profiles),
        anchors,
        max_profile_links=3,
        strict=False,
    )

    assert found.dtype == np.float64
    assert found.shape == (20, 5)
    assert found.has_canonical_format


def test_without_any_group_all_are_linked_by_what_they_tag(seeded):
    _, profiles, anchors = world(seeded)

    found = made(np.zeros((20, 0)), profiles, anchors)

    np.testing.assert_allclose(
        found[0], [literal_cosine(profiles[0], profiles[j]) for j in anchors], atol=1e-12
    )
