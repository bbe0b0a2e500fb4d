"""How much each part of the evidence counts, and what all of it together says."""

from dataclasses import replace

import numpy as np
import pytest

from methods.sugar_plus.literal import slips_of
from sugartag.methods.sugar_plus.belief import learned_belief
from sugartag.methods.sugar_plus.learning import Sample
from sugartag.methods.sugar_plus.weighing import (
    ALIKE_SHARE,
    FEWEST_USES,
    MOST_WEIGHT,
    About,
    Heard,
    Weights,
    learned_weights,
)


def some_sample(rng, weights, shape=(300, 8)):
    content, alike, interest, about = rng.standard_normal((4, *shape))
    parts = zip(weights, (content, alike, interest, about), strict=True)
    honest = sum(weight * part for weight, part in parts) + 0.1 * rng.standard_normal(shape)
    told = rng.random(shape[0]) < 0.8
    honest[~told] = 5.0
    given = rng.random(shape) < 0.5
    return Sample(given, content, interest, alike, told), honest, About(about, 0.5 * about)


@pytest.mark.parametrize("subjects", [True, False])
@pytest.mark.parametrize("interests", [True, False])
@pytest.mark.parametrize("alike", [True, False])
def test_weights_are_those_of_least_squares_on_images_whose_owner_has_others(
    rng, alike, interests, subjects
):
    sample, honest, about = some_sample(rng, (0.5, 0.2, 0.1, 0.3))
    told = sample.told
    wanted = (honest[told] - honest[told].mean(axis=0)).ravel()
    wishes = (alike, interests, subjects)
    parts = (sample.alike, sample.interest, about.by_all)
    kinds = [sample.content, *(part for part, wish in zip(parts, wishes, strict=True) if wish)]
    columns = np.stack([kind[told].ravel() for kind in kinds], axis=1)

    found = Weights.learned(
        sample, honest, about if subjects else None, alike=alike, interests=interests
    )

    solved = np.linalg.lstsq(columns, wanted, rcond=None)[0]
    beside = iter(solved[1:] / solved[0])
    expected = [next(beside) if wish else 0.0 for wish in wishes]
    expected[0] *= ALIKE_SHARE
    assert [found.alike, found.interest, found.subjects] == pytest.approx(expected, abs=1e-6)


def test_what_speaks_against_itself_has_no_weight(rng):
    against, honest, _ = some_sample(rng, (0.5, -0.2, 0.1, 0.0))
    assert learned_weights(against, honest, [against.alike, against.interest])[0] == 0.0

    useless, honest, _ = some_sample(rng, (-0.5, 0.2, 0.1, 0.0))
    assert learned_weights(useless, honest, [useless.alike, useless.interest]) == [0.0, 0.0]


def test_no_part_drowns_all_others(rng):
    sample, honest, about = some_sample(rng, (0.01, 0.0, 0.0, 1.0))

    assert learned_weights(sample, honest, [about.by_all]) == [MOST_WEIGHT]


def test_too_few_uses_teach_no_weights(rng):
    sample, honest, _ = some_sample(rng, (0.5, 0.2, 0.1, 0.0))
    few = np.zeros_like(sample.given)
    few.ravel()[: FEWEST_USES - 1] = True

    assert learned_weights(replace(sample, given=few), honest, [sample.alike]) == [0.0]


def test_all_parts_are_heard_and_of_the_image_itself_only_its_own(rng):
    sample, honest, about = some_sample(rng, (0.5, 0.2, 0.1, 0.3))
    weights, slips = Weights(0.6, 0.4, 2.0), slips_of(8, 0.01)

    found = weights.heard(sample, about, honest, slips)

    others = 0.6 * sample.alike + 0.4 * sample.interest
    np.testing.assert_allclose(found.by_all, sample.content + others + 2.0 * about.by_all)
    np.testing.assert_allclose(found.by_itself, sample.content + 2.0 * about.by_itself)
    without = weights.heard(sample, None, honest, slips)
    np.testing.assert_array_equal(without.by_itself, sample.content)


def test_beliefs_are_learned_of_what_is_heard(rng):
    by_all, by_itself, more = rng.random((3, 200, 9)).astype(np.float32)
    given = rng.random(by_all.shape) < by_all
    known = given, given.astype(np.float32), slips_of(9, 0.02)

    heard = Heard(by_all, by_itself, *known).plus(more, 2 * more)

    for found, said in ((heard.whole(), by_all + more), (heard.alone(), by_itself + 2 * more)):
        expected = learned_belief(said, *known)
        np.testing.assert_array_equal(found.belongs, expected.belongs)
        assert found.recall == expected.recall
