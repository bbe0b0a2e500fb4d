"""What the simple methods say, worked out by hand or by a slow loop."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from planted import OF_NOBODY, as_new, without_features
from sugartag.collection.build import collection_from_arrays
from sugartag.errors import CollectionError, SettingsError
from sugartag.linalg.distances import unit_rows
from sugartag.linalg.index import usearch_is_installed
from sugartag.methods.original import Original
from sugartag.methods.registry import METHODS, make_method, method_names
from sugartag.methods.tag_prior import TagPrior
from sugartag.methods.tag_vote import TagVote, TagVoteOwn

NOBODY = 4


@pytest.fixture
def line():
    """Seven images on a line, 0 to 6; anna has three of them, nobody the last two."""
    tags = [
        [1, 0, 0],
        [0, 1, 0],
        [0, 1, 0],
        [0, 1, 1],
        [0, 0, 0],
        [1, 0, 1],
        [1, 0, 0],
    ]
    anna, ben, cleo = 0, 1, 2
    return collection_from_arrays(
        sparse.csr_array(np.array(tags)),
        np.array([ben, anna, anna, anna, cleo, NOBODY, NOBODY]),
        features=np.arange(7, dtype=np.float32)[:, None],
        groups=sparse.csr_array((4, 0)),
    )


def vote(collection, engine, rng, images=slice(0, 7), strangers_only=False, **settings):
    plain = {"unit_features": False, "subtract_prior": False, "whitening": 0.0}
    asked = {**plain, "one_vote_per_owner": True, **settings}
    model = TagVote(**asked).fit(collection, engine=engine, rng=rng)
    return model.scores(collection.rows(images), strangers_only=strangers_only)


def test_original_repeats_the_tags_given(line, engine, rng):
    model = Original().fit(line, engine=engine, rng=rng)

    scores = model.scores(line.rows(slice(2, 6)))

    np.testing.assert_array_equal(scores, [[0, 1, 0], [0, 1, 1], [0, 0, 0], [1, 0, 1]])
    assert model.gives_whole_sets


def test_the_prior_is_the_share_of_images(line, engine, rng):
    scores = TagPrior().fit(line, engine=engine, rng=rng).scores(line.rows(slice(0, 2)))

    np.testing.assert_allclose(scores, np.tile([3 / 7, 3 / 7, 2 / 7], (2, 1)), rtol=1e-6)


def test_the_prior_can_count_owners(line, engine, rng):
    model = TagPrior(per_owner=True).fit(line, engine=engine, rng=rng)

    # Anna, Ben, Cleo and the two images of nobody: five, of whom Anna alone uses the second tag.
    np.testing.assert_allclose(model.share, [3 / 5, 1 / 5, 2 / 5], rtol=1e-12)


def test_an_owner_votes_once_by_the_nearest_image(line, engine, rng):
    scores = vote(line, engine, rng, slice(0, 1), neighbours=2)

    # Image 1 votes for anna; 2 and 3 are hers too; 4 has no tags; then comes 5.
    np.testing.assert_array_equal(scores, [[1, 1, 1]])


@pytest.mark.parametrize("unit_features", [True, False])
def test_whitened_images_are_compared_by_their_components(unit_features, collection, engine, rng):
    n, image = collection.n_images, 8
    features = collection.rows(slice(0, n)).features.astype(np.float64)
    scaled = unit_rows(features) if unit_features else features
    centred = scaled - scaled.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    space = left * np.sqrt(sizes)
    space = unit_rows(space) if unit_features else space
    distance = np.linalg.norm(space - space[image], axis=1)
    asked = {"unit_features": unit_features, "one_vote_per_owner": False, "whitening": 0.5}

    model = TagVote(neighbours=5, **asked).fit(collection, engine=engine, rng=rng)
    voters = model.voters_of(collection.rows(slice(image, image + 1)))

    tagged = np.diff(collection.tags_of(slice(0, n)).indptr) > 0
    nearest = [i for i in np.argsort(distance) if i != image and tagged[i]][:5]
    assert voters.indices.tolist() == nearest


def test_images_without_features_are_searched_whitened_too(collection, engine, rng):
    (shard,) = collection.shards
    features = np.array(shard.features)
    features[:3] = 0.0
    blank = replace(collection, shards=(replace(shard, features=features),))

    for search in ("exact", "usearch") if usearch_is_installed() else ("exact",):
        model = TagVote(search=search).fit(blank, engine=engine, rng=rng)
        assert np.isfinite(model.scores(blank.rows(slice(0, 10)))).all()


def test_every_image_can_vote(line, engine, rng):
    scores = vote(line, engine, rng, slice(0, 1), neighbours=3, one_vote_per_owner=False)

    np.testing.assert_array_equal(scores, [[0, 3, 1]])


def test_images_of_nobody_vote_each(line, engine, rng):
    scores = vote(line, engine, rng, slice(4, 5), neighbours=3)

    # Image 3 for anna, 5 and 6; at equal distance the lower index goes first.
    np.testing.assert_array_equal(scores, [[2, 1, 2]])


def test_an_image_does_not_vote_for_itself_but_a_new_one_like_it_hears_it(line, engine, rng):
    model = TagVote(neighbours=1, unit_features=False, subtract_prior=False, whitening=0.0).fit(
        line, engine=engine, rng=rng
    )
    last = line.rows(slice(6, 7))

    np.testing.assert_array_equal(model.scores(last), [[1, 0, 1]])
    np.testing.assert_array_equal(model.scores(as_new(last, line)), [[1, 0, 0]])


@pytest.mark.parametrize("is_new", [False, True])
def test_an_owners_own_images_can_be_kept_from_voting(is_new, line, engine, rng):
    model = TagVote(neighbours=2, unit_features=False, subtract_prior=False, whitening=0.0).fit(
        line, engine=engine, rng=rng
    )
    rows = line.rows(slice(2, 3))
    rows = as_new(rows, line) if is_new else rows

    scores = model.scores(rows, strangers_only=True)

    np.testing.assert_array_equal(scores, [[2, 0, 1]])


def test_strangers_are_found_behind_a_crowd_of_the_owners_own_images(engine, rng):
    crowd = np.zeros(51, dtype=int)
    crowd[50] = 1
    tags = np.eye(2)[crowd]
    collection = collection_from_arrays(
        sparse.csr_array(tags), crowd, features=np.arange(51, dtype=np.float32)[:, None]
    )

    scores = vote(collection, engine, rng, slice(0, 1), strangers_only=True, neighbours=2)

    np.testing.assert_array_equal(scores, [[0, 1]])


def test_votes_expected_by_chance_are_subtracted(line, engine, rng):
    plain = vote(line, engine, rng, neighbours=3)
    scores = vote(line, engine, rng, neighbours=3, subtract_prior=True)

    # Six images have tags: three the first, three the second, two the third.
    np.testing.assert_allclose(plain - scores, np.tile(3 * np.array([3, 3, 2]) / 6, (7, 1)))


def test_an_image_that_nobody_may_vote_on_is_left_at_the_floor(engine, rng):
    alone = collection_from_arrays(
        sparse.csr_array(np.array([[1, 0]])), np.array([0]), features=np.ones((1, 3))
    )
    model = TagVote().fit(alone, engine=engine, rng=rng)

    np.testing.assert_array_equal(model.scores(alone.rows(slice(0, 1))), [[0, 0]])
    assert model.floor == 0


def test_unit_features_compare_directions(engine, rng):
    features = np.array([[1, 0], [9, 1], [1, 1]], dtype=np.float32)
    collection = collection_from_arrays(
        sparse.csr_array(np.eye(3)), np.arange(3), features=features
    )

    by_direction = vote(collection, engine, rng, slice(0, 1), neighbours=1, unit_features=True)
    by_place = vote(collection, engine, rng, slice(0, 1), neighbours=1)

    np.testing.assert_array_equal(by_direction, [[0, 1, 0]])
    np.testing.assert_array_equal(by_place, [[0, 0, 1]])


@pytest.mark.parametrize("strangers_only", [False, True])
def test_votes_are_those_of_a_walk_from_the_nearest_on(strangers_only, collection, engine, rng):
    scores = vote(collection, engine, rng, slice(0, 40), strangers_only, neighbours=15)

    expected = [walk(collection, image, 15, 45, strangers_only) for image in range(40)]
    np.testing.assert_array_equal(scores, expected)


def walk(collection, image, n_voters, n_retrieved, strangers_only):
    """Count the votes for one image in a loop."""
    rows = collection.rows(slice(0, collection.n_images))
    features, tags = rows.features.astype(np.float64), rows.tags.toarray()
    mine = collection.owner[image]
    others = [other for other in range(len(tags)) if other != image]
    if strangers_only and mine != collection.nobody:
        others = [other for other in others if collection.owner[other] != mine]
    others.sort(key=lambda other: np.square(features[other] - features[image]).sum())
    votes, voted = np.zeros(collection.n_tags), []
    for other in others[:n_retrieved]:
        owner = collection.owner[other]
        if tags[other].any() and owner not in voted and len(voted) < n_voters:
            votes += tags[other]
            voted.append(f"image {other}" if owner == collection.nobody else owner)
    return votes


def test_own_tags_are_added_to_the_share_of_the_vote(collection, engine, rng):
    rows = collection.rows(slice(OF_NOBODY, 30))
    votes = TagVote(neighbours=10).fit(collection, engine=engine, rng=rng).scores(rows)

    scores = (
        TagVoteOwn(neighbours=10, own_weight=0.25)
        .fit(collection, engine=engine, rng=rng)
        .scores(rows)
    )

    np.testing.assert_allclose(scores, votes / 10 + 0.25 * rows.tags.toarray(), atol=1e-6)


def test_images_described_by_another_model_are_refused(collection, engine, rng):
    model = TagVote().fit(collection, engine=engine, rng=rng)
    rows = collection.rows(slice(0, 2))

    with pytest.raises(CollectionError, match="have 5 feature numbers each, the model's have 48"):
        model.scores(replace(rows, features=rows.features[:, :5]))
    with pytest.raises(CollectionError, match="have no feature numbers"):
        model.scores(without_features(collection).rows(slice(0, 2)))


@pytest.mark.parametrize(
    ("name", "setting", "value"),
    [
        ("tag-vote", "neighbours", 0),
        ("tag-vote", "retrieved_per_voter", 0),
        ("tag-vote-own", "neighbours", -3),
        ("tag-vote-own", "own_weight", -0.5),
    ],
)
def test_impossible_settings_are_named(name, setting, value):
    with pytest.raises(SettingsError, match=f"{name} setting {setting} is {value}"):
        make_method(name, {setting: value})


def test_methods_are_made_by_name_from_texts():
    method = make_method("tag-vote-own", {"neighbours": "7", "unit_features": "no"})

    assert method == TagVoteOwn(neighbours=7, unit_features=False)
    assert method_names() == tuple(METHODS)


def test_an_unknown_method_is_an_error_that_helps():
    with pytest.raises(SettingsError, match="no method 'tagvote'; did you mean tag-vote"):
        make_method("tagvote")
    with pytest.raises(SettingsError, match="The methods are: original, "):
        make_method("zzz")
