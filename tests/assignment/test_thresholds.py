"""Thresholds of verdicts: generous, but such that verdicts are mostly right."""

import numpy as np
import pytest

from sugartag.assignment.thresholds import (
    AIM,
    FEWEST_USES,
    LEAST,
    LEAST_ADDED,
    MOST,
    NEVER_ADDED,
    NEVER_DOUBTED,
    POOLED,
    TagThresholds,
)

OFTEN = 10_000


def literal(probabilities):
    """Try every probability as the threshold, and keep the lowest that is good enough."""
    good = [low for low in probabilities if probabilities[probabilities >= low].mean() >= AIM]
    return min(good, default=MOST)


def learned(tag, probability, uses):
    pairs = np.asarray(tag), np.asarray(probability)
    return TagThresholds.learned(pairs, (pairs[0], 1.0 - pairs[1]), np.asarray(uses))


def test_a_threshold_is_the_lowest_from_which_the_mean_probability_is_the_one_aimed_at():
    rng = np.random.default_rng(0)
    tag = rng.integers(3, size=4_000)
    probability = rng.random(4_000) ** np.array([0.2, 0.5, 1.0])[tag]

    found = learned(tag, probability, [OFTEN] * 3)

    everybody = literal(probability)
    for number in range(3):
        mine = probability[tag == number]
        seen = np.count_nonzero(mine >= LEAST)
        expected = (seen * literal(mine) + POOLED * everybody) / (seen + POOLED)
        assert found.add[number] == pytest.approx(np.clip(expected, LEAST, MOST), abs=1e-4)


def test_doubts_follow_the_same_rule_from_the_other_end():
    rng = np.random.default_rng(1)
    probability = rng.random(2_000) ** 2
    pairs = np.zeros(2_000, dtype=int), probability

    found = TagThresholds.learned(pairs, pairs, np.array([OFTEN]))

    doubted = probability[probability < found.doubt[0]]
    assert (1 - doubted).mean() == pytest.approx(AIM, abs=0.01)


def test_rare_tags_get_no_verdict():
    found = learned([0, 1], [0.99, 0.99], [FEWEST_USES - 1, FEWEST_USES])

    assert found.add[0] == NEVER_ADDED > 1
    assert found.doubt[0] == NEVER_DOUBTED < 0
    assert LEAST <= found.add[1] <= MOST


def test_a_tag_of_which_nothing_is_seen_keeps_to_what_all_need():
    found = learned([0] * 100, np.linspace(0.5, 1.0, 100), [OFTEN, OFTEN])

    probability = np.linspace(0.5, 1.0, 100)
    expected = literal(probability)
    assert found.add[1] == pytest.approx(expected, abs=1e-4)


def test_nothing_is_added_where_no_probability_is_high_enough():
    probability = np.full(1_000, AIM - 0.01)

    found = learned(np.arange(1_000) % 4, probability, [OFTEN] * 4)

    assert (found.add > probability.max()).all()


@pytest.mark.parametrize(("few", "is_added"), [(9, False), (10, True)])
def test_where_hardly_anything_would_be_added_nothing_is(few, is_added):
    n_given = round(10 / LEAST_ADDED)
    could_be = np.zeros(few + 500, dtype=int), np.append(np.full(few, 0.97), np.full(500, 0.3))
    given = np.zeros(n_given, dtype=int), np.full(n_given, 0.9)

    found = TagThresholds.learned(could_be, given, np.array([OFTEN]))

    assert (found.add[0] <= 0.97) == is_added


def test_thresholds_can_be_the_same_for_all_tags():
    found = TagThresholds.same(0.3, 0.2, 4)

    assert found.add.tolist() == [0.3] * 4
    assert found.doubt.tolist() == [0.2] * 4
