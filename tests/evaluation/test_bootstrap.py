import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sugartag.errors import CollectionError, SettingsError
from sugartag.evaluation.bootstrap import (
    ROWS_PER_DRAW,
    interval,
    poisson_weights,
    resampled_sums,
    weighted_average_precision,
)
from sugartag.evaluation.ranking import average_precision, average_precision_rows

SCORES = st.sampled_from([0.0, -0.0, 0.25, 1.0, -3.0, 7.5, np.inf, -np.inf, np.nan])


@settings(deadline=None, max_examples=25)
@given(st.lists(st.integers(0, 2 * ROWS_PER_DRAW + 100), min_size=2, max_size=5).map(sorted))
@example([0, ROWS_PER_DRAW, 2 * ROWS_PER_DRAW])
@example([ROWS_PER_DRAW - 1, ROWS_PER_DRAW + 1, ROWS_PER_DRAW + 1])
def test_weights_do_not_depend_on_the_blocks_they_are_asked_in(cuts):
    blocks = [poisson_weights(7, *pair, 3) for pair in itertools.pairwise(cuts)]

    whole = poisson_weights(7, 0, cuts[-1], 3)

    np.testing.assert_array_equal(np.hstack(blocks), whole[:, cuts[0] :])


def test_more_replicates_leave_the_first_as_they_were():
    few, many = (poisson_weights(7, 10, 5000, replicates) for replicates in (2, 5))

    np.testing.assert_array_equal(many[:2], few)


def test_another_seed_gives_other_weights():
    assert (poisson_weights(1, 0, 100, 3) != poisson_weights(2, 0, 100, 3)).any()


def test_an_image_is_there_once_on_average_and_replicates_differ():
    weights = poisson_weights(11, 0, 20_000, 10)

    # 200,000 draws of variance 1: four standard errors are below 0.01.
    assert weights.dtype == np.uint8
    assert weights.mean() == pytest.approx(1.0, abs=0.01)
    assert weights.var() == pytest.approx(1.0, abs=0.02)
    assert np.abs(np.corrcoef(weights) - np.eye(10)).max() < 0.04


@settings(deadline=None)
@given(st.integers(0, 30), st.data())
def test_weighted_average_precision_is_that_of_repeated_items(n_items, data):
    scores = data.draw(hnp.arrays(np.float32, n_items, elements=SCORES))
    relevant = data.draw(hnp.arrays(np.bool_, n_items))
    weights = data.draw(hnp.arrays(np.uint8, (4, n_items), elements=st.integers(0, 3)))

    ours = weighted_average_precision(scores, relevant, weights)

    expected = [
        average_precision(np.repeat(scores, weight), np.repeat(relevant, weight))
        for weight in weights
    ]
    np.testing.assert_allclose(ours, expected, rtol=1e-12)


def test_a_large_weight_does_not_overflow():
    scores, relevant = np.arange(1000.0), np.arange(1000) % 2 == 0
    weights = np.full((1, 1000), 255, dtype=np.uint8)

    ours = weighted_average_precision(scores, relevant, weights)

    assert ours[0] == pytest.approx(average_precision(scores, relevant), rel=1e-12)


def test_resampled_means_add_up_over_blocks_and_pass_over_images_without_a_value():
    rng = np.random.default_rng(5)
    scores, relevant = rng.random((500, 9)), rng.random((500, 9)) < 0.1
    values = average_precision_rows(scores, relevant)
    weights = poisson_weights(3, 0, 500, 20)

    sums = resampled_sums(values[:123], weights[:, :123])
    sums += resampled_sums(values[123:], weights[:, 123:])

    expected = [np.nanmean(np.repeat(values, weight)) for weight in weights]
    assert np.isnan(values).any()
    np.testing.assert_allclose(sums.mean(), expected, rtol=1e-12)


def test_a_replicate_without_any_value_has_no_mean():
    sums = resampled_sums(np.array([0.5, np.nan]), np.array([[0, 3], [1, 1]], dtype=np.uint8))

    np.testing.assert_array_equal(sums.mean(), [np.nan, 0.5])


def test_the_spread_of_the_replicates_is_the_standard_error():
    values = np.random.default_rng(9).normal(size=2000)

    means = resampled_sums(values, poisson_weights(0, 0, 2000, 800)).mean()

    assert means.std() == pytest.approx(values.std() / np.sqrt(2000), rel=0.15)


def test_the_interval_leaves_the_same_share_out_on_either_side():
    samples = np.append(np.arange(101.0), np.nan)

    assert interval(samples, 0.9) == pytest.approx((5.0, 95.0))


def test_without_samples_there_is_no_interval():
    assert np.isnan(interval(np.full(3, np.nan))).all()


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0, np.nan])
def test_a_level_is_a_share(level):
    with pytest.raises(SettingsError, match=f"the level is {level}"):
        interval(np.arange(3.0), level)


@pytest.mark.parametrize("arguments", [(-1, 0, 1, 1), (0, 3, 2, 1), (0, -1, 2, 1), (0, 0, 1, -1)])
def test_an_impossible_range_of_weights_is_refused(arguments):
    with pytest.raises(SettingsError, match="no weights with seed"):
        poisson_weights(*arguments)


def test_weights_must_match_the_items():
    weights = np.ones((2, 3), dtype=np.uint8)

    with pytest.raises(CollectionError, match=r"\(2, 3\).*\(4,\)"):
        weighted_average_precision(np.ones(4), np.ones(4, dtype=bool), weights)
    with pytest.raises(CollectionError, match=r"\(2, 3\).*\(4,\)"):
        resampled_sums(np.ones(4), weights)
    with pytest.raises(CollectionError, match=r"\(3,\).*\(4,\)"):
        weighted_average_precision(np.ones(3), np.ones(4, dtype=bool), weights)


def test_sums_of_unequally_many_replicates_do_not_add_up():
    one, two = (resampled_sums(np.ones(3), np.ones((n, 3), dtype=np.uint8)) for n in (1, 2))

    with pytest.raises(CollectionError, match="1 and 2 replicates"):
        one + two
