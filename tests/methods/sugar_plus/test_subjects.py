"""What images are about: what that says of tags, and by whom images are judged."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.special import softmax

from sugartag.collection.model import Rows
from sugartag.methods.sugar_plus.looked_at import SUBJECT_FOLDS, Directions
from sugartag.methods.sugar_plus.subjects import Subjects

N_IMAGES, N_OWNERS, N_TAGS, N_SUBJECTS = 40, 7, 9, 4


@pytest.fixture
def rows():
    """Images of seven owners, the last ones of nobody."""
    rng = np.random.default_rng(0)
    owner = np.append(np.arange(N_IMAGES - 5) % N_OWNERS, [N_OWNERS] * 5)
    return Rows(
        position=np.arange(N_IMAGES),
        owner=owner,
        tags=sparse.csr_array((rng.random((N_IMAGES, N_TAGS)) < 0.3).astype(np.int8)),
        features=rng.random((N_IMAGES, 5)).astype(np.float32),
    )


@pytest.fixture
def subjects(rows):
    """Subjects drawn at random, and owners' images counted as they are about them."""
    rng = np.random.default_rng(1)

    def drawn(*shape):
        return rng.random(shape).astype(np.float32)

    directions = Directions(drawn(5), drawn(5, 3), True)
    common = drawn(SUBJECT_FOLDS, N_SUBJECTS) + 0.1
    found = Subjects(
        directions,
        by_looks=drawn(SUBJECT_FOLDS, 4, N_SUBJECTS) - 0.5,
        by_tag=drawn(SUBJECT_FOLDS, N_TAGS, N_SUBJECTS) - 0.5,
        rate=drawn(SUBJECT_FOLDS, N_SUBJECTS, N_TAGS),
        share=drawn(SUBJECT_FOLDS, N_TAGS),
        common=common / common.sum(axis=1, keepdims=True),
        shrinkage=np.array([2.0, 4.0, 8.0], dtype=np.float32),
        of_owners=np.zeros((N_OWNERS, N_SUBJECTS), dtype=np.float32),
        strength=0.7,
        n_images=N_IMAGES,
    )
    of_owners = np.zeros((N_OWNERS + 1, N_SUBJECTS))
    np.add.at(of_owners, rows.owner, found.of_images(rows))
    return replace(found, of_owners=of_owners[:N_OWNERS].astype(np.float32))


def odds_of(subjects, fold, rows, image, without=None):
    """The log odds of one image by its looks and its tags, perhaps without one of these."""
    own = [tag for tag in rows.tags[[image]].indices if tag != without]
    looks = subjects.directions.of(rows)[image] @ subjects.by_looks[fold]
    return looks + subjects.by_tag[fold][own].sum(axis=0)


def literally(subjects, rows, image, tag, fold, *, strangers_only=False):
    """What one image is about, and what that says about one tag, as it is written down."""
    owner = rows.owner[image]
    prior = subjects.common[fold]
    if owner < N_OWNERS and not strangers_only:
        others = [one for one in range(N_IMAGES) if rows.owner[one] == owner and one != image]
        theirs = sum(softmax(odds_of(subjects, fold, rows, one)) for one in others)
        prior = prior + theirs / subjects.shrinkage[fold]
    prior = prior / prior.sum()
    odds = odds_of(subjects, fold, rows, image, without=tag) - np.log(subjects.common[fold])
    about = softmax(odds + np.log(prior))
    return about @ subjects.rate[fold][:, tag] - subjects.share[fold][tag]


@pytest.mark.parametrize("strangers_only", [False, True])
def test_a_tag_is_as_probable_as_among_images_about_the_same(subjects, rows, strangers_only):
    """By Bayes' rule: the image's other tags, its looks, and the owner's other images."""
    # How common subjects are is part of what looks say.
    subjects = replace(subjects, by_looks=subjects.by_looks.copy())
    subjects.by_looks[:, -1] = np.log(subjects.common)
    of_owners = np.zeros((N_OWNERS + 1, N_SUBJECTS))
    np.add.at(of_owners, rows.owner, subjects.of_images(rows))
    subjects = replace(subjects, of_owners=of_owners[:N_OWNERS].astype(np.float32))

    found = subjects.said(rows, strangers_only=strangers_only)

    for image in range(N_IMAGES):
        key = rows.owner[image] if rows.owner[image] < N_OWNERS else image
        for tag in range(N_TAGS):
            expected = literally(
                subjects, rows, image, tag, key % SUBJECT_FOLDS, strangers_only=strangers_only
            )
            assert found[image, tag] == pytest.approx(0.7 * expected, abs=1e-4)


def test_a_given_tag_does_not_speak_for_itself(subjects, rows):
    image, tag = int(rows.tags.nonzero()[0][0]), int(rows.tags.nonzero()[1][0])
    tags = rows.tags.toarray()
    tags[image, tag] = 0
    # Owners' images are counted with the tag in both cases.
    without = subjects.said(replace(rows, tags=sparse.csr_array(tags)), strangers_only=True)

    found = subjects.said(rows, strangers_only=True)

    assert found[image, tag] == pytest.approx(without[image, tag], abs=1e-6)


def test_new_images_of_nobody_are_judged_by_the_mean_of_all_folds(subjects, rows):
    new = replace(rows, position=rows.position + N_IMAGES, owner=np.full(N_IMAGES, N_OWNERS))

    found = subjects.said(new)

    by_fold = [
        subjects.said(replace(new, position=np.full(N_IMAGES, fold)))
        for fold in range(SUBJECT_FOLDS)
    ]
    np.testing.assert_allclose(found, np.mean(by_fold, axis=0), atol=1e-6)


def test_a_new_image_of_a_known_owner_is_one_more_beside_all_of_the_owners(subjects, rows):
    first = rows.at(np.arange(1))
    new = replace(first, position=np.array([N_IMAGES]))

    as_one_more = replace(subjects, of_owners=subjects.of_owners + subjects.of_images(first))

    np.testing.assert_allclose(subjects.said(new), as_one_more.said(first), atol=1e-5)
    assert np.abs(subjects.said(new) - subjects.said(first)).max() > 1e-4


def test_images_of_nobody_count_for_no_owner(subjects, rows):
    found = subjects.of_images(rows)

    np.testing.assert_allclose(found[:-5].sum(axis=1), 1.0, atol=1e-5)
    assert not found[-5:].any()


def test_of_a_tag_that_came_later_nothing_is_said(subjects, rows):
    later = sparse.csr_array(
        (rows.tags.data, rows.tags.indices, rows.tags.indptr), shape=(N_IMAGES, N_TAGS + 2)
    )

    found = subjects.for_tags(N_TAGS + 2).said(replace(rows, tags=later))

    np.testing.assert_array_equal(found[:, :N_TAGS], subjects.said(rows))
    assert not found[:, N_TAGS:].any()


def test_images_can_be_judged_one_by_one(subjects, rows):
    one_by_one = [subjects.said(rows.at(np.arange(k, k + 1))) for k in range(N_IMAGES)]

    np.testing.assert_allclose(subjects.said(rows), np.concatenate(one_by_one), atol=1e-6)


def test_the_main_subject_is_the_one_of_the_highest_odds(subjects, rows):
    certain = replace(subjects, by_looks=subjects.by_looks.copy())
    certain.by_looks[:, -1] = 0.0
    certain.by_looks[[0, 1, 2], -1, [3, 0, 2]] = 50.0

    found = certain.mostly(rows)

    key = np.where(rows.owner < N_OWNERS, rows.owner, rows.position)
    np.testing.assert_array_equal(found, np.array([3, 4 + 0, 8 + 2])[key % SUBJECT_FOLDS])
    new = replace(rows, position=rows.position + N_IMAGES, owner=np.full(N_IMAGES, N_OWNERS))
    assert set(certain.mostly(new)) == {3}


def test_the_tags_that_tell_of_a_subject_are_common_there_and_rare_elsewhere(subjects):
    clear = replace(subjects, by_tag=np.zeros_like(subjects.by_tag), rate=subjects.rate * 0.1)
    clear.by_tag[1, 5, 2], clear.by_tag[1, 8, 2], clear.by_tag[1, 0, 2] = 3.0, 2.0, 9.0
    clear.rate[1, 2, [5, 8, 0]] = 0.9, 0.9, 1e-4

    found = clear.telling_tags(2)

    assert found.shape == (SUBJECT_FOLDS * N_SUBJECTS, 2)
    assert found[N_SUBJECTS + 2].tolist() == [5, 8]
