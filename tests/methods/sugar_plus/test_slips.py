"""Which uses of tags nothing explains, and how many of them are taken for wrong."""

import numpy as np
import pytest
from scipy.special import xlogy

from sugartag.methods.sugar_plus import slips as module
from sugartag.methods.sugar_plus.slips import (
    FREE,
    LARGER,
    LEAST,
    SHARES,
    Slips,
    unexplained_shares,
    uses_and_those_below,
)

RATES = np.array([0.0, 0.005, 0.01, 0.02, 0.05, 0.1])


def trusting(given):
    return given.astype(np.float32)


def learned(evidence, given, honest=None):
    honest = trusting(given) if honest is None else honest
    return Slips.learned(evidence, given, honest, given.mean(axis=0))


def slipping(seed, slip_rate, n_tags=6, n=20_000, told=6.0):
    """Return evidence and given tags: of 1 image in 10 each is true, and then ``told`` more."""
    rng = np.random.default_rng(seed)
    belongs = rng.random((n, n_tags)) < 0.1
    evidence = rng.standard_normal(belongs.shape) + told * belongs
    slips = ~belongs & (rng.random(belongs.shape) < slip_rate)
    return evidence, (belongs & (rng.random(belongs.shape) < 0.7)) | slips


def with_an_untold_tag(seed, slip_rate):
    """Return the same, but nothing tells of the first tag."""
    evidence, given = slipping(seed, slip_rate)
    evidence[:, 0] = np.random.default_rng(1).standard_normal(len(evidence))
    return evidence, given


def test_slips_are_how_often_tags_are_given_that_do_not_belong():
    found = learned(*slipping(5, RATES))

    np.testing.assert_allclose(found.rate, RATES, atol=0.006)
    assert found.rate.dtype == found.wrong.dtype == np.float32


def test_a_seldom_used_tag_slips_like_others():
    evidence, given = slipping(6, 0.02)
    given[:, 0] = False
    given[np.argsort(-evidence[:, 0])[:2], 0] = True
    share = given.mean(axis=0)

    found = learned(evidence, given)

    others = found.rate[1:].sum() / share[1:].sum()
    assert found.rate[0] / share[0] == pytest.approx(others, rel=0.1)


def test_what_is_usual_may_be_either_of_two_things():
    """Tags explained well and tags not at all: one that has few uses is taken for one of these."""
    uses = np.array([400.0] * 20 + [400.0] * 20 + [12.0, 12.0])
    low = np.array([20.0] * 20 + [200.0] * 20 + [0.0, 6.0])

    found = unexplained_shares(uses, low)

    np.testing.assert_allclose(found[:20], 0.1, atol=0.03)
    np.testing.assert_allclose(found[20:40], 1.0, atol=0.03)
    np.testing.assert_allclose(found[40:], [0.1, 1.0], atol=0.1)


def test_the_weights_of_shares_are_the_likeliest():
    rng = np.random.default_rng(3)
    uses = rng.integers(5, 60, 300).astype(float)
    low = rng.binomial(uses.astype(int), rng.choice([0.1, 0.45], 300)).astype(float)

    found = unexplained_shares(uses, low)

    def likely(tag, share):
        below = max(share / 2, LEAST)
        return np.exp(xlogy(low[tag], below) + xlogy(uses[tag] - low[tag], 1 - below))

    each = np.array([[likely(tag, share) for share in SHARES] for tag in range(300)])
    weight = np.full(len(SHARES), 1 / len(SHARES))
    for _ in range(module.ROUNDS):
        each_weighed = each * weight
        weight = (each_weighed / each_weighed.sum(axis=1, keepdims=True)).mean(axis=0)
    posterior = each * weight / (each @ weight)[:, None]
    np.testing.assert_allclose(found, posterior @ SHARES, rtol=1e-6)


def test_the_weights_of_a_large_vocabulary_are_learned_from_some_tags(monkeypatch):
    rng = np.random.default_rng(4)
    uses = rng.integers(20, 60, 900).astype(float)
    low = rng.binomial(uses.astype(int), rng.choice([0.05, 0.5], 900)).astype(float)
    by_all = unexplained_shares(uses, low)

    monkeypatch.setattr(module, "MOST_TAGS", 300)
    by_some = unexplained_shares(uses, low)

    assert (by_some != by_all).any()
    assert np.abs(by_some - by_all).mean() < 0.02


def test_uses_by_habit_are_no_slips():
    evidence, given = slipping(7, 0.02)
    honest = trusting(given)
    rng = np.random.default_rng(0)
    stamped = ~given & (rng.random(given.shape) < 0.3)
    both = given | stamped

    found = Slips.learned(evidence, both, honest, both.mean(axis=0))

    # The median lies among fewer images: those that do not have the tag by habit either.
    np.testing.assert_allclose(found.rate, 0.02, atol=0.006)


def test_uses_are_counted_below_the_median_of_images_without_the_tag():
    rng = np.random.default_rng(10)
    evidence, honest = rng.standard_normal((2, 41, 6)).astype(np.float32)
    given = rng.random(evidence.shape) < 0.4
    given[:, 0], given[:, 1] = True, False

    uses, low = uses_and_those_below(evidence, given, honest)

    for tag in range(6):
        has = given[:, tag]
        assert uses[tag] == pytest.approx(honest[has, tag].sum(), abs=1e-5)
        below = np.zeros(has.sum(), dtype=bool)
        if 0 < has.sum() < len(has):
            below = evidence[has, tag] < np.median(evidence[~has, tag])
        assert low[tag] == pytest.approx(honest[has, tag][below].sum(), abs=1e-5)


def test_of_a_tag_that_images_tell_nothing_of_most_uses_are_taken_for_right():
    evidence, given = with_an_untold_tag(8, 0.005)

    found = learned(evidence, given)

    slipped = 0.005 * 0.9 / given[:, 1:].mean()
    np.testing.assert_allclose(found.wrong[1:], 1.0, atol=0.2)
    assert found.wrong[0] == pytest.approx(LARGER * slipped, abs=0.04)
    assert found.rate[0] == pytest.approx(given[:, 0].mean(), rel=0.05)


def test_where_nobody_slips_hardly_any_use_is_wrong():
    found = learned(*with_an_untold_tag(8, 0.0))

    assert found.wrong[0] == pytest.approx(FREE, abs=0.002)


def test_where_all_tags_slip_much_much_of_every_tag_is_wrong():
    evidence, given = with_an_untold_tag(9, 0.05)

    found = learned(evidence, given)

    slipped = 0.05 * 0.9 / given[:, 1:].mean()
    np.testing.assert_array_equal(found.wrong[1:], 1.0)
    assert found.wrong[0] == pytest.approx(LARGER * slipped, abs=0.06)


def test_between_two_rates_is_their_geometric_mean_and_the_first_says_what_is_wrong():
    first = Slips(np.float32([0.01, 0.04]), np.float32([1.0, 0.3]))
    later = Slips(np.float32([0.0025, 0.04]), np.float32([0.5, 0.5]))

    found = first.between(later)

    np.testing.assert_allclose(found.rate, [0.005, 0.04], rtol=1e-6)
    np.testing.assert_array_equal(found.wrong, first.wrong)


@pytest.mark.parametrize("n_tags", [0, 3])
def test_where_no_tag_is_given_nothing_fails(n_tags):
    evidence = np.random.default_rng(0).standard_normal((50, n_tags)).astype(np.float32)
    given = np.zeros(evidence.shape, dtype=bool)

    found = learned(evidence, given)

    np.testing.assert_allclose(found.rate, LEAST)
    assert np.isfinite(found.wrong).all()
