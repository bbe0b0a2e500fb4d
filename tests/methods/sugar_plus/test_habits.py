from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from sugartag.collection.model import Rows
from sugartag.methods.sugar_plus import habits as habits_module
from sugartag.methods.sugar_plus.belief import Belief
from sugartag.methods.sugar_plus.habit_odds import CHANCES, RATES
from sugartag.methods.sugar_plus.habits import FIRST_WEIGHT, ROUNDS, WEIGHTS, Habits
from sugartag.methods.sugar_plus.manners import Manners
from sugartag.methods.sugar_plus.slips import Slips

N_OWNERS, N_TAGS = 9, 7


class World:
    """Images of a few owners and of nobody, their tags, and the chance of each tag anyhow."""

    def __init__(self, seed=0, n_images=60):
        rng = np.random.default_rng(seed)
        # The last owner has no image, the one before has one.
        self.owner = np.append(rng.integers(N_OWNERS - 2, size=n_images - 6), [N_OWNERS - 2])
        self.owner = np.append(self.owner, np.full(5, N_OWNERS))
        stamped = rng.random((N_OWNERS + 1, N_TAGS)) < 0.2
        self.given = rng.random((n_images, N_TAGS)) < 0.15
        self.given |= stamped[self.owner] & (rng.random(self.given.shape) < 0.7)
        self.chance = np.where(self.given, rng.uniform(1e-5, 0.9, self.given.shape), 0.0)
        self.stored = sparse.csr_array(self.chance)

    def habits(self):
        return Habits.learned(self.stored, self.owner, N_OWNERS)


@pytest.fixture(scope="module")
def world():
    return World()


def odds_of(given, chance):
    """Return for each rate how much more probable a habit makes what is seen of one tag."""
    x = np.clip(chance, *CHANCES)
    found = np.ones(len(RATES))
    for one, anyhow in zip(given, x, strict=True):
        with_habit = anyhow + RATES - anyhow * RATES
        found *= with_habit / anyhow if one else (1 - with_habit) / (1 - anyhow)
    return found


def literal_stamp(weight, world, others, tag):
    """Return the chance that a habit stamps a tag on, by Bayes' rule, from some images."""
    odds = weight * odds_of(world.given[others, tag], world.chance[others, tag])
    belief = odds / (1 - weight.sum() + odds.sum())
    return belief @ RATES


def others_of(world, image):
    mine = (world.owner == world.owner[image]) & (world.owner < N_OWNERS)
    mine[image] = False
    return np.flatnonzero(mine)


def test_weights_are_those_of_expectation_maximisation_over_all_owners_and_tags(world):
    weight = np.full(len(RATES), FIRST_WEIGHT)
    several = [o for o in range(N_OWNERS) if (world.owner == o).sum() >= 2]
    cells = [
        odds_of(world.given[world.owner == owner, tag], world.chance[world.owner == owner, tag])
        for owner in several
        for tag in range(N_TAGS)
    ]
    for _ in range(ROUNDS):
        shares = [weight * odds / (1 - weight.sum() + weight @ odds) for odds in cells]
        weight = np.clip(np.mean(shares, axis=0), *WEIGHTS)

    np.testing.assert_allclose(world.habits().weight, weight, rtol=1e-6)


def test_given_tags_are_stamped_as_the_owners_other_images_say(world):
    habits = world.habits()

    found = habits.stamps_on(world.stored, world.owner)

    row, tag = world.stored.nonzero()
    for place in range(len(row)):
        expected = literal_stamp(habits.weight, world, others_of(world, row[place]), tag[place])
        assert found[place] == pytest.approx(expected, rel=1e-6)


def test_tags_an_owner_never_used_are_hardly_stamped(world):
    habits = world.habits()
    owner = np.arange(N_OWNERS + 3)

    for seen in (0.0, 1.0):
        found = habits.stamps_unused(owner, np.full(len(owner), seen))

        for number in owner:
            others = max(np.sum(world.owner == number) - seen, 0) if number < N_OWNERS else 0
            odds = habits.weight * (1 - RATES) ** others
            expected = odds @ RATES / (1 - habits.weight.sum() + odds.sum())
            # An owner without images can have none that was seen.
            if number != N_OWNERS - 1:
                assert found[number] == pytest.approx(expected, rel=1e-6)


def test_an_image_says_nothing_about_its_own_stamps(world):
    habits = world.habits()
    pair = np.arange(habits.uses.nnz)
    owner = np.repeat(np.arange(N_OWNERS), np.diff(habits.uses.indptr))

    new = habits.stamps_at(owner, pair, np.full(len(pair), 0.3), np.zeros(len(pair)))
    none = habits.stamps_at(owner, pair, np.zeros(len(pair)), np.zeros(len(pair)))

    np.testing.assert_array_equal(new, none)
    for place, number in enumerate(owner):
        mine = np.flatnonzero(world.owner == number)
        tag = habits.uses.indices[place]
        expected = literal_stamp(habits.weight, world, mine, tag)
        assert new[place] == pytest.approx(expected, rel=1e-6)


def straight_belief(slips):
    """Return a belief that takes evidence for what it says, from 0 to 1."""
    places = np.linspace(0.0, 1.0, 101, dtype=np.float32)
    all_wrong = np.ones(len(slips), dtype=np.float32)
    return Belief(0.0, 0.01, places, 1.0, Slips(slips.astype(np.float32), all_wrong))


def every_tag(given):
    """Return images x tags with every tag stored, given or not."""
    start, column = given.shape[1] * np.arange(len(given) + 1), np.arange(given.shape[1])
    parts = given.ravel().astype(np.float32), np.tile(column, len(given)), start
    return sparse.csr_array(parts, shape=given.shape)


@pytest.mark.parametrize("seen", [1.0, 0.0])
def test_every_tag_of_every_image_has_its_stamp(world, seen):
    plain = straight_belief(np.full(N_TAGS, 1e-3))
    content = np.random.default_rng(4).uniform(0.01, 0.9, world.given.shape).astype(np.float32)
    like = World()
    like.chance = np.where(like.given, plain.chance(content, plain.slips.rate), 0.0)
    like.stored = sparse.csr_array(like.chance)
    habits = like.habits()
    rows = Rows(
        tags=sparse.csr_array(like.given.astype(np.float32)),
        owner=like.owner,
        features=None,
        position=np.arange(len(like.owner)),
    )

    manners = Manners(plain, habits, plain)
    asked = every_tag(rows.tags.toarray())
    found = manners.stamps(rows, asked, content.ravel(), np.full(len(rows), seen))

    found = found.reshape(content.shape)
    for image in range(len(rows)):
        others = others_of(like, image)
        if not seen and like.owner[image] < N_OWNERS:
            others = np.flatnonzero(like.owner == like.owner[image])
        for tag in range(N_TAGS):
            expected = literal_stamp(habits.weight, like, others, tag)
            assert found[image, tag] == pytest.approx(expected, rel=1e-4, abs=1e-7)


def test_images_of_unknown_owners_are_stamped_as_often_as_anybodys(world):
    habits = world.habits()
    plain = straight_belief(np.full(N_TAGS, 1e-3))
    rows = Rows(
        tags=sparse.csr_array(world.given.astype(np.float32)),
        owner=np.full(len(world.owner), N_OWNERS + 2),
        features=None,
        position=np.full(len(world.owner), len(world.owner)),
    )
    at_given = np.full(rows.tags.nnz, 0.2, dtype=np.float32)
    manners = Manners(plain, habits, plain)

    found = manners.stamps(rows, rows.tags, at_given, np.zeros(len(rows)))

    np.testing.assert_allclose(found, habits.weight @ RATES, rtol=1e-6)
    assert habits.usual == pytest.approx(habits.weight @ RATES)


def planted(seed, share, n_owners=200, n_tags=40, n_each=20):
    """Return the chances of given tags, owners, and who has a habit of each rate."""
    rng = np.random.default_rng(seed)
    owner = np.repeat(np.arange(n_owners), n_each)
    levels = np.append(0.0, RATES)
    kind = rng.choice(len(levels), (n_owners, n_tags), p=np.append(1 - share.sum(), share))
    anyhow = rng.beta(0.2, 3.0, (len(owner), n_tags)).clip(*CHANCES)
    given = rng.random(anyhow.shape) < anyhow
    given |= rng.random(anyhow.shape) < levels[kind][owner]
    return sparse.csr_array(np.where(given, anyhow, 0.0)), owner, kind


def test_planted_habits_are_found():
    share = np.array([0.0, 0.0, 0.03, 0.0, 0.02])
    chance, owner, kind = planted(1, share)

    habits = Habits.learned(chance, owner, owner.max() + 1)
    stamp = sparse.csr_array((habits.stamps_on(chance, owner), chance.indices, chance.indptr))

    assert habits.weight.sum() == pytest.approx(share.sum(), abs=0.01)
    assert habits.weight @ RATES == pytest.approx(share @ RATES, abs=0.006)
    assert habits.weight[[0, 1, 3]].sum() < 0.01
    row, tag = stamp.nonzero()
    rate = np.append(0.0, RATES)[kind[owner[row], tag]]
    assert stamp.data[rate == 0].mean() < 0.03
    assert stamp.data[rate == 0.5].mean() == pytest.approx(0.5, abs=0.06)
    assert stamp.data[rate == 0.9].mean() == pytest.approx(0.9, abs=0.06)


def test_rates_are_told_apart_however_strong_the_evidence():
    # 60 images of each owner, all but impossible without a habit: odds beyond all bounds.
    given = np.random.default_rng(3).random((240, 5)) < np.repeat([0.5, 0.9], 120)[:, None]
    owner = np.repeat(np.arange(4), 60)
    chance = sparse.csr_array(np.where(given, CHANCES[0], 0.0))

    found = Habits.learned(chance, owner, 4).stamps_on(chance, owner)

    rate = np.repeat([0.5, 0.9], 120)[chance.nonzero()[0]]
    np.testing.assert_allclose(found, rate, atol=0.1)


def test_neither_the_order_of_images_nor_steps_make_a_difference(world, monkeypatch):
    expected = world.habits()
    stamp = expected.stamps_on(world.stored, world.owner)
    monkeypatch.setattr(habits_module, "PAIRS_AT_ONCE", 3)
    monkeypatch.setattr(habits_module, "IMAGES_AT_ONCE", 7)
    order = np.random.default_rng(6).permutation(len(world.owner))
    stored, owner = world.stored[order], world.owner[order]

    found = Habits.learned(stored, owner, N_OWNERS)

    np.testing.assert_array_equal(found.uses.toarray(), expected.uses.toarray())
    np.testing.assert_allclose(found.gain, expected.gain, rtol=1e-12)
    again = sparse.csr_array((stamp, world.stored.indices, world.stored.indptr))[order]
    np.testing.assert_allclose(found.stamps_on(stored, owner, threads=2), again.data, rtol=1e-6)


def test_without_habits_hardly_any_are_found():
    chance, owner, _ = planted(2, np.zeros(len(RATES)))

    habits = Habits.learned(chance, owner, owner.max() + 1)

    assert habits.weight @ RATES < 0.002


@pytest.mark.parametrize("tagged", [True, False])
def test_owners_of_one_image_each_teach_nothing(tagged):
    chance = sparse.csr_array(np.full((6, 4), 0.3 if tagged else 0.0))

    habits = Habits.learned(chance, np.arange(6), 6)

    np.testing.assert_allclose(habits.weight, WEIGHTS[0])
    assert np.isfinite(habits.stamps_on(chance, np.arange(6))).all()
    assert habits.images.tolist() == [1.0] * 6


def test_parts_that_do_not_fit_together_are_refused(world):
    habits = world.habits()

    for wrong in (
        {"gain": habits.gain[:-1]},
        {"gain": habits.gain[:, :-1].copy()},
        {"images": habits.images[:-1]},
        {"weight": habits.weight[:-1]},
    ):
        with pytest.raises(ValueError, match="do not fit together"):
            replace(habits, **wrong)


def test_images_are_not_counted_for_tags_that_are_not_there(world):
    habits = world.habits()
    uses = habits.uses.copy()
    uses.indices[3] = N_TAGS + 5

    with pytest.raises(ValueError, match="indices must be"):
        replace(habits, uses=uses).with_images(world.stored, world.owner)
