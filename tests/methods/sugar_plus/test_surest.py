"""People's recall, from how often the surest tags are given."""

import numpy as np
import pytest

from sugartag.methods.sugar_plus.surest import (
    FEWEST_STEPS,
    MOST_STEPS,
    RECALL_CELLS,
    RECALLS,
    STEPS,
    UNKNOWN,
    USUAL_RECALL,
    estimated_recall,
)


def trusting(given):
    return given.astype(np.float32)


@pytest.mark.parametrize("recall", [0.6, 0.9])
def test_recall_is_how_often_the_surest_tags_are_given(recall):
    rng = np.random.default_rng(4)
    belongs = rng.random((2_000, 20)) < 0.1
    evidence = rng.standard_normal(belongs.shape) + 8.0 * belongs
    given = belongs & (rng.random(belongs.shape) < recall)

    found = estimated_recall(evidence, given, trusting(given))

    assert found == pytest.approx(recall, abs=0.03)


def test_recall_is_told_from_all_tags_that_are_as_sure_as_the_surest():
    rng = np.random.default_rng(5)
    evidence = rng.random((300, 20))
    given = rng.random(evidence.shape) < np.where(evidence > 0.7, 0.7, 0.1)

    found = estimated_recall(evidence, given, trusting(given))

    sure = evidence > 0.7
    hits, cells = (given & sure).sum(), sure.sum() + RECALL_CELLS
    assert found == pytest.approx((hits + USUAL_RECALL * RECALL_CELLS) / cells, abs=0.02)


def test_recall_is_not_taken_from_tags_that_are_less_sure():
    rng = np.random.default_rng(6)
    evidence = rng.random((3_000, 20))
    given = rng.random(evidence.shape) < 0.9 * np.clip(4.0 * evidence - 2.9, 0.05, 1.0)

    assert estimated_recall(evidence, given, trusting(given)) == pytest.approx(0.9, abs=0.05)


def test_recall_is_looked_for_within_bounds():
    rng = np.random.default_rng(4)
    evidence = rng.standard_normal((4_000, 20))
    seldom, always = rng.random(evidence.shape) < 0.1, np.ones(evidence.shape, dtype=bool)

    assert estimated_recall(evidence, seldom, trusting(seldom)) == pytest.approx(
        RECALLS[0], abs=0.02
    )
    assert estimated_recall(evidence, always, trusting(always)) == RECALLS[1]


def shares_by_step(evidence, given, n_steps, length=STEPS[0]):
    """Return how many tags each step of evidence has, and the share of them that is given."""
    edges = np.quantile(evidence[given], 1.0 - length * np.arange(1, MOST_STEPS + 1))
    step = np.searchsorted(-edges, -evidence.ravel())
    tags = np.bincount(step, minlength=MOST_STEPS)[:n_steps]
    return tags, np.bincount(step, given.ravel(), minlength=MOST_STEPS)[:n_steps] / tags


@pytest.mark.parametrize(("recall", "surest"), [(0.7, 0.95), (0.85, 0.93)])
def test_where_even_the_surest_tags_may_be_wrong_recall_is_more_than_their_share(recall, surest):
    rng = np.random.default_rng(8)
    # Of the surest tags the share ``surest`` belongs, and of less sure ones less.
    evidence = rng.random((4_000, 30))
    belongs = rng.random(evidence.shape) < surest - 1.5 * (1.0 - evidence)
    given = belongs & (rng.random(evidence.shape) < recall)

    found = estimated_recall(evidence, given, trusting(given))

    _, shares = shares_by_step(evidence, given, 1)
    assert found > shares[0] + 0.01
    assert abs(found - recall) < abs(shares[0] - recall)


def test_recall_is_one_step_above_a_line_through_the_steps():
    rng = np.random.default_rng(9)
    evidence = rng.random((4_000, 30))
    given = rng.random(evidence.shape) < np.where(evidence > 0.75, 0.5 * evidence + 0.25, 0.01)

    found = estimated_recall(evidence, given, trusting(given))

    # Nearly all given tags are above 0.75, so that all steps are on the line.
    tags, shares = shares_by_step(evidence, given, MOST_STEPS)
    line = np.polynomial.Polynomial.fit(np.arange(1, MOST_STEPS + 1), shares, 1, w=np.sqrt(tags))
    expected = (tags.sum() * line(0.0) + USUAL_RECALL * RECALL_CELLS) / (tags.sum() + RECALL_CELLS)
    assert found == pytest.approx(expected, abs=1e-9)


def test_a_line_that_would_rise_is_level():
    rng = np.random.default_rng(10)
    evidence = rng.random((4_000, 30))
    # The surest tenth is given a little less often than what comes after it.
    given = rng.random(evidence.shape) < np.where(evidence > 0.9, 0.72, 0.8)

    found = estimated_recall(evidence, given, trusting(given))

    tags, shares = shares_by_step(evidence, given, MOST_STEPS)
    assert found == pytest.approx(np.average(shares, weights=tags), abs=0.002)


def test_where_no_tag_is_given_the_recall_is_the_usual_one():
    nothing = np.zeros((50, 7), dtype=bool)

    assert estimated_recall(np.zeros((50, 7)), nothing, trusting(nothing)) == USUAL_RECALL


def test_tags_given_by_habit_do_not_raise_the_recall():
    rng = np.random.default_rng(11)
    belongs = rng.random((2_000, 20)) < 0.1
    evidence = rng.standard_normal(belongs.shape) + 8.0 * belongs
    given = belongs & (rng.random(belongs.shape) < 0.6)
    stamped = belongs & ~given & (rng.random(belongs.shape) < 0.5)

    found = estimated_recall(evidence, given | stamped, trusting(given))

    assert found == pytest.approx(0.6, abs=0.03)


def test_where_few_tags_are_nearly_certain_it_is_looked_closer():
    rng = np.random.default_rng(12)
    evidence = rng.random((20_000, 30))
    belongs = np.where(evidence > 0.996, 0.97, np.where(evidence > 0.9, 0.35, 0.02))
    given = rng.random(evidence.shape) < 0.53 * belongs

    found = estimated_recall(evidence, given, trusting(given))

    _, coarse = shares_by_step(evidence, given, FEWEST_STEPS)
    _, fine = shares_by_step(evidence, given, FEWEST_STEPS, length=STEPS[1])
    assert coarse[-1] < 0.7 * coarse[0]
    assert fine[-1] > 0.9 * fine[0]
    assert found == pytest.approx(0.53, abs=0.03)


def test_where_shares_fall_at_once_nobody_knows_and_recall_is_not_taken_for_low():
    rng = np.random.default_rng(13)
    evidence = rng.random((3_000, 20))
    given = rng.random(evidence.shape) < 0.5 * np.exp(-400.0 * (1.0 - evidence))

    assert estimated_recall(evidence, given, trusting(given)) >= UNKNOWN
