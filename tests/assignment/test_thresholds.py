"""Thresholds of verdicts: generous, but such that what is said is mostly right."""

import numpy as np
import pytest

from sugartag.assignment.thresholds import (
    AIM,
    CAUTIOUS_AIM,
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


def literal(chances):
    """Try every chance as the threshold, and keep the lowest that is good enough."""
    good = [low for low in chances if chances[chances >= low].mean() >= AIM]
    return min(good, default=MOST)


def learned(tag, chance, uses):
    pairs = np.asarray(tag), np.asarray(chance)
    return TagThresholds.learned(pairs, (pairs[0], 1.0 - pairs[1]), np.asarray(uses))


def test_a_threshold_is_the_lowest_from_which_the_mean_chance_is_the_one_aimed_at():
    rng = np.random.default_rng(0)
    tag = rng.integers(3, size=4_000)
    chance = rng.random(4_000) ** np.array([0.2, 0.5, 1.0])[tag]

    found = learned(tag, chance, [OFTEN] * 3)

    everybody = literal(chance)
    for number in range(3):
        mine = chance[tag == number]
        seen = np.count_nonzero(mine >= LEAST)
        expected = (seen * literal(mine) + POOLED * everybody) / (seen + POOLED)
        assert found.add[number] == pytest.approx(np.clip(expected, LEAST, MOST), abs=1e-4)


def test_doubts_follow_the_same_rule_from_the_other_end():
    rng = np.random.default_rng(1)
    chance = rng.random(2_000) ** 2
    pairs = np.zeros(2_000, dtype=int), chance

    found = TagThresholds.learned(pairs, pairs, np.array([OFTEN]))

    doubted = chance[chance < found.doubt[0]]
    assert (1 - doubted).mean() == pytest.approx(AIM, abs=0.01)


def test_of_rare_tags_nothing_is_said():
    found = learned([0, 1], [0.99, 0.99], [FEWEST_USES - 1, FEWEST_USES])

    assert found.add[0] == NEVER_ADDED > 1
    assert found.doubt[0] == NEVER_DOUBTED < 0
    assert LEAST <= found.add[1] <= MOST


def test_a_tag_of_which_nothing_is_seen_keeps_to_what_all_need():
    found = learned([0] * 100, np.linspace(0.5, 1.0, 100), [OFTEN, OFTEN])

    chance = np.linspace(0.5, 1.0, 100)
    expected = literal(chance)
    assert found.add[1] == pytest.approx(expected, abs=1e-4)


def test_nothing_is_added_where_no_chance_is_high_enough():
    chance = np.full(1_000, AIM - 0.01)

    found = learned(np.arange(1_000) % 4, chance, [OFTEN] * 4)

    assert (found.add > chance.max()).all()


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


def test_where_chances_are_told_cautiously_those_have_the_mean_aimed_at():
    rng = np.random.default_rng(3)
    chance = rng.beta(4.0, 2.0, 5_000)
    tag, cautious = np.zeros(len(chance), dtype=np.int64), chance**1.5

    plain, found = (
        TagThresholds.learned((tag, chance), (tag, chance), np.array([OFTEN]), worth).add[0]
        for worth in (None, cautious)
    )

    assert cautious[chance >= found].mean() == pytest.approx(CAUTIOUS_AIM, abs=1e-3)
    assert chance[chance >= plain].mean() == pytest.approx(AIM, abs=1e-3)
    assert found > plain
