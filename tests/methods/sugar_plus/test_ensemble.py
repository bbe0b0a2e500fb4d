"""One score: predictions made comparable, and an own tag adds what it is worth."""

import numpy as np
import pytest
from scipy import sparse

from methods.sugar_plus.literal import given
from sugartag.linalg.sparse_rows import row_number_of_entries
from sugartag.methods.sugar_plus.ensemble import PRIOR_USES, TINY, USUAL_USES, Scale, Spread


@pytest.fixture
def predicted(rng):
    return (rng.standard_normal((200, 6)) * [0.1, 0.2, 0.3, 0.4, 0.5, 0.0]).astype(np.float32)


@pytest.fixture
def tags(predicted, rng):
    chance = np.array([0.5, 0.3, 0.2, 0.1, 0.01, 0.0])
    return sparse.csr_array((rng.random(predicted.shape) < chance * (1 + (predicted > 0))) * 1.0)


def test_the_deviation_and_the_lift_are_those_of_the_predictions(predicted, tags):
    found, y = Spread.of(predicted, tags), tags.toarray() > 0

    deviation = np.sqrt(predicted.astype(float).var(axis=0) + TINY**2)
    np.testing.assert_allclose(found.deviation, deviation, atol=1e-6)
    uses, raw = y.sum(axis=0), np.zeros(6)
    for tag in range(6):
        if uses[tag]:
            apart = predicted[y[:, tag], tag].mean() - predicted[~y[:, tag], tag].mean()
            raw[tag] = max(apart, 0.0)
    usual = np.median(raw[uses > USUAL_USES])
    lift = (uses * raw + PRIOR_USES * usual) / (uses + PRIOR_USES)
    np.testing.assert_allclose(found.lift, lift, atol=1e-6)
    assert found.usual_deviation() == pytest.approx(np.median(deviation[uses > USUAL_USES]))


def test_the_sums_of_two_parts_are_those_of_the_whole(predicted, tags):
    whole = Spread.of(predicted, tags)

    both = Spread.of(predicted[:77], tags[:77]) + Spread.of(predicted[77:], tags[77:])

    assert both.count == whole.count
    for name in ("deviation", "lift", "total", "uses"):
        np.testing.assert_allclose(getattr(both, name), getattr(whole, name), atol=1e-5)


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_predictions_are_divided_by_a_power_of_their_deviation(predicted, tags, power):
    spread = Spread.of(predicted, tags)

    scale = Scale.of(spread, power=power, own_weight=2.0)

    factor = (spread.usual_deviation() / spread.deviation) ** power
    np.testing.assert_allclose(scale.factor, factor, rtol=1e-5)
    own = 2.0 * np.maximum(spread.lift, spread.deviation) * factor
    np.testing.assert_allclose(scale.own, own, rtol=1e-5)


def test_where_no_tag_is_used_often_the_usual_deviation_is_that_of_all(predicted):
    spread = Spread.of(predicted, sparse.csr_array(predicted.shape))

    assert spread.usual_deviation() == pytest.approx(np.median(spread.deviation))
    assert not spread.lift.any()


def test_new_tags_are_scaled_as_usual(predicted, tags):
    scale = Scale.of(Spread.of(predicted, tags), power=0.5, own_weight=1.0)

    wide = scale.widened(8)

    np.testing.assert_array_equal(wide.factor, [*scale.factor, 1.0, 1.0])
    np.testing.assert_array_equal(wide.own, [*scale.own, *[np.median(scale.own)] * 2])


def test_an_own_tag_raises_the_score_by_exactly_what_it_is_worth(fitted, rows):
    excess = fitted.views.excess(rows) * fitted.scale.factor
    own = given(rows) > 0

    found = fitted.scores(rows)

    tag = row_number_of_entries(sparse.csr_array(rows.tags.T))
    assert len(tag) == own.sum()
    np.testing.assert_array_equal(found[~own], excess[~own])
    expected = excess + fitted.scale.own
    np.testing.assert_array_equal(found[own], expected[own])
    assert (fitted.scale.own > 0).all()


def test_calibration_makes_no_ties_and_never_turns_two_scores_around(fitted, rows):
    scores = fitted.scores(rows)
    tagged = given(rows).sum(axis=1) > 0
    for tag in range(scores.shape[1]):
        row = np.flatnonzero((given(rows)[:, tag] == 0) & tagged)
        posterior = fitted.posterior(rows, scores, row, np.full(len(row), tag))
        order = np.argsort(scores[row, tag])
        assert (np.diff(posterior[order]) >= -1e-7).all()
    # The posterior has level pieces; ranks do not, since they come from the scores.
    present = np.flatnonzero(rows.features.any(axis=1) & (given(rows).sum(axis=1) > 0))
    alike = np.unique(np.hstack([given(rows), rows.features]), axis=0, return_index=True)[1]
    some = np.intersect1d(present, alike)
    assert len(np.unique(scores[some, 0])) == len(some)
