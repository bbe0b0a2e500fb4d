"""Subjects are found again that images were made about; nobody has a say about their own images."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logsumexp

from planted import without_features
from sugartag.collection.build import collection_from_arrays
from sugartag.engine import LocalEngine
from sugartag.methods.sugar_plus import subject_learning as module
from sugartag.methods.sugar_plus.looked_at import SUBJECT_FOLDS, LookedAt
from sugartag.methods.sugar_plus.subject_learning import (
    BY_CHANCE,
    LEAST,
    LOOKS_COUNT,
    SHRINKAGE,
    SHRINKAGES,
    Images,
    learned_subjects,
)

N_IMAGES, N_OWNERS, N_TAGS, N_SUBJECTS = 1_200, 60, 40, 5


def images_about(subject, owner, rng):
    """Images with tags and looks of their subjects, and some tags by chance."""
    common = rng.dirichlet(np.full(N_TAGS, 0.15), size=N_SUBJECTS)
    chance = np.minimum(5.0 * common[subject], 0.9) * 0.6 + 0.02
    tags = (rng.random((len(subject), N_TAGS)) < chance).astype(np.float32)
    centre = rng.standard_normal((N_SUBJECTS, 12))
    features = centre[subject] + 2.0 * rng.standard_normal((len(subject), 12))
    return collection_from_arrays(
        sparse.csr_array(tags), owner, features=features.astype(np.float32)
    )


@pytest.fixture(scope="module")
def subject():
    return np.random.default_rng(1).integers(N_SUBJECTS, size=N_IMAGES)


@pytest.fixture(scope="module")
def collection(subject):
    rng = np.random.default_rng(2)
    return images_about(subject, rng.integers(N_OWNERS, size=N_IMAGES), rng)


def learned(collection, count=N_SUBJECTS, *, trusted=None, seed=0):
    return learned_subjects(
        collection,
        tags_of(collection) if trusted is None else trusted,
        LookedAt.of(collection, True),
        count,
        0.05,
        engine=LocalEngine(),
        rng=np.random.default_rng(seed),
    )


def tags_of(collection):
    return collection.tags_of(slice(0, collection.n_images)).astype(np.float32)


def rows_of(collection):
    return collection.rows(slice(0, collection.n_images))


def test_subjects_are_those_that_images_were_made_about(collection, subject):
    found = learned(collection).of_images(rows_of(collection)).argmax(axis=1)

    for fold in range(SUBJECT_FOLDS):
        mine = collection.owner % SUBJECT_FOLDS == fold
        pairs = np.zeros((N_SUBJECTS, N_SUBJECTS))
        np.add.at(pairs, (found[mine], subject[mine]), 1)
        assert pairs.max(axis=1).sum() > 0.9 * mine.sum()


def test_without_features_tags_alone_tell(collection, subject):
    bare = without_features(collection)

    found = learned(bare).of_images(rows_of(bare)).argmax(axis=1)

    mine = collection.owner % SUBJECT_FOLDS == 0
    pairs = np.zeros((N_SUBJECTS, N_SUBJECTS))
    np.add.at(pairs, (found[mine], subject[mine]), 1)
    assert pairs.max(axis=1).sum() > 0.8 * mine.sum()


def test_no_owner_has_a_say_in_what_is_learned_for_the_own_images(collection):
    owner = int(collection.owner[0])
    mine = collection.owner == owner
    other = tags_of(collection).tolil()
    other[np.flatnonzero(mine)] = 1.0

    with pytest.MonkeyPatch.context() as patch:
        # Where it begins is no matter of folds: clusters of all images.
        guess = module._first_guess(
            tags_of(collection), N_SUBJECTS, rng=np.random.default_rng(0), threads=1
        )
        patch.setattr(module, "_first_guess", lambda *_, **__: guess)
        before = learned(collection)
        after = learned(collection, trusted=sparse.csr_array(other))

    for name in ("by_looks", "by_tag", "rate", "share", "common"):
        of_fold = [getattr(found, name)[owner % SUBJECT_FOLDS] for found in (before, after)]
        np.testing.assert_array_equal(*of_fold)
    assert not np.array_equal(before.rate, after.rate)


def test_it_is_chosen_whether_owners_have_interests(subject):
    rng = np.random.default_rng(3)
    by_interest = images_about(subject, subject + N_SUBJECTS * rng.integers(12, size=N_IMAGES), rng)
    by_chance = images_about(subject, rng.integers(60, size=N_IMAGES), rng)

    assert learned(by_interest).shrinkage.max() <= 4.0
    assert learned(by_chance).shrinkage.min() >= 64.0


def test_the_images_of_owners_are_counted_as_they_are_about_subjects(collection):
    found = learned(collection)

    expected = np.zeros((N_OWNERS, N_SUBJECTS))
    np.add.at(expected, collection.owner, found.of_images(rows_of(collection)))
    np.testing.assert_allclose(found.of_owners, expected, atol=1e-3)


def test_there_are_no_more_subjects_than_images_can_tell(collection):
    assert learned(collection, 64).common.shape == (SUBJECT_FOLDS, N_IMAGES // module.FEWEST_IMAGES)
    assert learned(collection, 1) is None
    assert learned(collection, trusted=sparse.csr_array((N_IMAGES, N_TAGS))) is None


def test_tags_count_as_far_as_they_are_believed(collection):
    half = 0.5**0.5 * tags_of(collection)

    found, whole = learned(collection, trusted=half), learned(collection)

    np.testing.assert_allclose(found.share, 0.5 * whole.share, rtol=1e-4)


@pytest.fixture
def images():
    rng = np.random.default_rng(4)
    return Images(
        tags=sparse.csr_array((rng.random((50, 6)) < 0.4) * rng.random((50, 6))),
        seen=np.column_stack([rng.standard_normal((50, 3)), np.ones(50)]).astype(np.float32),
        owner=rng.integers(9, size=50),
        n_owners=8,
        owner_variance=0.1,
    )


def test_subjects_are_described_by_weighted_means(images):
    """Image by image, as the formulas are written."""
    about = np.random.default_rng(5).dirichlet(np.ones(3), size=50)
    tags, looks = images.tags.toarray(), images.seen[:, :-1].astype(float)
    mine = np.array(
        [about[images.owner == o].sum(axis=0) if o < 8 else np.zeros(3) for o in images.owner]
    )
    weight = about / (1 + 0.1 * mine)
    share = tags.mean(axis=0) + LEAST

    found = images.described(about)

    uses = np.einsum("ik,it->kt", weight, tags) + SHRINKAGE * share
    rate = uses / (weight.sum(axis=0) + SHRINKAGE)[:, None]
    lift = (uses / uses.sum(axis=1, keepdims=True)) / (share / share.sum())
    centre = np.einsum("ik,id->kd", about, looks) / (about.sum(axis=0) + 1)[:, None]
    common = (about.sum(axis=0) + 1) / (50 + 3)
    squares = (looks**2).sum(axis=0) - ((about.sum(axis=0) + 1)[:, None] * centre**2).sum(axis=0)
    precision = LOOKS_COUNT * 50 / squares
    np.testing.assert_allclose(found.rate, rate, rtol=1e-5)
    np.testing.assert_allclose(
        found.by_tag, np.log((1 - BY_CHANCE) * lift + BY_CHANCE).T, atol=1e-5
    )
    np.testing.assert_allclose(found.by_looks[:-1], (centre * precision).T, rtol=1e-4)
    at_centre = np.log(common) - 0.5 * (centre**2 * precision).sum(axis=1)
    np.testing.assert_allclose(found.by_looks[-1], at_centre, rtol=1e-4)


def test_the_shrinkage_chosen_is_the_most_likely_one(images):
    known = images.described(np.random.default_rng(6).dirichlet(np.ones(3), size=50))

    found = images.chosen_shrinkage(known)

    odds = images.seen @ known.by_looks + images.tags @ known.by_tag
    alone = np.exp(odds - logsumexp(odds, axis=1, keepdims=True))

    def likelihood(shrinkage):
        total = 0.0
        for image, owner in enumerate(images.owner):
            others = (images.owner == owner) & (np.arange(50) != image) & (owner < 8)
            prior = shrinkage * known.common + alone[others].sum(axis=0)
            prior /= prior.sum()
            # How common subjects are is in the odds by looks.
            total += logsumexp(odds[image] - np.log(known.common) + np.log(prior))
        return total

    assert found == max(SHRINKAGES, key=likelihood)
