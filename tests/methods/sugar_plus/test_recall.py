"""People's recall where images are looked at: log odds tell it, chances that end do not."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from methods.sugar_plus.literal import slips_of
from sugartag.methods.sugar_plus.belief import learned_belief
from sugartag.methods.sugar_plus.looked_at import SIGHT_FOLDS, Directions
from sugartag.methods.sugar_plus.recall import recall_by_odds
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
