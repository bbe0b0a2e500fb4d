"""People's recall, from where the share of tags they give levels off."""

import numpy as np
import pytest
from scipy.optimize import isotonic_regression, minimize

from sugartag.methods.sugar_plus.rise import (
    CAUTION,
    FEWEST_TAGS,
    HIGHER,
    LIKELIHOOD_SHARE,
    RECALLS,
    RISEN,
    SPREAD,
    TOLD_WELL,
    USUAL_RECALL,
    Steps,
    fitted_curves,
    recall_above,
    rise_through,
    told_rise,
)

NO_SLIPS = np.zeros(30)


def trusting(given):
    return given.astype(np.float32)


def logistic(margin):
    return 1.0 / (1.0 + np.exp(-margin))


def collection(recall, top, *, slip=0.0, seed=0, n_images=4_000):
    """Return evidence and given tags; the surest of them belong with the probability ``top``."""
    rng = np.random.default_rng(seed)
    evidence = rng.exponential(0.2, (n_images, 30)).clip(0.0, 1.2)
    surest = np.log(top / (1.0 - top))
    belongs = rng.random(evidence.shape) < logistic(surest + 5.0 * (evidence - 1.2))
    given = belongs & (rng.random(evidence.shape) < recall)
    given |= ~belongs & (rng.random(evidence.shape) < slip)
    return evidence, given


def top_share(evidence, given):
    return given[evidence >= np.quantile(evidence[given], 0.96)].mean()


@pytest.mark.parametrize("recall", [0.35, 0.6, 0.9])
def test_where_the_share_saturates_recall_is_the_share(recall):
    rng = np.random.default_rng(4)
    belongs = rng.random((2_000, 30)) < 0.1
    evidence = rng.standard_normal(belongs.shape) + 8.0 * belongs
    given = belongs & (rng.random(belongs.shape) < recall)

    found = told_rise(evidence, given, trusting(given), NO_SLIPS)

    assert found.recall == pytest.approx(recall, abs=0.03)


@pytest.mark.parametrize("recall", [0.5, 0.7])
@pytest.mark.parametrize("top", [0.93, 0.97])
def test_where_even_the_surest_tags_may_be_wrong_recall_is_more_than_their_share(recall, top):
    evidence, given = collection(recall, top, n_images=12_000)

    found = told_rise(evidence, given, trusting(given), NO_SLIPS)

    assert found.recall > top_share(evidence, given) + 0.01
    assert found.recall == pytest.approx(recall, abs=0.1)


def test_the_curve_is_the_probability_that_tags_belong():
    evidence, given = collection(0.6, 0.95, n_images=20_000)

    found = told_rise(evidence, given, trusting(given), NO_SLIPS)

    strong = np.linspace(found.start, 1.2, 20)
    expected = logistic(np.log(0.95 / 0.05) + 5.0 * (strong - 1.2))
    np.testing.assert_allclose(found.at(strong), expected, atol=0.05)


def test_slips_are_not_taken_for_what_belongs():
    evidence, given = collection(0.6, 0.9, slip=0.1)

    found = told_rise(evidence, given, trusting(given), np.full(30, 0.1))

    assert found.recall == pytest.approx(0.6, abs=0.07)


def test_tags_given_by_habit_do_not_raise_the_recall():
    rng = np.random.default_rng(11)
    belongs = rng.random((2_000, 30)) < 0.1
    evidence = rng.standard_normal(belongs.shape) + 8.0 * belongs
    given = belongs & (rng.random(belongs.shape) < 0.6)
    stamped = belongs & ~given & (rng.random(belongs.shape) < 0.5)

    found = told_rise(evidence, given | stamped, trusting(given), NO_SLIPS)

    assert found.recall == pytest.approx(0.6, abs=0.03)


@pytest.mark.parametrize("recall", [0.45, 0.6, 0.9])
def test_curves_are_the_likeliest_ones(recall):
    evidence, given = collection(0.6, 0.9, slip=0.02)
    steps = Steps.of(evidence, given, trusting(given), np.full(30, 0.02))[20:]

    (curve,), (likelihood,) = fitted_curves(steps, np.array([recall]))

    def literal(line):
        belongs = logistic(line[0] + line[1] * steps.evidence)
        chance = steps.slips + (recall - steps.slips) * belongs
        hits, missed = steps.hits, steps.cells - steps.hits
        return -float(hits @ np.log(chance) + missed @ np.log1p(-chance))

    best = minimize(literal, [0.0, 1.0], method="Nelder-Mead", options={"xatol": 1e-7})
    np.testing.assert_allclose(curve, best.x, rtol=1e-3, atol=1e-3)
    assert -likelihood == pytest.approx(best.fun, rel=1e-9)


def test_recall_is_above_the_mean_by_likelihood_and_by_what_is_usual():
    evidence, given = collection(0.75, 0.95)

    found = told_rise(evidence, given, trusting(given), NO_SLIPS)

    every = Steps.of(evidence, given, trusting(given), NO_SLIPS)
    used = every[int(np.argmin(np.abs(every.evidence - found.start))) :]
    _, likelihood = fitted_curves(used, RECALLS)
    usual = np.exp(-0.5 * ((RECALLS - USUAL_RECALL) / SPREAD) ** 2)
    weight = usual * np.exp(LIKELIHOOD_SHARE * (likelihood - likelihood.max()))
    mean = np.average(RECALLS, weights=weight)
    spread = np.sqrt(np.average((RECALLS - mean) ** 2, weights=weight))
    assert found.recall == pytest.approx(mean + CAUTION * spread, abs=1e-9)


def test_the_curve_begins_just_before_a_third_of_the_recall_is_given():
    evidence, given = collection(0.6, 0.95)

    found = told_rise(evidence, given, trusting(given), NO_SLIPS)

    steps = Steps.of(evidence, given, trusting(given), NO_SLIPS)
    shares = isotonic_regression(steps.hits / steps.cells, weights=steps.cells).x
    first = int(np.argmin(np.abs(steps.evidence - found.start)))
    assert shares[first + 1] >= RISEN * found.recall > shares[first]


def crooked(n_images, recall=0.6, seed=0):
    """Return steps whose share rises fast at first and then slowly, as no one curve does."""
    rng = np.random.default_rng(seed)
    evidence = rng.exponential(1.5, (n_images, 30)) - 3.0
    margin = np.where(evidence < 0.0, 2.0 * evidence, 0.8 * evidence)
    given = (rng.random(evidence.shape) < logistic(margin)) & (rng.random(evidence.shape) < recall)
    return Steps.of(evidence, given, trusting(given), NO_SLIPS)


def test_of_many_images_the_highest_steps_tell_the_recall():
    """A curve need not hold where it is not needed, once it can be told without."""
    steps = crooked(100_000)

    (low, _), (high, spread) = (recall_above(steps, share) for share in (RISEN, HIGHER[-1]))

    assert spread < TOLD_WELL
    assert rise_through(steps).recall == high
    assert abs(high - 0.6) < abs(low - 0.6) - 0.005


def test_of_fewer_images_all_that_are_risen_do():
    steps = crooked(2_000)

    assert all(recall_above(steps, share)[1] > TOLD_WELL for share in HIGHER)
    assert rise_through(steps).recall == recall_above(steps, RISEN)[0]


def test_where_little_can_be_told_recall_is_near_the_usual_one():
    evidence, given = collection(0.9, 0.5, n_images=3_000)

    found = told_rise(evidence, given, trusting(given), NO_SLIPS)

    assert abs(found.recall - USUAL_RECALL) < 2 * SPREAD


def test_nothing_is_told_from_a_few_tags_or_from_evidence_that_says_nothing():
    rng = np.random.default_rng(3)
    evidence = rng.random((400, 30))
    few = np.zeros(evidence.shape, dtype=bool)
    few.ravel()[: FEWEST_TAGS - 1] = True
    falling = rng.random(evidence.shape) < 0.5 * (1.0 - evidence)

    assert told_rise(evidence, few, trusting(few), NO_SLIPS) is None
    assert told_rise(evidence, falling, trusting(falling), NO_SLIPS) is None
    assert told_rise(np.zeros((400, 30)), falling, trusting(falling), NO_SLIPS) is None
