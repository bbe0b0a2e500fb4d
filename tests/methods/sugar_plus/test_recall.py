"""People's recall where images are looked at: each kind of evidence tells it on its own scale."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from methods.sugar_plus.literal import slips_of
from sugartag.methods.sugar_plus import recall as recall_module
from sugartag.methods.sugar_plus.belief import learned_belief
from sugartag.methods.sugar_plus.looked_at import SIGHT_FOLDS, Directions
from sugartag.methods.sugar_plus.recall import (
    columns_of,
    likelihoods,
    recall_by_kinds,
    recall_by_odds,
)
from sugartag.methods.sugar_plus.rise import told_rise
from sugartag.methods.sugar_plus.sight import Sight
from sugartag.methods.sugar_plus.weighing import Heard

N_IMAGES, TAGS = 12_000, np.arange(2, 32)


def sight_of(share):
    weights = np.zeros((SIGHT_FOLDS, 1, len(TAGS)), dtype=np.float32)
    return Sight(Directions.none(True), TAGS, weights, share, 1.0, N_IMAGES, 0)


def world(recall):
    """Return what is heard of 34 tags, what sight says, and sight; tags belong by the odds of both.

    Of the first two and the last two tags sight says nothing.
    """
    rng = np.random.default_rng(0)
    said, odds = (rng.normal(scale=scale, size=(N_IMAGES, 34)) for scale in (1.2, 2.5))
    odds -= 4.0
    belongs = rng.random(said.shape) < expit(said + odds - 1.0)
    given = belongs & (rng.random(said.shape) < recall)
    heard = Heard(
        (0.1 * said).astype(np.float32),
        (0.1 * said).astype(np.float32),
        given,
        given.astype(np.float32),
        slips_of(34, 0.0),
    )
    chance = expit(odds[:, TAGS])
    share = chance.mean(axis=0).astype(np.float32)
    seen = np.zeros(said.shape, dtype=np.float32)
    seen[:, TAGS] = chance - share
    return heard, seen, sight_of(share)


@pytest.mark.parametrize("recall", [0.5, 0.6, 0.8])
def test_log_odds_tell_the_recall_and_chances_do_not(recall):
    """Where sight is sure its chance ends, but the share of tags that belong goes on rising."""
    heard, seen, sight = world(recall)

    found = recall_by_odds(heard, seen, sight)

    known = heard.given[:, TAGS], heard.honest[:, TAGS], heard.slips.rate[TAGS]
    by_chances = told_rise((heard.by_all + seen)[:, TAGS], *known)
    assert found == pytest.approx(recall, abs=0.05)
    assert by_chances.recall > recall + 0.05


def unlike_tags(recall):
    """Return three kinds of evidence, how usual tags are, and what is given.

    Evidence means another thing for a rare tag: of these the second kind speaks.
    """
    rng = np.random.default_rng(5)
    shape = N_IMAGES, 30
    first, second, odds = (rng.normal(scale=scale, size=shape) for scale in (1.0, 1.0, 1.2))
    rare = np.linspace(0.0, 1.0, shape[1])
    odds -= 3.0 + 2.0 * rare
    margin = odds + 3.0 * ((1.0 - rare) * first + rare * second)
    given = rng.random(shape) < recall * expit(margin)
    kinds = [part.astype(np.float32) for part in (0.1 * first, 0.1 * second, 0.1 * odds)]
    return kinds, -rare, given


@pytest.mark.parametrize("recall", [0.45, 0.55, 0.7])
def test_each_kind_of_evidence_has_its_own_say_about_usual_and_rare_tags(recall):
    """One sum of all evidence mixes tags of unlike chances, and tells the recall worse."""
    kinds, usual, given = unlike_tags(recall)
    known = given, given.astype(np.float32), np.zeros(30)

    found = recall_by_kinds(sum(kinds), kinds, usual, *known)

    assert found == pytest.approx(recall, abs=0.03)
    assert told_rise(sum(kinds), *known).recall > found + 0.015


def test_recall_is_the_mean_of_what_kinds_tell_and_what_their_sum_tells(monkeypatch):
    heard, seen, sight = world(0.6)
    before = recall_by_odds(heard, seen, sight)
    told = []

    def by_kinds(*known, threads):
        told.append(recall_by_kinds(*known, threads=threads))
        return told[0] + 0.1

    monkeypatch.setattr(recall_module, "recall_by_kinds", by_kinds)

    assert recall_by_odds(heard, seen, sight) == pytest.approx(before + 0.05)
    assert told[0] == pytest.approx(0.6, abs=0.03)


@pytest.mark.parametrize("recall", [0.4, 0.6, 0.9])
def test_likelihoods_are_those_of_the_likeliest_weights(recall):
    rng = np.random.default_rng(3)
    kinds = [rng.normal(size=800), rng.exponential(size=800)]
    columns = columns_of(kinds, rng.normal(size=800))
    slips = rng.uniform(0.0, 0.1, 800)
    belongs = expit(columns @ np.array([-0.5, 1.0, 0.7, 0.4, 0.3, 0.0]))
    uses = (rng.random(800) < slips + (0.6 - slips) * belongs) * rng.uniform(0.5, 1.0, 800)

    (found,) = likelihoods(columns, uses, slips, np.array([recall]))

    def literal(weights):
        chance = slips + (recall - slips) * expit(columns @ weights)
        return -float(uses @ np.log(chance) + (1.0 - uses) @ np.log1p(-chance))

    best = minimize(literal, np.zeros(6), method="BFGS", options={"gtol": 1e-7})
    assert -found == pytest.approx(best.fun, rel=1e-6)


def test_columns_are_scaled_and_one_that_says_nothing_stays_nothing():
    rng = np.random.default_rng(2)
    kind, usual = rng.normal(3.0, 0.01, size=(2, 50))

    found = columns_of([kind, np.zeros(50)], usual)

    assert found.shape == (50, 6)
    np.testing.assert_array_equal(found[:, 0], 1.0)
    np.testing.assert_array_equal(found[:, [2, 5]], 0.0)
    for column in (1, 3, 4):
        assert (found[:, column].mean(), found[:, column].std()) == pytest.approx((0.0, 1.0))
    product = found[:, 1] * found[:, 3]
    np.testing.assert_allclose(found[:, 4], (product - product.mean()) / product.std())


def test_it_cannot_be_told_where_nothing_is_seen_or_given():
    heard, seen, sight = world(0.6)

    assert recall_by_odds(heard, np.zeros_like(seen), sight_of(np.full(30, 0.1))) is None
    nothing = np.zeros_like(heard.given)
    assert recall_by_odds(replace(heard, given=nothing), seen, sight) is None


def test_a_recall_that_is_known_is_kept_and_the_curve_laid_for_it():
    rng = np.random.default_rng(1)
    evidence = rng.normal(scale=0.2, size=(N_IMAGES, 30)).astype(np.float32)
    belongs = rng.random(evidence.shape) < expit(-3.0 + 10.0 * evidence)
    given = belongs & (rng.random(evidence.shape) < 0.6)
    uses, none = given.astype(np.float32), slips_of(30, 0.0)
    known = evidence, given, uses, none.rate

    rise, belief = told_rise(*known, 0.6), learned_belief(evidence, given, uses, none, 0.6)

    assert rise.recall == belief.recall == 0.6
    strong = np.linspace(rise.start, 0.6, 9, dtype=np.float32)
    np.testing.assert_allclose(rise.at(strong), expit(-3.0 + 10.0 * strong), atol=0.02)
    np.testing.assert_allclose(belief.prior(strong.copy()), rise.at(strong), atol=1e-3)
    assert told_rise(*known, 0.9).at(strong).max() < 0.75
