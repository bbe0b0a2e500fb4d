"""A model that images were added to has the sums and weights of all of them together."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy import sparse

from methods.sugar_plus import literal
from methods.sugar_plus.literal import ENGINE, SMALL, all_rows, fitted_to, joint_weights, part_of
from planted import planted_collection, without_features
from sugartag.collection.align import Catalogue, seen_from
from sugartag.collection.decisions import decisions_at, nothing_decided
from sugartag.collection.model import Collection
from sugartag.errors import CollectionError
from sugartag.methods.sugar_plus import SugarPlus
from sugartag.methods.sugar_plus.ridge import JointRidge, VisualRidge
from sugartag.methods.sugar_plus.statistics import accumulate

N, FIRST, OLD_TAGS, OLD_OWNERS = 300, 200, 46, 85
METHOD = SugarPlus(components=20, history=12)


@cache
def everything() -> Collection:
    """300 images; the last four tags and the last five owners come after the first 200."""
    made = planted_collection()
    (shard,) = made.shards
    tags, owner = shard.tags.toarray()[:N], shard.owner[:N].copy()
    tags[:FIRST, OLD_TAGS:] = 0
    tags[FIRST:, OLD_TAGS] = np.arange(N - FIRST) % 3 == 0
    known = owner < made.n_owners
    owner[:FIRST] = np.where(known[:FIRST], owner[:FIRST] % OLD_OWNERS, made.n_owners)
    owner[FIRST:][::9] = made.n_owners - 1
    whole = replace(
        shard,
        ids=shard.ids[:N],
        tags=sparse.csr_array(tags),
        owner=owner,
        features=shard.features[:N],
        truth=None,
    )
    return replace(made, shards=(whole,), concept_names=())


@cache
def first_model():
    return fitted_to(part_of(everything(), np.arange(FIRST), OLD_TAGS, OLD_OWNERS), METHOD)


def updated(model, images, *, whole=None, decided=None, method=METHOD):
    """Return the model with some images of the whole collection, seen from all its names."""
    whole = whole or everything()
    n_images = max(len(model.views.image_weight), int(images.max()) + 1)
    few = part_of(whole, np.asarray(images), whole.n_tags, whole.n_owners)
    catalogue = Catalogue.of(whole)
    catalogue = replace(catalogue, ids=catalogue.ids[:n_images])
    decided = nothing_decided((n_images, whole.n_tags)) if decided is None else decided
    return model.updated(method, seen_from(catalogue, few), decided, engine=ENGINE)


@cache
def second_model():
    return updated(first_model(), np.arange(FIRST, N))


def with_tags(image: int, *tags: int) -> Collection:
    """Return the collection with some tags of an image given if they were not, or taken."""
    (shard,) = everything().shards
    dense = shard.tags.toarray()
    dense[image, list(tags)] = 1 - dense[image, list(tags)]
    return replace(everything(), shards=(replace(shard, tags=sparse.csr_array(dense)),))


def rows_of(whole=None):
    return all_rows(whole or everything())


def decision(image, tag, right):
    shape = (N, everything().n_tags)
    return decisions_at(np.array([image]), np.array([tag]), [right], shape)


def assert_as_at_once(model, whole):
    """Claim that sums, weights and labels are those of one pass over all images."""
    views = model.views
    expected = accumulate(whole, views.blocks, views.image_weight, engine=ENGINE)
    for name in ("gram", "cross", "uses"):
        found, wanted = getattr(views.statistics, name), getattr(expected, name)
        np.testing.assert_allclose(found, wanted, atol=1e-3)
    assert views.statistics.count == whole.n_images
    prior = METHOD.name_prior * views.similarity
    joint = JointRidge.solve(expected, views.blocks, prior)
    visual = VisualRidge.solve(expected, views.blocks, METHOD.visual_penalty)
    np.testing.assert_allclose(joint_weights(views.joint), joint_weights(joint), atol=1e-4)
    np.testing.assert_allclose(views.visual.weights, visual.weights, atol=1e-4)
    np.testing.assert_array_equal(model.labels.toarray(), all_rows(whole).tags.toarray())


def assert_same_arrays(one, other):
    rows = rows_of()
    np.testing.assert_array_equal(one.views.statistics.gram, other.views.statistics.gram)
    np.testing.assert_array_equal(one.views.statistics.cross, other.views.statistics.cross)
    np.testing.assert_array_equal(joint_weights(one.views.joint), joint_weights(other.views.joint))
    np.testing.assert_array_equal(one.views.image_weight, other.views.image_weight)
    np.testing.assert_array_equal(one.labels.toarray(), other.labels.toarray())
    np.testing.assert_array_equal(one.scores(rows), other.scores(rows))


def test_added_images_count_as_if_they_had_been_there():
    assert_as_at_once(second_model(), everything())


def test_images_added_in_two_parts_count_as_if_added_at_once():
    model = updated(first_model(), np.arange(FIRST, 250))
    model = updated(model, np.arange(250, N))

    assert_as_at_once(model, everything())


def test_the_model_that_is_updated_does_not_change():
    model = first_model()
    before = model.views.statistics.gram.copy(), joint_weights(model.views.joint).copy()

    updated(model, np.arange(150, N))

    np.testing.assert_array_equal(model.views.statistics.gram, before[0])
    np.testing.assert_array_equal(joint_weights(model.views.joint), before[1])
    assert len(model.views.image_weight) == FIRST


def test_blocks_and_calibration_and_earlier_weights_stay():
    old, new = first_model(), second_model()

    assert new.views.blocks.visual is old.views.blocks.visual
    np.testing.assert_array_equal(new.views.blocks.tags.predictor, old.views.blocks.tags.predictor)
    np.testing.assert_array_equal(new.views.image_weight[:FIRST], old.views.image_weight)
    assert new.calibrator.recall == old.calibrator.recall
    np.testing.assert_array_equal(new.scale.own[:OLD_TAGS], old.scale.own)


def test_frames_added_together_share_a_weight():
    (shard,) = everything().shards
    tags = shard.tags.toarray()
    tags[[250, 251]] = np.isin(np.arange(tags.shape[1]), [1, 2, 3])
    owner = shard.owner.copy()
    owner[[250, 251]] = 7
    series = replace(shard, tags=sparse.csr_array(tags), owner=owner)

    model = updated(
        first_model(), np.arange(FIRST, N), whole=replace(everything(), shards=(series,))
    )

    np.testing.assert_allclose(model.views.image_weight[[250, 251]], 0.5)


def test_new_tags_get_columns_and_are_predicted():
    model, rows = second_model(), rows_of()

    assert model.views.n_tags == everything().n_tags > first_model().views.n_tags
    assert model.uses[OLD_TAGS] == 34
    assert np.abs(joint_weights(model.views.joint)[:, OLD_TAGS]).max() > 0.01
    assert np.isfinite(model.scores(rows)).all()
    given = rows.tags.toarray()[:, OLD_TAGS] > 0
    row = np.arange(N)
    chance = model.posterior(rows, model.scores(rows), row, np.full(N, OLD_TAGS))
    assert chance[given].min() > chance[~given].max()


def test_new_owners_get_neighbours_and_old_ones_more():
    then, now = first_model().views.neighbours, second_model().views.neighbours

    assert (then.n_owners, now.n_owners) == (OLD_OWNERS, everything().n_owners)
    for owner in range(now.n_owners):
        kept = now.reference.image[now.start[owner] : now.start[owner + 1]]
        np.testing.assert_array_equal(kept, np.flatnonzero(everything().owner == owner)[:12])
    assert now.start[-1] - now.start[-2] > 5
    np.testing.assert_array_equal(
        now.reference.tags.toarray(), rows_of().tags.toarray()[now.reference.image]
    )


def test_the_excess_after_an_update_is_that_of_the_formula():
    views, rows = second_model().views, rows_of()

    expected = literal.excess(views, rows, fitted=True)

    np.testing.assert_allclose(views.excess(rows), expected, atol=5e-5)


def test_an_unchanged_collection_changes_nothing():
    again = updated(second_model(), np.arange(90, 280))

    assert_same_arrays(again, second_model())


def test_an_image_whose_tags_changed_is_taken_out_first():
    other = with_tags(30, 1, 2, 5)

    model = updated(second_model(), np.arange(25, 35), whole=other)

    assert_as_at_once(model, other)
    reference = model.views.neighbours.reference
    (place,) = np.flatnonzero(reference.image == 30)
    np.testing.assert_array_equal(
        reference.tags[[place]].toarray()[0], rows_of(other).tags[[30]].toarray()[0]
    )


@pytest.mark.parametrize("right", [True, False])
def test_a_decision_changes_the_label_and_can_be_reversed(right):
    tag = 3
    image = next(i for i in range(40, N) if bool(second_model().labels[i, tag]) is not right)
    images = np.arange(N)

    once = updated(second_model(), images, decided=decision(image, tag, right))
    back = updated(once, images, decided=decision(image, tag, not right))

    assert once.labels[image, tag] == float(right)
    assert_as_at_once(once, with_tags(image, tag))
    assert once.decided.nnz == back.decided.nnz == 1
    assert back.decided[image, tag] == (-1 if right else 1)
    assert_as_at_once(back, everything())


def test_a_decision_made_again_changes_nothing():
    once = updated(second_model(), np.arange(N), decided=decision(50, 3, True))

    assert_same_arrays(updated(once, np.arange(N), decided=decision(50, 3, True)), once)
    assert_same_arrays(updated(once, np.arange(N)), once)


def test_what_was_decided_is_the_posterior_and_the_image_is_scored_with_it():
    model = updated(second_model(), np.arange(N), decided=decision(50, 3, True))
    model = updated(model, np.arange(N), decided=decision(51, 4, False))
    rows = rows_of()
    scores = model.scores(rows)

    found = model.posterior(rows, scores, np.array([50, 51]), np.array([3, 4]))

    assert found == pytest.approx([0.999, 0.001])
    tags = rows.tags.toarray()
    tags[50, 3], tags[51, 4] = 1, 0
    expected = model.scores(replace(rows, tags=sparse.csr_array(tags)))
    np.testing.assert_allclose(scores, expected, atol=1e-6)
    assert model.decided_of(rows).nnz == 2
    new = replace(rows, position=np.full(N, N))
    assert model.decided_of(new).nnz == 0


@pytest.mark.parametrize("tags_change", [False, True])
@pytest.mark.parametrize("what", ["features", "owner"])
def test_another_image_under_a_known_name_is_refused(what, tags_change):
    (shard,) = (with_tags(30, 1, 2) if tags_change else everything()).shards
    changed = getattr(shard, what).copy()
    changed[30] = changed[31] if what == "features" else (changed[30] + 1) % OLD_OWNERS
    other = replace(everything(), shards=(replace(shard, **{what: changed}),))

    with pytest.raises(CollectionError, match=f"another {what}|other {what}"):
        updated(second_model(), np.arange(25, 35), whole=other)


def test_a_model_without_features_is_updated_too():
    whole = without_features(everything())
    model = fitted_to(part_of(whole, np.arange(FIRST), OLD_TAGS, OLD_OWNERS), METHOD)

    more = updated(model, np.arange(FIRST, N), whole=whole)

    assert_as_at_once(more, whole)


def test_neighbours_that_are_left_out_stay_left_out():
    method = replace(SMALL, history=0)
    model = fitted_to(part_of(everything(), np.arange(FIRST), OLD_TAGS, OLD_OWNERS), method)

    more = updated(model, np.arange(FIRST, N), method=method)

    assert len(more.views.neighbours.reference) == 0
    assert np.isfinite(more.scores(rows_of())).all()
