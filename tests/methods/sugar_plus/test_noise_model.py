"""Wrong tags are found where the evidence can tell them, and nothing is doubted where not."""

import numpy as np
import pytest

from sugartag.methods.sugar_plus.noise_model import (
    EDGES,
    GROUPS,
    LEAST_USES,
    LEAST_WRONG,
    LOW,
    MOST_WRONG,
    PREDICTED_WELL,
    QUANTILES,
    UNEXPLAINED,
    USUALLY_WRONG,
    NoiseModel,
    null_quantile,
    wrong_probabilities,
)

N_TAGS, USES = 24, 2_000
UNIT = np.tile(np.linspace(0.0, 1.0, QUANTILES), (N_TAGS, 1)).astype(np.float32)
"""Under these quantiles the prediction is the null quantile itself."""


def planted(rng, share, n_tags=N_TAGS, uses=USES, right=0.98):
    """Return tags, null quantiles of their uses, and which were given blindly.

    The quantiles of right uses have the mean ``right``; that of blind ones is a half.
    """
    strength = right / (1.0 - right)
    tag = np.repeat(np.arange(n_tags), uses)
    wrong = rng.random(len(tag)) < share
    q = np.where(wrong, rng.random(len(tag)), rng.random(len(tag)) ** (1.0 / strength))
    return tag, q.astype(np.float32), wrong


def test_the_null_quantile_is_the_place_of_a_prediction_among_all():
    values = np.sort(np.random.default_rng(0).standard_normal(QUANTILES)).astype(np.float32)
    value = np.array([*np.linspace(-3.0, 3.0, 41), *values[[0, 5, -1]]], dtype=np.float32)

    found = null_quantile(values[None], np.zeros(len(value), dtype=int), value)

    expected = np.interp(value, values, np.linspace(0.0, 1.0, QUANTILES))
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_ties_are_counted_half():
    flat = np.zeros((1, QUANTILES), dtype=np.float32)
    some = np.concatenate([np.zeros(17), np.linspace(0.1, 1.6, 16)]).astype(np.float32)[None]
    at = np.zeros(1, dtype=int)

    assert null_quantile(flat, at, np.zeros(1, np.float32)) == pytest.approx(0.5)
    assert null_quantile(some, at, np.zeros(1, np.float32)) == pytest.approx(0.25)
    assert null_quantile(flat, at, np.ones(1, np.float32)) == pytest.approx(1.0)
    assert null_quantile(flat, at, -np.ones(1, np.float32)) == pytest.approx(0.0)


def test_the_null_quantile_of_a_drawn_image_is_uniform(rng):
    sample = rng.gamma(0.3, size=20_000)
    points = np.quantile(sample, np.linspace(0, 1, QUANTILES))[None].astype(np.float32)

    found = null_quantile(points, np.zeros(5_000, dtype=int), rng.gamma(0.3, size=5_000))

    counts = np.histogram(found, bins=10, range=(0, 1))[0]
    assert np.abs(counts - 500).max() < 110


def test_where_looks_explain_next_to_nothing_nothing_is_doubted(rng):
    tag, q, _ = planted(rng, 0.2)

    assert NoiseModel.fit(UNIT, tag, q, looks=0.02).probability_wrong(tag, q).max() > 0.7
    assert NoiseModel.fit(UNIT, tag, q, looks=0.005).probability_wrong(tag, q).max() < 0.1


def test_where_tags_are_given_blindly_nothing_is_doubted(rng):
    tag, q, _ = planted(rng, 1.0)

    model = NoiseModel.fit(UNIT, tag, q, looks=0.1)

    assert model.probability_wrong(tag, q).max() < 0.2
    assert not model.judges(np.arange(N_TAGS)).any()


@pytest.mark.parametrize("share", [0.12, 0.2])
@pytest.mark.parametrize("seed", range(4))
def test_planted_wrong_tags_are_found_among_tags_that_are_predicted_well(seed, share):
    tag, q, wrong = planted(np.random.default_rng(seed), share)

    model = NoiseModel.fit(UNIT, tag, q, looks=0.1)
    doubted = model.probability_wrong(tag, q) > 0.5

    assert model.wrong_share == pytest.approx(share, abs=0.01)
    assert model.judges(np.arange(N_TAGS)).any()
    assert doubted[wrong].mean() > 0.5
    assert wrong[doubted].mean() >= 0.8


@pytest.mark.parametrize("seed", range(4))
def test_planted_wrong_tags_are_found_where_tags_are_predicted_unlike_well(seed):
    rng = np.random.default_rng(seed)
    parts = [planted(rng, 0.15, n_tags=8, right=right) for right in (0.97, 0.98, 0.985)]
    tag = np.concatenate([part[0] + 8 * number for number, part in enumerate(parts)])
    q, wrong = (np.concatenate([part[k] for part in parts]) for k in (1, 2))

    doubted = NoiseModel.fit(UNIT, tag, q, looks=0.1).probability_wrong(tag, q) > 0.5

    assert doubted[wrong].mean() > 0.3
    assert wrong[doubted].mean() >= 0.8


def test_a_share_that_right_tags_might_explain_is_not_doubted(rng):
    tag, q, _ = planted(rng, (UNEXPLAINED + LEAST_WRONG) / 2.0)

    model = NoiseModel.fit(UNIT, tag, q, looks=0.1)

    assert UNEXPLAINED < model.wrong_share < LEAST_WRONG
    assert not model.judges(tag).any()


def test_at_least_as_many_are_wrong_as_are_said_to_be(rng):
    tag, q, wrong = planted(rng, 0.12)

    found = NoiseModel.fit(UNIT, tag, q, looks=0.1).probability_wrong(tag, q)

    compared = 0
    for probability in np.unique(found):
        some = found == probability
        if np.count_nonzero(some) > 300:
            assert wrong[some].mean() > probability - 0.05
            compared += 1
    assert compared >= 3


def test_where_nothing_is_wrong_nothing_is_doubted(rng):
    tag, q, _ = planted(rng, 0.0)

    model = NoiseModel.fit(UNIT, tag, q, looks=0.1)

    assert model.wrong_share < LEAST_WRONG
    assert (model.probability_wrong(tag, q) == np.float32(USUALLY_WRONG)).all()
    assert not model.judges(tag).any()


def test_tags_that_are_not_predicted_are_not_doubted_beside_others_that_are(rng):
    good, bad = planted(rng, 0.12, n_tags=16), planted(rng, 1.0, n_tags=8)
    tag = np.concatenate([good[0], bad[0] + 16])
    q = np.concatenate([good[1], bad[1]])

    model = NoiseModel.fit(UNIT, tag, q, looks=0.1)

    assert model.probability_wrong(tag, q)[len(good[0]) :].max() < 0.2
    assert model.judges(np.arange(16)).mean() > 0.9


def test_tags_that_are_not_predicted_are_not_judged_beside_others_that_are(rng):
    good, bad = planted(rng, 0.12, n_tags=16), planted(rng, 1.0, n_tags=8)
    tag = np.concatenate([good[0], bad[0] + 16])

    model = NoiseModel.fit(UNIT, tag, np.concatenate([good[1], bad[1]]), looks=0.1)

    assert not model.judges(np.arange(16, 24)).any()


def test_too_few_uses_say_nothing(rng):
    tag, q, _ = planted(rng, 0.08, n_tags=N_TAGS, uses=2)

    model = NoiseModel.fit(UNIT, tag, q, looks=0.1)

    assert not model.judges(np.arange(N_TAGS)).any()
    np.testing.assert_allclose(model.probability_wrong(tag, q), USUALLY_WRONG)


def test_a_tag_with_few_uses_is_not_judged_among_others_that_are(rng):
    tag, q, _ = planted(rng, 0.12)
    kept = (tag > 0) | (np.cumsum(tag == 0) < LEAST_USES)

    model = NoiseModel.fit(UNIT, tag[kept], q[kept], looks=0.1)

    assert model.judges(np.arange(N_TAGS)).tolist() == [False] + [True] * (N_TAGS - 1)
    low = np.full(2, 0.05, dtype=np.float32)
    found = model.probability_wrong(np.array([0, 1]), low)
    assert found[0] == pytest.approx(USUALLY_WRONG)
    assert found[1] > 0.5


def test_the_higher_a_prediction_ranks_the_less_probably_it_is_wrong(rng):
    tag, q, _ = planted(rng, 0.05)

    found = NoiseModel.fit(UNIT, tag, q, looks=0.1)

    assert (np.diff(found.wrong, axis=1) <= 0).all()
    assert found.wrong.max() <= 1.0


def counts(density=0.12, uses=60_000.0, group=PREDICTED_WELL):
    """Return the uses of one group of tags, of this density in the low bins."""
    count = np.zeros((len(GROUPS) - 1, len(EDGES) - 1))
    count[group, :LOW] = density * uses * np.diff(EDGES)[:LOW]
    count[group, -1] = uses - count[group].sum()
    return count


def test_the_share_of_wrong_tags_is_the_density_of_low_quantiles_of_tags_predicted_well():
    count = counts()

    share, wrong = wrong_probabilities(count)

    expected = count.sum(axis=1, keepdims=True) * np.diff(EDGES)
    assert share == pytest.approx(0.12)
    upper = (count[PREDICTED_WELL] + 1.0 + np.sqrt(count[PREDICTED_WELL] + 1.0)) / expected[
        PREDICTED_WELL
    ]
    found = (share - UNEXPLAINED) / np.maximum(upper, share)
    np.testing.assert_allclose(wrong[PREDICTED_WELL], np.minimum.accumulate(found))
    assert wrong[PREDICTED_WELL, 0] > 0.5
    assert wrong[0].max() <= MOST_WRONG


def test_the_share_of_wrong_tags_is_held_below_what_is_plausible():
    assert wrong_probabilities(counts(0.5))[0] == MOST_WRONG


@pytest.mark.parametrize(
    "count", [counts(uses=1_500.0), counts(group=PREDICTED_WELL - 1)], ids=["few uses", "weak"]
)
def test_too_few_well_predicted_uses_call_nothing_wrong(count):
    share, wrong = wrong_probabilities(count)

    assert share == USUALLY_WRONG
    assert (wrong == USUALLY_WRONG).all()


def test_a_tag_that_is_new_is_as_usual(rng):
    tag, q, _ = planted(rng, 0.09)

    model = NoiseModel.fit(UNIT, tag, q, looks=0.1).widened(N_TAGS + 2)

    new = np.array([N_TAGS, N_TAGS + 1])
    assert model.probability_wrong(new, np.zeros(2)) == pytest.approx(USUALLY_WRONG)
    assert not model.judges(new).any()
