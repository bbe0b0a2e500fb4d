"""Chances and verdicts are counted as a loop over them would; counts of blocks add up."""

import functools
import math
import operator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sugartag.engine import LocalEngine
from sugartag.errors import CollectionError, SettingsError
from sugartag.evaluation.verdicts import (
    BINS,
    Reliability,
    Said,
    VerdictCounts,
    count_chances,
    count_verdicts,
    wilson_interval,
)

Z = 1.959963984540054
"""What a normal variable stays within, on both sides, in 95 of 100 cases."""


@st.composite
def verdicts(draw):
    """Draw chances, what was said, and what is right."""
    n = draw(st.integers(0, 30))
    chance = draw(hnp.arrays(np.float32, n, elements=st.floats(0, 1, width=32)))
    said = draw(hnp.arrays(np.int64, n, elements=st.sampled_from([int(word) for word in Said])))
    return chance, said, draw(hnp.arrays(np.bool_, n))


def counted(chances, words, right, missing=0) -> VerdictCounts:
    said = np.array([int(word) for word in words], dtype=np.int64)
    return count_verdicts(np.array(chances, float), said, np.array(right, bool), missing=missing)


def in_ranges(chance, right) -> list[list[tuple[float, bool]]]:
    """Return the chances and answers of each range, found one by one."""
    ranges = [[] for _ in range(BINS)]
    for value, answer in zip(chance, right, strict=True):
        ranges[min(math.floor(float(value) * BINS), BINS - 1)].append((float(value), bool(answer)))
    return ranges


@settings(deadline=None)
@given(verdicts())
def test_every_range_counts_what_a_loop_counts(block):
    chance, _, right = block

    found = count_chances(chance, right)

    for place, inside in enumerate(in_ranges(chance, right)):
        assert found.count[place] == len(inside)
        assert found.right[place] == sum(answer for _, answer in inside)
        if inside:
            mean = sum(value for value, _ in inside) / len(inside)
            assert found.mean_chance()[place] == pytest.approx(mean, abs=1e-12)
            share = sum(answer for _, answer in inside) / len(inside)
            assert found.share_right()[place] == pytest.approx(share, abs=1e-12)
        else:
            assert np.isnan(found.mean_chance()[place])
            assert np.isnan(found.share_right()[place])


@settings(deadline=None)
@given(verdicts())
def test_the_calibration_error_is_the_mean_distance_weighted_by_tags(block):
    chance, _, right = block

    error = count_chances(chance, right).error()

    if not len(chance):
        assert np.isnan(error)
        return
    expected = 0.0
    for inside in filter(None, in_ranges(chance, right)):
        mean = sum(value for value, _ in inside) / len(inside)
        share = sum(answer for _, answer in inside) / len(inside)
        expected += len(inside) / len(chance) * abs(mean - share)
    assert error == pytest.approx(expected, abs=1e-9)


@settings(deadline=None)
@given(verdicts(), st.integers(0, 5))
def test_changes_are_those_a_loop_finds(block, missing):
    chance, said, right = block

    found = count_verdicts(chance, said, right, missing=missing)

    pairs = list(zip(said.tolist(), right.tolist(), strict=True))
    added = [answer for word, answer in pairs if word == Said.ADD]
    doubted = [answer for word, answer in pairs if word == Said.DOUBT]
    judged = [answer for word, answer in pairs if word in {Said.KEEP, Said.DOUBT}]
    assert found.changes.added == len(added)
    assert found.changes.rightly_added == added.count(True)
    assert found.changes.missing == missing
    assert found.changes.removed == len(doubted)
    assert found.changes.rightly_removed == doubted.count(False)
    assert found.changes.wrong == judged.count(False)
    assert found.given.count.sum() == len(judged)
    assert found.below.count.sum() == said.tolist().count(int(Said.NOTHING))
    assert found.verdicts.count.sum() == len(added) + len(judged)


@settings(deadline=None)
@given(verdicts(), st.integers(1, 9))
def test_counts_of_blocks_add_up_to_those_of_the_whole(block, size):
    starts = range(0, max(len(block[0]), 1), size)
    parts = [
        count_verdicts(*(array[start : start + size] for array in block), missing=1)
        for start in starts
    ]

    total = functools.reduce(operator.add, parts)

    whole = count_verdicts(*block, missing=len(parts))
    assert total.changes == whole.changes
    assert_same(total.added, whole.added)
    assert_same(total.given, whole.given)
    assert_same(total.below, whole.below)


def assert_same(one: Reliability, other: Reliability) -> None:
    np.testing.assert_array_equal(one.count, other.count)
    np.testing.assert_array_equal(one.right, other.right)
    np.testing.assert_allclose(one.total_chance, other.total_chance, atol=1e-12)


def count_block(block: slice, chance, said, right) -> VerdictCounts:
    return count_verdicts(chance[block], said[block], right[block], missing=0)


def test_an_engine_can_sum_them(rng):
    chance, said = rng.random(100), rng.integers(len(Said), size=100)
    right = rng.random(100) < chance
    blocks = [slice(start, start + 30) for start in range(0, 100, 30)]

    total = LocalEngine().sum(count_block, blocks, chance, said, right)

    whole = count_verdicts(chance, said, right, missing=0)
    assert total.measures() == pytest.approx(whole.measures(), nan_ok=True)


def test_chances_that_come_true_have_hardly_an_error(rng):
    chance = rng.random(200_000)

    found = count_chances(chance, rng.random(len(chance)) < chance)

    assert found.error() < 0.01


def test_a_chance_that_is_too_high_by_a_fifth_has_an_error_of_a_fifth(rng):
    chance = rng.uniform(0.3, 1.0, 200_000)

    found = count_chances(chance, rng.random(len(chance)) < chance - 0.2)

    assert found.error() == pytest.approx(0.2, abs=0.01)


def test_too_high_here_and_too_low_there_do_not_cancel():
    found = count_chances(np.array([0.2, 0.2, 0.8, 0.8]), np.array([True, True, False, False]))

    assert found.error() == pytest.approx(0.8)


def test_the_last_range_includes_the_chance_1_and_each_its_lower_end():
    found = count_chances(np.array([0.0, 0.5, 0.9, 1.0]), np.ones(4, bool))

    assert found.count.tolist() == [1, 0, 0, 0, 0, 1, 0, 0, 0, 2]
    assert found.edges == pytest.approx(np.arange(11) / 10)


def test_doubts_are_removals_and_kept_tags_are_none():
    found = counted(
        [0.9, 0.6, 0.8, 0.7, 0.1, 0.2, 0.3],
        [Said.ADD, Said.ADD, Said.KEEP, Said.KEEP, Said.DOUBT, Said.DOUBT, Said.NOTHING],
        [True, False, True, False, False, True, True],
        missing=4,
    ).measures()

    assert found["add_precision"] == 1 / 2
    assert found["add_recall"] == 1 / 4
    assert found["remove_precision"] == 1 / 2
    assert found["remove_recall"] == 1 / 2
    assert found["ece_added"] == pytest.approx((0.1 + 0.6) / 2)
    assert found["ece_below"] == pytest.approx(0.7)


def test_the_error_of_all_verdicts_counts_no_candidate_that_was_not_added():
    without = counted([0.9, 0.8], [Said.ADD, Said.KEEP], [True, True]).measures()
    with_it = counted(
        [0.9, 0.8, 0.4], [Said.ADD, Said.KEEP, Said.NOTHING], [True, True, True]
    ).measures()

    assert with_it["ece"] == without["ece"] == pytest.approx((0.1 + 0.2) / 2)
    assert np.isnan(without["ece_below"])


def test_nothing_said_has_no_measures():
    assert all(np.isnan(value) for value in counted([], [], []).measures().values())


@pytest.mark.parametrize(("hits", "count"), [(0, 1), (1, 1), (3, 10), (10, 10), (812, 1000)])
def test_the_interval_is_where_the_score_test_does_not_reject(hits, count):
    low, high = wilson_interval(np.array([hits]), np.array([count]))

    for end in (low[0], high[0]):
        if 1e-9 < end < 1 - 1e-9:
            assert abs(hits / count - end) == pytest.approx(
                Z * math.sqrt(end * (1 - end) / count), abs=1e-9
            )
    assert 0 <= low[0] <= hits / count <= high[0] <= 1


def test_of_nothing_the_interval_is_everything():
    low, high = count_chances(np.array([0.95]), np.array([True])).interval()

    assert (low[:-1] == 0).all()
    assert (high[:-1] == 1).all()
    assert 0 < low[-1] < high[-1] == pytest.approx(1)


def test_intervals_hold_the_truth_as_often_as_they_say(rng):
    hits = rng.binomial(1_000, 0.8, size=20_000)

    low, high = wilson_interval(hits, np.full(hits.shape, 1_000))

    assert np.mean((low <= 0.8) & (high >= 0.8)) == pytest.approx(0.95, abs=0.01)


@pytest.mark.parametrize("chance", [-0.1, 1.1, math.nan])
def test_an_impossible_chance_is_named(chance):
    with pytest.raises(CollectionError, match="from 0 to 1"):
        counted([0.5, chance], [Said.ADD, Said.KEEP], [True, True])


def test_a_verdict_nobody_knows_is_named():
    with pytest.raises(CollectionError, match="a verdict is 7"):
        counted([0.5], [7], [True])


def test_arrays_of_other_lengths_are_refused():
    with pytest.raises(CollectionError, match=r"\(2,\), \(1,\) and \(2,\)"):
        counted([0.5, 0.5], [Said.ADD], [True, True])


def test_counts_in_other_ranges_do_not_add_up():
    some, others = (count_chances(np.array([0.5]), np.array([True]), bins=n) for n in (5, 10))

    with pytest.raises(CollectionError, match="5 and 10 ranges"):
        some + others


def test_impossible_settings_are_refused():
    with pytest.raises(SettingsError, match="in 0 ranges"):
        count_chances(np.array([0.5]), np.array([True]), bins=0)
    with pytest.raises(SettingsError, match=r"the level is 1\.0"):
        wilson_interval(np.array([1]), np.array([1]), level=1.0)
