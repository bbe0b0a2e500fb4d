"""Maps from scores to chances rise, stay within 0 and 1, and say the shares they were shown."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as some

from sugartag.assignment.calibration import MAX_STEPS, MonotoneMap, unhidden

WIDE = np.linspace(-50, 50, 2001)

samples = st.integers(1, 60).flatmap(
    lambda n: st.tuples(
        some.arrays(np.float32, n, elements=st.floats(-10, 10, width=32)),
        some.arrays(np.bool_, n),
    )
)


@given(samples)
def test_a_map_rises_and_stays_within_0_and_1(sample):
    values = MonotoneMap.fitted(*sample)(WIDE)

    assert (np.diff(values) >= 0).all()
    assert values.min() >= 0
    assert values.max() <= 1


@given(samples)
def test_a_map_gives_back_as_many_right_ones_as_there_were(sample):
    scores, right = sample

    chances = MonotoneMap.fitted(scores, right)(scores)

    assert chances.mean() == pytest.approx(right.mean(), abs=1e-5)


def test_a_map_says_the_share_of_right_ones_at_each_score():
    scores = np.repeat([0.0, 1.0, 2.0, 5.0], 10).astype(np.float32)
    right = np.concatenate([np.arange(10) < n for n in (1, 4, 7, 10)])

    made = MonotoneMap.fitted(scores, right)

    np.testing.assert_allclose(
        made(np.array([0.0, 1.0, 2.0, 5.0])), [0.1, 0.4, 0.7, 1.0], rtol=1e-6
    )
    assert made(np.array([0.5]))[0] == pytest.approx(0.25)
    np.testing.assert_allclose(made(np.array([-9.0, 9.0])), [0.1, 1.0], rtol=1e-6)


def test_scores_whose_shares_fall_are_put_together():
    scores = np.repeat([0.0, 1.0, 2.0], 10)
    right = np.concatenate([np.arange(10) < n for n in (5, 3, 9)])

    values = MonotoneMap.fitted(scores, right)(np.array([0.0, 1.0, 2.0]))

    np.testing.assert_allclose(values, [0.4, 0.4, 0.9], rtol=1e-6)


def test_a_map_learned_from_many_scores_is_stored_in_few_points(rng):
    scores = rng.random(40_000)
    right = rng.random(40_000) < scores**2

    made = MonotoneMap.fitted(scores, right)

    assert len(made.scores) == len(made.values) <= MAX_STEPS
    inside = np.linspace(0.05, 0.95, 19)
    np.testing.assert_allclose(made(inside), inside**2, atol=0.06)


def test_a_map_with_more_steps_than_are_stored_keeps_its_ends_and_its_shape():
    n = MAX_STEPS + 200
    scores = np.repeat(np.arange(n), n)
    right = np.tile(np.arange(n), n) < scores

    made = MonotoneMap.fitted(scores, right)

    assert len(made.scores) == MAX_STEPS
    np.testing.assert_allclose(made(np.arange(n)), np.arange(n) / n, atol=1e-3)


def test_a_map_learned_from_nothing_says_zero():
    made = MonotoneMap.fitted(np.empty(0, np.float32), np.empty(0, np.bool_))

    assert made(np.array([-1.0, 0.0, 1.0])).tolist() == [0, 0, 0]


def test_where_all_scores_are_the_same_the_map_is_level():
    made = MonotoneMap.fitted(np.zeros(4, np.float32), np.array([True, True, True, False]))

    assert made(np.array([-1.0, 0.0, 1.0])).tolist() == [0.75, 0.75, 0.75]


@pytest.mark.parametrize("share", [0.05, 0.2, 0.5, 0.9])
def test_the_chance_of_having_been_given_is_told_from_the_rate_of_hidden_tags(share):
    given_chance = np.linspace(0, 1, 21)
    hidden = given_chance * share
    rate = hidden / (hidden + 1 - given_chance)

    np.testing.assert_allclose(unhidden(rate, share), given_chance, rtol=1e-9, atol=1e-12)


def test_the_chance_holds_in_a_simulation(rng):
    given_chance, share, n = 0.3, 0.2, 400_000
    was_given = rng.random(n) < given_chance
    was_hidden = was_given & (rng.random(n) < share)
    not_given_now = ~was_given | was_hidden

    rate = was_hidden[not_given_now].mean(keepdims=True)

    assert unhidden(rate, share)[0] == pytest.approx(given_chance, abs=0.01)


def test_chances_stay_within_0_and_1_and_rise_with_the_rate():
    rates = np.linspace(0, 1, 101)

    chances = unhidden(rates, 0.2)

    assert (chances[0], chances[-1]) == (0, 1)
    assert (np.diff(chances) > 0).all()
