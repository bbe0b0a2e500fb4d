"""What predictions mean: the recall, the posterior, the thresholds and what is said of them."""

from dataclasses import replace

import numpy as np
import pytest

from methods.sugar_plus.literal import ENGINE, SMALL, given, views_of
from sugartag.assignment.calibration import MonotoneMap
from sugartag.assignment.thresholds import NEVER_ADDED, NEVER_DOUBTED
from sugartag.engine import LocalEngine
from sugartag.methods.sugar_plus import calibration as module
from sugartag.methods.sugar_plus.calibration import (
    ADD_FROM,
    DOUBT_BELOW,
    LEAST_RECALL,
    LEAST_UNSURE,
    MOST_RECALL,
    SURE,
    SUREST_RIGHT,
    Calibrator,
    Levels,
    Worth,
    calibrate,
    explained,
    fit_calibrator,
    given_rates,
    recall_of,
)
from sugartag.methods.sugar_plus.ensemble import Spread
from sugartag.methods.sugar_plus.noise_model import QUANTILES, NoiseModel

NOTHING = np.zeros(0, dtype=int)


def calibrator_of(curve, recall, untagged=None):
    quantiles = np.zeros((5, QUANTILES), dtype=np.float32)
    noise = NoiseModel.fit(quantiles, NOTHING, NOTHING, looks=0.1)
    return Calibrator(curve, untagged or curve, recall, noise, Worth(0.12, 0.3))


def surely_predicted(rng, recall, right=1.0):
    """Return predictions of which the highest are right so often, and where tags were given."""
    truth = rng.random((2_000, 60)) < 0.1
    predicted = np.where(truth, 0.9, 0.1) + 0.05 * rng.standard_normal(truth.shape)
    truth &= rng.random(truth.shape) < right
    row, tag = np.nonzero(truth & (rng.random(truth.shape) < recall))
    return Levels(predicted.astype(np.float32), row, tag)


@pytest.mark.parametrize("recall", [0.3, 0.5, 0.7, 0.9])
def test_the_recall_is_read_off_the_surest_tags(rng, recall):
    levels = surely_predicted(rng, recall, right=SUREST_RIGHT)

    assert recall_of(levels) == pytest.approx(recall, abs=0.1)


def test_where_the_rate_still_rises_towards_the_surest_a_high_recall_is_assumed(rng):
    level = rng.random((500, 200))
    row, tag = np.nonzero(rng.random(level.shape) < 0.5 * level**100)  # Sure only at the very top.

    assert len(row) > 4 * 100
    assert recall_of(Levels(level.astype(np.float32), row, tag)) == LEAST_UNSURE


def test_the_recall_stays_in_its_range(rng):
    assert recall_of(surely_predicted(rng, 0.15)) == LEAST_RECALL
    few = surely_predicted(rng, 0.15)
    few = Levels(few.values, few.row[:1_000], few.tag[:1_000])
    assert recall_of(few) == LEAST_UNSURE  # Too few to tell whether the rate has levelled off.
    every = surely_predicted(rng, 1.0)
    assert recall_of(every) == MOST_RECALL
    assert recall_of(Levels(every.values, every.row[:3], every.tag[:3])) == MOST_RECALL


def test_the_curve_is_how_often_a_tag_with_this_prediction_is_given(rng):
    predicted = rng.random((3_000, 20)).astype(np.float32)
    row, tag = np.nonzero(rng.random(predicted.shape) < predicted**2)

    curve = given_rates(predicted, predicted[row, tag])

    places = np.linspace(0.1, 0.9, 9)
    np.testing.assert_allclose(curve(places), places**2, atol=0.03)
    assert (np.diff(curve.values) >= 0).all()


def test_where_nothing_is_given_nothing_is_expected():
    nothing = Levels(np.ones((3, 2), np.float32), NOTHING, NOTHING)

    assert given_rates(nothing.values, nothing.at_given)(np.array([0.5])) == 0.0
    assert recall_of(nothing) == MOST_RECALL


def cells(count, *, given=False, untagged=False):
    """Return tags in question of which nobody decided anything."""
    kinds = {"given": given, "untagged": untagged, "decided": 0.0}
    return {name: np.full(count, value) for name, value in kinds.items()}


def test_of_an_image_without_tags_nobody_left_one_out():
    rate, recall = np.array([0.0, 0.1, 0.3, 0.55, 0.6, 0.9]), 0.6
    of_tagged = MonotoneMap(np.zeros(1), np.zeros(1))
    calibrator = calibrator_of(of_tagged, recall, MonotoneMap(rate, rate))

    found = calibrator.posterior(np.zeros(6, dtype=int), rate, **cells(6, untagged=True))

    expected = np.maximum(np.minimum(rate / recall, SUREST_RIGHT), 1.0 - SURE)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_tag_not_given_is_right_by_the_rule_of_elkan_and_noto():
    rate, recall = np.array([0.0, 0.1, 0.3, 0.55, 0.6, 0.9]), 0.6
    found = calibrator_of(MonotoneMap(rate, rate), recall).posterior(
        np.zeros(6, dtype=int), rate, **cells(6)
    )

    right = np.minimum(rate / recall, SUREST_RIGHT)
    expected = (1.0 - recall) * right / (1.0 - recall * right)
    np.testing.assert_allclose(found, np.clip(expected, 1.0 - SURE, SURE), atol=1e-6)


def test_a_given_tag_is_as_probable_as_the_noise_model_says(rng):
    levels = surely_predicted(rng, 0.6)
    found = fit_calibrator(levels, levels, Worth(0.1, 0.2))

    posterior = found.posterior(levels.tag, levels.at_given, **cells(len(levels.tag), given=True))

    wrong = found.noise.probability_wrong(levels.tag, levels.at_given)
    np.testing.assert_allclose(posterior, np.clip(1.0 - wrong, 1.0 - SURE, SURE), atol=1e-6)


@pytest.mark.parametrize("is_given", [False, True])
def test_what_a_person_decided_stands(is_given):
    curve = MonotoneMap(np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    found = calibrator_of(curve, 0.5).posterior(
        np.zeros(3, dtype=int),
        np.array([0.3, 0.3, 0.3]),
        **cells(3, given=is_given) | {"decided": np.array([1, -1, 0])},
    )

    assert found[:2] == pytest.approx([SURE, 1.0 - SURE])
    assert 0.1 < found[2] < 0.99


def test_of_rare_tags_nothing_is_said():
    curve = MonotoneMap(np.zeros(1), np.zeros(1))

    found = calibrator_of(curve, 0.5).thresholds(np.array([0.0, 4.0, 5.0, 100.0]))

    assert found.add.tolist() == [NEVER_ADDED, NEVER_ADDED, ADD_FROM, ADD_FROM]
    assert found.doubt.tolist() == [NEVER_DOUBTED, NEVER_DOUBTED, DOUBT_BELOW, DOUBT_BELOW]


def test_what_is_explained_is_the_share_of_the_variance(views, rows):
    excess, y, rate = views.excess(rows).astype(float), given(rows), views.base_rate
    residual, variance = np.square(y - rate - excess).sum(), np.square(y - rate).sum()

    found = explained(Spread.of(views.excess(rows), rows.tags), rate)

    assert found == pytest.approx(1.0 - residual / variance, abs=1e-5)
    assert explained(Spread.of(-views.excess(rows), rows.tags), rate) == 0.0


def test_a_fit_learns_from_the_predictions_that_leave_each_image_out(small, views, rows):
    options = {"power": SMALL.spread_power, "own_weight": SMALL.own_weight}
    scale, found = calibrate(views, small, **options, engine=ENGINE)

    levels = Levels(views.excess(rows) * scale.level, *np.nonzero(given(rows)))
    expected = fit_calibrator(levels, levels, found.worth)
    assert found.recall == expected.recall == recall_of(levels)
    np.testing.assert_allclose(found.noise.quantiles, expected.noise.quantiles, atol=1e-6)
    np.testing.assert_allclose(found.given_rate.values, expected.given_rate.values, atol=1e-6)
    deviation = np.sqrt(views.excess(rows).var(axis=0) + 1e-6)
    usual = np.median(deviation[given(rows).sum(axis=0) > 5])
    np.testing.assert_allclose(scale.factor, (usual / deviation) ** 0.5, rtol=1e-3)
    np.testing.assert_allclose(scale.level, (usual / deviation) ** 0.25, rtol=1e-3)


def test_calibration_does_not_depend_on_its_blocks(small, views, monkeypatch):
    options = {"power": 0.5, "own_weight": 2.0, "engine": ENGINE}
    scale, one = calibrate(views, small, **options)
    monkeypatch.setattr(module, "ROWS_PER_BLOCK", 9)
    again, other = calibrate(views, small, **options)

    np.testing.assert_allclose(again.own, scale.own, rtol=1e-4)
    np.testing.assert_allclose(other.noise.median, one.noise.median, rtol=1e-3)
    assert other.worth.everything == pytest.approx(one.worth.everything, abs=1e-5)


def test_looks_are_worth_what_the_visual_view_alone_explains(small, rows, views):
    _, found = calibrate(views, small, power=0.5, own_weight=2.0, engine=ENGINE)
    alone = views_of(
        small, replace(SMALL, visual_share=1.0, name_similarity=0.0, neighbour_weight=0.0)
    )

    spread = Spread.of(alone.excess(rows), rows.tags)
    assert found.worth.looks == pytest.approx(explained(spread, alone.base_rate), abs=1e-4)


def test_a_sample_is_spread_over_the_whole_collection(small, views, monkeypatch):
    monkeypatch.setattr(module, "ROWS_PER_BLOCK", 10)
    monkeypatch.setattr(module, "IMAGES", 30)
    looked_at = []

    class Watching(LocalEngine):
        def map(self, function, blocks, *others):
            looked_at.extend(blocks)
            return super().map(function, blocks, *others)

    calibrate(views, small, power=0.5, own_weight=2.0, engine=Watching())

    assert [block.start for block in looked_at] == [0, 30, 70]


def test_where_nothing_can_be_doubted_it_says_so_and_else_how_much_looks_wrong():
    quiet = calibrator_of(MonotoneMap(np.zeros(1), np.zeros(1)), 0.5)
    most = 1.0 - DOUBT_BELOW
    said = []
    for wrong in (most - 0.01, most + 0.01):
        noise = replace(
            quiet.noise, wrong=np.full_like(quiet.noise.wrong, wrong), uses=np.full(5, 100.0)
        )
        loud = replace(quiet, noise=noise)
        chance = loud.posterior(np.zeros(1, dtype=int), np.zeros(1), **cells(1, given=True))
        is_doubted = bool(chance[0] < loud.thresholds(noise.uses).doubt[0])
        line = loud.summary(has_features=True)
        assert ("no doubts will be made" in line) is not is_doubted
        assert ("of the given tags look wrong" in line) is is_doubted
        said.append(is_doubted)

    assert said == [False, True]
    assert "no doubts will be made" in quiet.summary(has_features=True)


def test_the_summary_says_what_looks_and_everything_together_explain():
    found = calibrator_of(MonotoneMap(np.zeros(1), np.zeros(1)), 0.5)

    line = found.summary(has_features=True)

    assert line.startswith("looks explain 12% of the tags, everything together 30%")
    assert found.summary(has_features=False).startswith("no looks, everything together 30%")
