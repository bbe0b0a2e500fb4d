"""TagProp: the likelihood it maximises, the weights it finds, and what it does with them."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import optimize, sparse

from planted import planted_collection
from sugartag.collection.build import collection_from_arrays
from sugartag.errors import SettingsError
from sugartag.methods.tag_prop import TagProp
from sugartag.methods.tag_prop.weights import (
    DOUBT,
    LikelihoodProblem,
    Weights,
    gathered,
    learned_weights,
)

N_IMAGES, N_VOTERS, N_TAGS, N_NEIGHBOURS = 25, 30, 6, 4


@pytest.fixture(scope="module")
def votes() -> tuple[Any, Any, Any]:
    """Distances of the neighbours of 25 images, the neighbours' tags and the images' own."""
    rng = np.random.default_rng(5)
    voter_tags = (rng.random((N_VOTERS, N_TAGS)) < 0.3).astype(float)
    neighbour = np.array(
        [rng.choice(N_VOTERS, N_NEIGHBOURS, replace=False) for _ in range(N_IMAGES)]
    )
    distance = np.sort(rng.random((N_IMAGES, N_NEIGHBOURS)) + 0.1, axis=1)
    # The nearest neighbour is mostly right, the others by chance.
    own = np.where(
        rng.random((N_IMAGES, N_TAGS)) < 0.7,
        voter_tags[neighbour[:, 0]],
        rng.random((N_IMAGES, N_TAGS)) < 0.3,
    )
    ends = np.arange(0, N_IMAGES * N_NEIGHBOURS + 1, N_NEIGHBOURS)
    ends[-1] -= 2  # the last image has only two neighbours
    ballots = sparse.csr_array(
        (distance.ravel()[: ends[-1]], neighbour.ravel()[: ends[-1]], ends),
        shape=(N_IMAGES, N_VOTERS),
    )
    return ballots, sparse.csr_array(voter_tags), sparse.csr_array(own)


def problem(votes, *, by_rank=True, sigmoids=False) -> LikelihoodProblem:
    return LikelihoodProblem(
        gathered(*votes), n_ranks=N_NEIGHBOURS, by_rank=by_rank, sigmoids=sigmoids
    )


def literal_shares(votes, weight_of):
    """Mix what the neighbours say in a loop; weight_of(rank, distance) is not normalised."""
    ballots, voter_tags, _ = votes
    shares = np.zeros((N_IMAGES, N_TAGS))
    for image in range(N_IMAGES):
        part = slice(ballots.indptr[image], ballots.indptr[image + 1])
        near, far = ballots.indices[part], ballots.data[part]
        weights = np.array([weight_of(rank, far[rank]) for rank in range(len(near))])
        shares[image] = (weights / weights.sum()) @ voter_tags.toarray()[near]
    return shares


def literal_likelihood(chance, own):
    """Sum over all images and tags; given and missing tags weigh the same in total."""
    given = own.toarray() > 0
    balance = given.sum() / (~given).sum()
    return np.log(chance[given]).sum() + balance * np.log(1 - chance[~given]).sum()


@pytest.mark.parametrize("by_rank", [True, False])
def test_the_likelihood_is_the_double_sum_over_images_and_tags(by_rank, votes):
    vector = np.array([0.3, -0.2, 0.1, -1.0]) if by_rank else np.array([0.4])

    value, _ = problem(votes, by_rank=by_rank).value_and_slope(vector)

    def weight_of(rank, distance):
        return np.exp(vector[rank] if by_rank else -np.exp(0.4) * distance)

    chance = DOUBT + (1 - 2 * DOUBT) * literal_shares(votes, weight_of)
    np.testing.assert_allclose(-value, literal_likelihood(chance, votes[2]), rtol=1e-12)


def test_the_likelihood_through_sigmoids_is_the_double_sum_less_what_holds_them_back(votes):
    made = problem(votes, sigmoids=True)
    vector = np.random.default_rng(0).normal(size=len(made.start()))

    value, _ = made.value_and_slope(vector)

    own = vector[N_NEIGHBOURS + 2 :].reshape(2, N_TAGS)
    slope, offset = vector[N_NEIGHBOURS : N_NEIGHBOURS + 2, None] + own
    shares = literal_shares(votes, lambda rank, _: np.exp(vector[rank]))
    chance = 1 / (1 + np.exp(-(slope * shares + offset)))
    expected = literal_likelihood(chance, votes[2]) - np.square(own).sum() / 2
    np.testing.assert_allclose(-value, expected, rtol=1e-10)


@pytest.mark.parametrize("sigmoids", [True, False])
@pytest.mark.parametrize("by_rank", [True, False])
def test_the_slope_is_that_of_finite_differences(by_rank, sigmoids, votes):
    made = problem(votes, by_rank=by_rank, sigmoids=sigmoids)
    start = made.start()
    vector = start + np.random.default_rng(1).normal(scale=0.3, size=len(start))

    _, slope = made.value_and_slope(vector)

    expected = optimize.approx_fprime(vector, lambda at: made.value_and_slope(at)[0], 1e-6)
    np.testing.assert_allclose(slope, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("sigmoids", [True, False])
@pytest.mark.parametrize("by_rank", [True, False])
def test_no_step_lowers_the_likelihood(by_rank, sigmoids, votes):
    weights, path = learned_weights(problem(votes, by_rank=by_rank, sigmoids=sigmoids), 100)

    assert len(path) > 2
    assert np.all(np.diff(path) >= -1e-12)
    assert weights.likelihood == pytest.approx(path[-1], abs=1e-12)
    assert path[-1] > path[0] + 1e-3


def test_the_weights_by_rank_are_those_of_expectation_maximisation(votes):
    ballots, voter_tags, own = votes
    whole = ballots[: N_IMAGES - 1], voter_tags, own[: N_IMAGES - 1]  # four neighbours each
    weights, _ = learned_weights(
        LikelihoodProblem(gathered(*whole), n_ranks=4, by_rank=True, sigmoids=False), 500
    )

    neighbour = ballots.indices[: 4 * (N_IMAGES - 1)].reshape(-1, 4)
    given = whole[2].toarray()[:, None, :] > 0
    said = voter_tags.toarray()[neighbour] > 0
    likely = np.where(said == given, 1 - DOUBT, DOUBT)
    importance = np.where(given[:, 0], 1.0, given.sum() / (~given).sum())
    gamma = np.full(4, 0.25)
    for _ in range(3000):
        mixed = np.einsum("k,ikt->it", gamma, likely)
        gamma = gamma * np.einsum("it,ikt->k", importance / mixed, likely) / importance.sum()

    found = np.exp(weights.of_rank) / np.exp(weights.of_rank).sum()
    np.testing.assert_allclose(found, gamma, atol=2e-3)
    assert found[0] > 0.4


def test_the_weights_of_an_image_sum_to_one():
    image, rank = np.array([0, 0, 0, 2, 2]), np.array([0, 1, 2, 0, 1])
    distance = np.array([800.0, 801.0, 802.0, 0.0, 5000.0])

    shares = Weights(np.zeros(3), decay=1.0).of(image, rank, distance)

    np.testing.assert_allclose(np.bincount(image, shares), [1, 0, 1], atol=1e-12)
    np.testing.assert_allclose(shares[1] / shares[0], np.exp(-1), rtol=1e-12)


@pytest.mark.parametrize("settings", [{}, {"weights": "rank"}])
def test_scores_are_the_weighted_shares_of_the_vote(settings, collection, engine, rng):
    method = TagProp(neighbours=5, **settings)
    model = method.fit(collection, engine=engine, rng=rng)
    rows = collection.rows(slice(100, 110))

    scores = model.scores(rows)

    ballots = model.voters_of(rows)
    tags = collection.tags_of(slice(0, collection.n_images)).toarray()
    for image in range(10):
        part = slice(ballots.indptr[image], ballots.indptr[image + 1])
        strength = model.weights.of_rank[: part.stop - part.start]
        weight = np.exp(strength - model.weights.decay * ballots.data[part])
        expected = weight / weight.sum() @ tags[ballots.indices[part]]
        np.testing.assert_allclose(scores[image], expected, atol=1e-6)


def test_nearer_neighbours_are_believed_more(collection, engine, rng):
    by_rank = TagProp(neighbours=20, weights="rank").fit(collection, engine=engine, rng=rng)
    by_distance = TagProp(neighbours=20).fit(collection, engine=engine, rng=rng)

    assert by_rank.weights.of_rank[:5].mean() > by_rank.weights.of_rank[-5:].mean()
    assert by_distance.weights.decay > 0


def test_sigmoids_give_probabilities_and_keep_the_order_of_images(collection, engine, rng):
    plain = TagProp().fit(collection, engine=engine, rng=rng)
    model = TagProp(sigmoid=True).fit(collection, engine=engine, rng=rng)
    rows = collection.rows(slice(0, 50))

    scores = model.scores(rows)

    assert scores.min() >= 0
    assert scores.max() <= 1
    assert np.count_nonzero(model.weights.slope > 0) > 40
    same = replace(plain, weights=replace(model.weights, slope=None, offset=None))
    rising = np.flatnonzero(model.weights.slope > 0)[0]
    np.testing.assert_array_equal(
        np.argsort(same.scores(rows)[:, rising], kind="stable"),
        np.argsort(scores[:, rising], kind="stable"),
    )


def test_own_tags_count_only_if_asked_for(collection, engine, rng):
    rows = collection.rows(slice(10, 30))
    without = TagProp().fit(collection, engine=engine, rng=rng)

    model = replace(without, own_weight=0.2)

    expected = without.scores(rows) + 0.2 * rows.tags.toarray()
    np.testing.assert_allclose(model.scores(rows), expected, atol=1e-6)
    assert TagProp().own_weight == 0


def test_an_image_does_not_teach_its_own_tags(engine, rng):
    # Twins with other tags: whoever saw the image itself would think neighbours are perfect.
    features = np.repeat(np.random.default_rng(0).normal(size=(20, 3)), 2, axis=0)
    tags = np.tile(np.eye(2), (20, 1))
    collection = collection_from_arrays(sparse.csr_array(tags), np.arange(40), features=features)

    model = TagProp(neighbours=5).fit(collection, engine=engine, rng=rng)

    # Without itself an image hears its twin, which is always wrong, and learns to doubt it.
    assert model.weights.decay < 0.1


def test_weights_can_be_learned_from_some_of_the_images(engine):
    collection = planted_collection()
    few, again = (
        TagProp(learning_images=100).fit(collection, engine=engine, rng=np.random.default_rng(1))
        for _ in range(2)
    )
    every = TagProp().fit(collection, engine=engine, rng=np.random.default_rng(1))

    assert few.weights.decay == again.weights.decay
    assert few.weights.decay == pytest.approx(every.weights.decay, rel=0.5)
    assert few.weights.decay != every.weights.decay


def test_a_collection_of_one_image_is_scored(engine, rng):
    alone = collection_from_arrays(
        sparse.csr_array(np.array([[1, 0]])), np.array([0]), features=np.ones((1, 3))
    )

    for settings in ({}, {"weights": "rank"}, {"sigmoid": True}):
        model = TagProp(**settings).fit(alone, engine=engine, rng=rng)
        assert np.isfinite(model.scores(alone.rows(slice(0, 1)))).all()


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("neighbours", 0),
        ("retrieved_per_voter", 0),
        ("learning_images", 0),
        ("max_iterations", 0),
        ("own_weight", -1.0),
        ("shrinkage", -0.1),
    ],
)
def test_impossible_settings_are_named(setting, value):
    with pytest.raises(SettingsError, match=f"tag-prop setting {setting} is {value}"):
        TagProp(**{setting: value})
