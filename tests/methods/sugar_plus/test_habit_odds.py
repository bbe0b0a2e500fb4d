import numpy as np
import pytest
from scipy import sparse

from sugartag.linalg.compiled import read_only
from sugartag.linalg.entries import Entries
from sugartag.methods.sugar_plus.by_owner import ByOwner
from sugartag.methods.sugar_plus.habit_odds import (
    CHANCES,
    GAINS,
    LOG_MISS,
    RATES,
    Cases,
    Counted,
    Pairs,
    count_images,
    count_pairs,
    shares,
    weigh,
)

N_OWNERS, N_TAGS, N_IMAGES = 6, 8, 30


def gains_of(chance):
    """Return uses x rates: log((x + h - x h) / x)."""
    x = np.clip(chance, *CHANCES)[:, None]
    return np.log((x + RATES - x * RATES) / x)


@pytest.fixture
def rng():
    return np.random.default_rng(3)


@pytest.fixture
def chance(rng):
    """Return images x tags; some chances lie beyond those that are believed."""
    some = rng.choice([1e-6, 0.01, 0.3, 0.6, 0.999], (N_IMAGES, N_TAGS))
    return sparse.csr_array(np.where(rng.random(some.shape) < 0.3, some, 0.0).astype(np.float32))


@pytest.fixture
def owner(rng):
    """Return owners of images; one of them has none, and some images are nobody's."""
    return rng.choice([0, 1, 2, 4, 5, N_OWNERS], N_IMAGES)


def counted(chance, owner, before=None, sign=1.0):
    nothing = sparse.csr_array((N_OWNERS, N_TAGS)), np.zeros((0, len(RATES)))
    mine, given = ByOwner.of(owner, N_OWNERS), Entries.of(chance, N_TAGS)
    images = Counted(read_only(mine.start), read_only(mine.image), given, N_TAGS, sign)
    pairs, start = Pairs.of(*before or nothing), np.zeros(N_OWNERS + 1, np.int64)
    for owners in (slice(0, 2), slice(2, N_OWNERS)):
        count_pairs(pairs, images, owners, start[1:])
    np.cumsum(start, out=start)
    count = start[-1]
    tag, gain = np.zeros(count, np.int32), np.zeros((count, len(RATES)))
    after = Pairs(start, tag, np.zeros(count), gain)
    for owners in (slice(2, N_OWNERS), slice(0, 2)):
        count_images(pairs, images, owners, after)
    return sparse.csr_array((after.uses, tag, start), shape=(N_OWNERS, N_TAGS)), gain


def test_uses_and_what_they_say_are_added_up_by_owner_and_tag(chance, owner):
    uses, gain = counted(chance, owner)

    image, tag = chance.nonzero()
    expected = np.zeros((N_OWNERS + 1, N_TAGS, 1 + len(RATES)))
    said = np.column_stack([np.ones(chance.nnz), gains_of(chance.data.astype(float))])
    np.add.at(expected, (owner[image], tag), said)
    at = uses.nonzero()
    np.testing.assert_array_equal(uses.toarray(), expected[:N_OWNERS, :, 0])
    np.testing.assert_allclose(gain, expected[*at, 1:], rtol=1e-12)
    assert uses.has_sorted_indices


def test_images_that_are_taken_away_leave_those_that_stay(chance, owner):
    everything, some = counted(chance, owner), slice(0, 12)

    uses, gain = counted(chance[some], owner[some], everything, sign=-1.0)

    expected = counted(chance[some.stop :], owner[some.stop :])
    np.testing.assert_array_equal(uses.toarray(), expected[0].toarray())
    np.testing.assert_allclose(gain, expected[1], atol=1e-12)


def test_a_pair_that_comes_twice_is_added_up(chance, owner):
    twice = sparse.csr_array(
        (np.ones(2 * N_TAGS), np.tile(np.arange(N_TAGS), 2), [0] + [2 * N_TAGS] * N_OWNERS)
    )
    nobody = np.full(N_IMAGES, N_OWNERS)

    uses, gain = counted(chance, nobody, (twice, np.ones((2 * N_TAGS, len(RATES)))))

    assert uses.toarray()[0].tolist() == [2.0] * N_TAGS
    np.testing.assert_array_equal(gain, 2.0)


def test_log_odds_are_those_of_the_other_images(chance, owner, rng):
    uses, gain = counted(chance, owner)
    images = np.bincount(owner, minlength=N_OWNERS + 1)[:N_OWNERS].astype(float)
    pair = rng.integers(uses.nnz, size=40)
    whose = uses.nonzero()[0][pair]
    own, seen = rng.choice([0.0, 0.2, 0.7], 40), rng.choice([0.0, 1.0], 40)
    found = np.empty((len(RATES), 40))

    weigh(Cases.of(whose, pair, own, seen), Pairs.of(uses, gain), read_only(images), found)

    used = (own > 0) & (seen > 0)
    others = uses.data[pair] - used
    said = gain[pair] - np.where(used[:, None], gains_of(own), 0.0)
    bounds = (np.multiply.outer(others, limit) for limit in GAINS.T)
    expected = np.clip(said, *bounds) + np.outer(images[whose] - seen - others, LOG_MISS)
    np.testing.assert_allclose(found.T, expected, atol=1e-12)


def test_shares_are_summed_over_cases_as_often_as_they_count(rng):
    odds, times = rng.random((50, len(RATES))) * 100, rng.integers(1, 9, 50).astype(float)
    weight = rng.random(len(RATES)) / 10

    found = shares(odds, times, weight)

    expected = (times[:, None] * odds / (1 - weight.sum() + odds @ weight)[:, None]).sum(axis=0)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_allclose(shares.py_func(odds, times, weight), expected, rtol=1e-12)
