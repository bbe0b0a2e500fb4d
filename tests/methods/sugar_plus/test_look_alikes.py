from dataclasses import replace

import numpy as np
import pytest

from methods.sugar_plus.literal import all_rows, evidence_of
from planted import OF_NOBODY, OF_ONE_IMAGE, UNTAGGED, as_new, without_features
from sugartag.collection.model import Collection
from sugartag.engine import LocalEngine
from sugartag.engine.base import row_blocks
from sugartag.methods.sugar_plus.learning import tags_as_given
from sugartag.methods.sugar_plus.remembered import find_look_alikes
from sugartag.methods.sugar_plus.sums import add_up
from sugartag.methods.sugar_plus.voting import OVERLAP, SHRINKAGE

IMAGES = (UNTAGGED, OF_NOBODY, OF_ONE_IMAGE, 5, 10, 44, 200, 599)


def found_in(collection, evidence, most=1_000):
    engine, given = LocalEngine(), tags_as_given(collection)
    return find_look_alikes(
        collection,
        evidence,
        add_up(collection, evidence, given, engine=engine),
        width=0.7,
        most=most,
        engine=engine,
        rng=np.random.default_rng(0),
    )


def rarity_of(collection, evidence):
    """Return how much a tag or word in common counts: the logarithm of how few images have it."""
    rows = all_rows(collection)
    counts = evidence.known(rows.tags, evidence.words_of(rows)).toarray().sum(axis=0)
    return np.maximum(np.log(len(rows) / (1.0 + counts)), 0.0)


def looks_of(look_alikes, rows):
    """Return images x images: how much they look alike."""
    if rows.features is None:
        return np.ones((len(rows), len(rows)))
    features = rows.features.astype(float)
    codes = features / np.linalg.norm(features, axis=1)[:, None] @ look_alikes.directions
    apart = np.square(codes[:, None] - codes).sum(axis=2)
    return np.exp(-apart / look_alikes.width**2)


class LiteralVotes:
    """What an owner's other images say, tag by tag and image by image."""

    def __init__(self, collection, evidence, look_alikes):
        rows = all_rows(collection)
        self.evidence, self.owner, self.kept = evidence, collection.owner, look_alikes.image
        self.tags = rows.tags.toarray() > 0
        self.tokens = evidence.known(rows.tags, evidence.words_of(rows)).toarray() > 0
        self.rarity = rarity_of(collection, evidence)
        self.looks = looks_of(look_alikes, rows)

    def on(self, image, owner, tokens, *, is_new):
        """Return the votes on every tag of an image, and whether there are any."""
        mine = [i for i in self.kept if self.owner[i] == owner and (is_new or i != image)]
        found = [self.on_tag(tag, image, tokens, mine) for tag in range(self.tags.shape[1])]
        return np.array(found), bool(mine)

    def on_tag(self, tag, image, tokens, others):
        asked = tokens.copy()
        asked[: len(self.evidence.predictor)] &= self.evidence.predictor != tag
        whole, share = self.rarity[asked].sum(), self.tags[:, tag].mean()
        votes = weights = 0.0
        for other in others:
            overlap = self.rarity[asked & self.tokens[other]].sum() / (whole or 1.0)
            weight = self.looks[image, other] * (OVERLAP + overlap) ** 2
            weights += weight
            votes += weight * (self.tags[other, tag] - share)
        return votes / (weights + SHRINKAGE)


def assert_literal(collection, evidence, look_alikes, rows, *, is_new=False):
    found = look_alikes.judge(rows, evidence)
    literal = LiteralVotes(collection, evidence, look_alikes)
    tokens = evidence.known(rows.tags, evidence.words_of(rows)).toarray() > 0
    for image in IMAGES:
        expected, told = literal.on(image, rows.owner[image], tokens[image], is_new=is_new)
        assert found.told[image] == told
        np.testing.assert_allclose(found.excess[image], expected, atol=5e-6)


@pytest.mark.parametrize("most", [1_000, 4])
def test_votes_are_those_of_the_owners_other_images_leaving_the_tag_in_question_out(
    odd, evidence, most
):
    look_alikes = found_in(odd, evidence, most)

    assert_literal(odd, evidence, look_alikes, all_rows(odd))


def test_new_images_are_told_about_by_all_images_of_their_owner(odd, evidence):
    look_alikes = found_in(odd, evidence)

    assert_literal(odd, evidence, look_alikes, as_new(all_rows(odd), odd), is_new=True)


def test_images_without_tags_and_words_are_told_about_by_looks_alone(odd, evidence):
    look_alikes = found_in(odd, evidence)
    rows = replace(all_rows(odd), titles=None)

    assert not rows.tags[[UNTAGGED]].nnz
    assert_literal(odd, evidence, look_alikes, rows)


def test_without_features_all_images_of_an_owner_look_alike(odd):
    bare = without_features(odd)
    evidence = evidence_of(bare)

    assert_literal(bare, evidence, found_in(bare, evidence), all_rows(bare))


@pytest.mark.parametrize("beyond", [0, 3])
def test_nobody_knows_anything_about_images_of_unknown_owners(odd, evidence, beyond):
    strangers = as_new(all_rows(odd), odd, owner=odd.nobody + beyond)

    found = found_in(odd, evidence).judge(strangers, evidence)

    assert not found.told.any()
    assert not found.excess.any()


def test_no_more_images_of_an_owner_are_kept_than_asked_for(odd, evidence):
    every, few, none = (found_in(odd, evidence, most) for most in (1_000, 4, 0))
    owned = np.bincount(odd.owner, minlength=odd.n_owners + 1)[:-1]

    np.testing.assert_array_equal(np.sort(every.image), np.flatnonzero(odd.owner < odd.nobody))
    np.testing.assert_array_equal(np.diff(few.start), np.minimum(owned, 4))
    assert not len(none.image)
    assert not none.judge(all_rows(odd), evidence).told.any()


def test_what_is_kept_does_not_depend_on_the_cut_into_blocks(odd, evidence, monkeypatch):
    expected = found_in(odd, evidence, most=4)
    monkeypatch.setattr(Collection, "blocks", lambda self: row_blocks(self.n_images, 37))

    found = found_in(odd, evidence, most=4)

    np.testing.assert_array_equal(found.image, expected.image)
    np.testing.assert_array_equal(found.token, expected.token)
    np.testing.assert_array_equal(found.tags.toarray(), expected.tags.toarray())
    np.testing.assert_allclose(found.codes, expected.codes, atol=1e-6)


@pytest.mark.parametrize(
    "forged",
    [
        {"start": np.array([0, 5, 10_000])},
        {"start": np.array([0, 5, 4])},
        {"codes": np.zeros((3, 2), dtype=np.float32)},
        {"share": np.zeros(3)},
        {"rarity": np.zeros(3)},
    ],
)
def test_parts_of_a_model_that_do_not_fit_together_are_refused(odd, evidence, forged):
    look_alikes = replace(found_in(odd, evidence), **forged)
    first = all_rows(odd).at(np.arange(3))
    nobody = replace(first, owner=np.zeros(3, dtype=np.int64))

    with pytest.raises(ValueError, match="do not fit together"):
        look_alikes.judge(nobody, evidence)
