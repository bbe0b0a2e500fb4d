from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logit

from methods.sugar_plus.literal import slips_of
from sugartag.methods.sugar_plus.belief import (
    SUREST_BELIEF,
    UNTOLD_RECALL,
    Belief,
    belief_curve,
    learned_belief,
)
from sugartag.methods.sugar_plus.rise import CAUTION
from sugartag.methods.sugar_plus.slips import LEAST, Slips

RECALL, SLIP = 0.6, np.float32(0.02)


def some_belief(points=50):
    rises = np.linspace(0.0, 0.9, points) ** 2 + np.linspace(1e-6, 1e-4, points)
    return Belief(-0.5, 2.5 / (points - 1), rises.astype(np.float32), RECALL, slips_of(1, SLIP))


def trusting(given):
    return given.astype(np.float32)


class PlantedPeople:
    """People who forget 4 of 10 tags that belong, and slip."""

    def __init__(self, seed, shape=(12_000, 30), slip=0.02):
        rng = np.random.default_rng(seed)
        self.chance = rng.beta(0.3, 1.7, shape)
        self.evidence = self.chance.astype(np.float32)
        self.belongs = rng.random(shape) < self.chance
        slips = ~self.belongs & (rng.random(shape) < slip)
        self.given = (self.belongs & (rng.random(shape) < RECALL)) | slips


def test_what_lies_between_two_points_is_interpolated():
    belief = some_belief()
    evidence = np.random.default_rng(0).uniform(-0.7, 2.2, (40, 30)).astype(np.float32)
    places = belief.low + belief.step * np.arange(len(belief.belongs))

    found = belief.prior(evidence.copy())

    assert found.dtype == np.float32
    np.testing.assert_allclose(found, np.interp(evidence, places, belief.belongs), atol=1e-4)
    inside = (evidence > -0.5) & (evidence < 1.99)
    expected = np.interp(evidence[inside], places, belief.belongs)
    np.testing.assert_allclose(found[inside], expected, atol=2e-6)


def test_asking_leaves_the_evidence_and_the_belief_alone():
    belief = some_belief()
    evidence = np.linspace(-0.4, 1.4, 12, dtype=np.float32).reshape(3, 4)
    before, points = evidence.copy(), belief.belongs.copy()

    asked = lambda e: belief.given(e, slips_of(1, SLIP), SLIP), lambda e: belief.not_given(e, SLIP)
    for ask in (belief.prior, *asked):
        first, again = ask(evidence), ask(evidence)
        np.testing.assert_array_equal(first, again)

    np.testing.assert_array_equal(evidence, before)
    np.testing.assert_array_equal(belief.belongs, points)


@pytest.mark.parametrize("wrong", [1.0, 0.3])
@pytest.mark.parametrize("habit", [0.0, 0.3])
@pytest.mark.parametrize("slip", [0.001, 0.02, 0.7])
def test_belief_is_bayes_rule_for_people_who_forget_and_slip_and_have_habits(slip, habit, wrong):
    belief = some_belief()
    evidence = np.linspace(-0.4, 1.4, 30, dtype=np.float32)
    slips = np.full(30, slip, dtype=np.float32)
    b = belief.prior(evidence.copy()).astype(float)

    right, not_so = (1 - (1 - reason) * (1 - habit) for reason in (RECALL, slip))
    total = b * right + (1 - b) * not_so
    given = (b * right + (1 - b) * not_so * (1 - wrong)) / total
    not_given = b * (1 - right) / (b * (1 - right) + (1 - b) * (1 - not_so))

    habits = np.full(30, habit, dtype=np.float32)
    np.testing.assert_allclose(
        belief.given(evidence, slips_of(30, slip, wrong), habits), given, rtol=1e-4
    )
    np.testing.assert_allclose(belief.not_given(evidence, slips), not_given, rtol=1e-4)
    chance = b * RECALL + (1 - b) * slip
    np.testing.assert_allclose(belief.chance(evidence, slips), chance, rtol=1e-4)


def test_if_people_forget_less_what_is_not_given_belongs_less():
    """The share given is what it is: with a higher recall fewer tags belong."""
    belief = replace(some_belief(), spread=0.1)
    evidence = np.linspace(-0.4, 1.9, 30, dtype=np.float32)
    none = np.zeros(30, dtype=np.float32)
    given = belief.chance(evidence, none).astype(float)

    found = belief.if_recall_is_higher(belief.not_given(evidence, none).astype(float))

    higher = RECALL + (1 - CAUTION) * 0.1
    belongs = given / higher
    np.testing.assert_allclose(found, belongs * (1 - higher) / (1 - given), rtol=1e-4)


def learned_from(people, share=None):
    share = people.given.mean(axis=0) if share is None else share
    return learned_from_tags(people.evidence, people.given, share)


def learned_from_tags(evidence, given, share):
    known = evidence, given, trusting(given)
    return learned_belief(*known, Slips.learned(*known, share))


def test_more_evidence_is_always_more_belief():
    belief = learned_from(PlantedPeople(0))
    evidence = np.linspace(-0.4, 1.9, 2_301, dtype=np.float32)

    def given(e, slips):
        return belief.given(e, Slips(slips, np.ones_like(slips)), SLIP)

    for ask in (given, belief.not_given):
        for slip in (1e-4, 0.3):
            found = ask(evidence, np.full(len(evidence), slip, dtype=np.float32))
            assert np.all(np.diff(found) >= 0)
            assert 0 < found[0] < found[-1] < 1
        # Single precision tells beliefs close to each other apart by clear steps alone.
        assert np.all(np.diff(found[::100]) > 0)


def test_the_surest_tags_of_all_are_told_apart():
    """Log odds do not end where those of most tags do."""
    rng = np.random.default_rng(2)
    odds = rng.normal(-4.5, 1.7, (12_000, 30)).astype(np.float32)
    belongs = rng.random(odds.shape) < 1.0 / (1.0 + np.exp(-odds))
    given = belongs & (rng.random(odds.shape) < RECALL)

    belief = learned_from_tags(odds, given, given.mean(axis=0))

    surest = np.sort(odds[given])[-100::10]
    assert np.all(np.diff(belief.prior(surest)) > 1e-4)
    least = np.sort(odds, axis=None)[:20:5]
    assert np.all(np.diff(belief.prior(least)) > 0)


def test_a_tag_that_is_slipped_more_often_is_believed_less_when_given():
    belief = some_belief()
    evidence = np.full(3, 0.4, dtype=np.float32)

    slips = Slips(np.array([0.001, 0.02, 0.5], dtype=np.float32), np.ones(3, dtype=np.float32))
    found = belief.given(evidence, slips, np.float32(0))

    assert found[0] > found[1] > found[2]


@pytest.mark.parametrize("slip", [0.02, 0.15])
def test_the_curve_is_the_probability_with_which_tags_belong(slip):
    people = PlantedPeople(1, slip=slip)
    slips = np.full(people.given.shape[1], slip)

    points, level = belief_curve(
        people.evidence, people.given, trusting(people.given), slips, RECALL
    )

    at = np.linspace(0.02, 0.9, 12)
    assert np.all(np.diff(points) > 0)
    assert np.all(np.diff(level) > 0)
    np.testing.assert_allclose(np.interp(at, points, level), at, atol=0.04)


def test_tags_that_were_given_by_habit_count_less_in_the_curve():
    people = PlantedPeople(2)
    rng = np.random.default_rng(0)
    stamped = ~people.given & (rng.random(people.given.shape) < 0.2)
    honest = people.given.astype(np.float32)
    slips = np.full(people.given.shape[1], 0.02)

    points, level = belief_curve(people.evidence, people.given | stamped, honest, slips, RECALL)

    at = np.linspace(0.05, 0.9, 10)
    np.testing.assert_allclose(np.interp(at, points, level), at, atol=0.04)


def test_everything_is_learned_from_given_tags_alone():
    people = PlantedPeople(8)

    def evidence_of(chance):
        return (0.5 + logit(np.clip(chance, 1e-4, 1 - 1e-4)) / 8.0).astype(np.float32)

    share = people.given.mean(axis=0)
    found = learned_from_tags(evidence_of(people.chance), people.given, share)

    at = np.linspace(0.05, 0.95, 10)
    assert found.recall == pytest.approx(RECALL, abs=0.05)
    np.testing.assert_allclose(found.prior(evidence_of(at)), at, atol=0.08)
    assert found.belongs.max() <= SUREST_BELIEF + 1e-4
    assert found.slips.rate.shape == (people.given.shape[1],)


def test_where_shares_rise_to_the_top_in_a_straight_line_more_is_taken_to_be_above_it():
    found = learned_from(PlantedPeople(8))

    assert found.recall > RECALL + 0.05
    assert found.prior(np.float32([0.9]))[0] < 0.85


def test_where_no_tag_is_given_none_is_believed():
    evidence = np.random.default_rng(0).standard_normal((50, 7)).astype(np.float32)
    given = np.zeros(evidence.shape, dtype=bool)

    found = learned_from_tags(evidence, given, np.zeros(7))

    assert found.recall == UNTOLD_RECALL
    np.testing.assert_allclose(found.slips.rate, LEAST, rtol=1e-6)
    assert found.prior(evidence).max() < 1e-4


def test_where_every_image_has_every_tag_nothing_fails():
    evidence = np.random.default_rng(0).standard_normal((50, 7)).astype(np.float32)
    given = np.ones(evidence.shape, dtype=bool)

    found = learned_from_tags(evidence, given, np.ones(7))

    assert np.isfinite(found.belongs).all()
    assert found.prior(evidence.copy()).min() > 0.5


def test_the_curve_rises_as_the_least_squares_of_all_rising_ones():
    people = PlantedPeople(3)
    slips = np.full(people.given.shape[1], 0.02)

    points, level = belief_curve(
        people.evidence, people.given, trusting(people.given), slips, RECALL
    )

    # Each level is the mean of what it stands for, so that the mean over all cells is kept.
    place = np.argmin(np.abs(people.evidence.ravel()[:, None] - points), axis=1)
    expected = (people.given.mean() - 0.02) / (RECALL - 0.02)
    assert level[place].mean() == pytest.approx(expected, abs=0.02)
