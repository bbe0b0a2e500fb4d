"""MRTF against its literal formulas on tiny shapes, and what its options do."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from planted import NEVER_USED, accuracy, as_new
from sugartag.collection.build import collection_from_arrays
from sugartag.engine import LocalEngine
from sugartag.errors import SettingsError
from sugartag.graph.tag_affinity import cooccurrence, tag_affinity
from sugartag.linalg.laplacian import laplacian
from sugartag.linalg.tucker import Tucker
from sugartag.methods.mrtf.estimator import RankingFactorisation, barred_tags
from sugartag.methods.mrtf.graphs import counts_of_equal_share, user_graph
from sugartag.methods.mrtf.start import Ranks, smoothed_tags, warm_start
from sugartag.methods.mrtf.training import (
    Descent,
    Laplacians,
    Objective,
    Pairs,
    Penalties,
    Posts,
    draw_pairs,
    ranking_gradient,
    ranking_loss,
)

N_USERS, N_IMAGES, N_TAGS = 4, 9, 7
LOSSES = ("log_sigmoid", "sigmoid")
PARTS = ("core", "users", "images", "tags")
QUICK = RankingFactorisation(user_rank=4, image_rank=50, tag_rank=50, epochs=3)


@pytest.fixture
def factors(rng):
    return Tucker(
        core=rng.standard_normal((2, 3, 4)),
        users=rng.standard_normal((N_USERS + 1, 2)),
        images=rng.standard_normal((N_IMAGES, 3)),
        tags=rng.standard_normal((N_TAGS, 4)),
    )


@pytest.fixture
def posts(rng):
    tags = sparse.csr_array((rng.random((N_IMAGES, N_TAGS)) < 0.3).astype(np.float64))
    owner = np.array([0, 1, 2, 3, 4, 0, 1, 4, 0])
    return Posts(tags, owner, barred=tags)


def graph(n, rng):
    links = np.triu(rng.random((n, n)), 1)
    return laplacian(sparse.csr_array(links + links.T))


@pytest.fixture
def objective(posts, rng):
    users = np.zeros((N_USERS + 1, N_USERS + 1))
    users[:-1, :-1] = graph(N_USERS, rng).toarray()
    graphs = Laplacians(sparse.csr_array(users), graph(N_IMAGES, rng), graph(N_TAGS, rng))
    return Objective(posts, graphs, Penalties(0.3, 0.2), "log_sigmoid")


def every_pair(posts, images):
    """Return all pairs of a given and another tag, for a batch of images."""
    given = posts.tags[images].toarray() > 0
    image, right, wrong = np.nonzero(given[:, :, None] & ~given[:, None, :])
    return Pairs(image, right, wrong, np.linspace(0.5, 1.5, len(image)))


def moved(factors, direction, step):
    return Tucker(*(getattr(factors, p) + step * getattr(direction, p) for p in PARTS))


def a_direction(factors, rng):
    """Return where to move the factors; nobody's factor stands still."""
    made = Tucker(*(rng.standard_normal(getattr(factors, part).shape) for part in PARTS))
    made.users[-1] = 0.0
    return made


def whole_objective(factors, objective, pairs):
    """g of the thesis, the sum over all posts and both penalties of all three factors."""
    images, graphs = np.arange(N_IMAGES), objective.laplacians
    value = ranking_loss(factors, objective.posts.owner, images, pairs, objective.loss)
    for part in ("users", "images", "tags"):
        factor, rough = getattr(factors, part), getattr(graphs, part).toarray()
        value += 0.3 * np.trace(factor.T @ rough @ factor) + 0.2 * np.sum(factor**2)
    return value


@pytest.mark.parametrize("loss", LOSSES)
def test_the_loss_is_that_of_the_whole_tensor_at_the_posts(loss, factors, posts):
    images = np.array([1, 4, 8])
    pairs = every_pair(posts, images)
    tensor = np.einsum(
        "abc,ua,ib,tc->uit", factors.core, factors.users, factors.images, factors.tags
    )

    expected = 0.0
    for n, t_right, t_wrong, weight in zip(
        pairs.image, pairs.right, pairs.wrong, pairs.weight, strict=True
    ):
        at_post = tensor[posts.owner[images[n]], images[n]]
        chance = 1 / (1 + np.exp(at_post[t_right] - at_post[t_wrong]))
        expected += weight * (-np.log(1 - chance) if loss == "log_sigmoid" else chance)

    found = ranking_loss(factors, posts.owner[images], images, pairs, loss)
    assert found == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("part", PARTS)
def test_the_gradient_of_the_loss_is_that_of_finite_differences(part, loss, factors, posts, rng):
    images = np.arange(N_IMAGES)
    pairs, direction = every_pair(posts, images), a_direction(factors, rng)
    only = replace(moved(factors, factors, -1.0), **{part: getattr(direction, part)})

    def value(step):
        return ranking_loss(moved(factors, only, step), posts.owner, images, pairs, loss)

    found = getattr(ranking_gradient(factors, posts.owner, images, pairs, loss), part)
    there = getattr(direction, part)
    there = there[posts.owner] if part == "users" else there
    difference = (value(1e-5) - value(-1e-5)) / 2e-5
    assert np.vdot(found, there) == pytest.approx(difference, rel=1e-6)


def test_the_batches_of_an_epoch_add_up_to_the_gradient_of_the_objective(factors, objective, rng):
    direction, every = a_direction(factors, rng), every_pair(objective.posts, np.arange(N_IMAGES))

    slope = 0.0
    for batch in np.array_split(rng.permutation(N_IMAGES), 3):
        batch = np.sort(batch)
        inside = np.isin(every.image, batch)
        place = np.searchsorted(batch, every.image[inside])
        pairs = Pairs(place, every.right[inside], every.wrong[inside], every.weight[inside])
        step = objective.gradient(factors, batch, pairs)
        slope += np.vdot(step.core, direction.core) + np.vdot(step.tags, direction.tags)
        slope += np.vdot(step.images, direction.images[step.image])
        slope += np.vdot(step.users, direction.users[step.user])

    ahead = whole_objective(moved(factors, direction, 1e-5), objective, every)
    behind = whole_objective(moved(factors, direction, -1e-5), objective, every)
    assert slope == pytest.approx((ahead - behind) / 2e-5, rel=1e-6)


def test_an_epoch_lowers_the_objective_and_leaves_the_start_alone(factors, objective, rng):
    before, images = moved(factors, factors, 0.0), np.arange(N_IMAGES)
    every = every_pair(objective.posts, images)
    descent = Descent(epochs=20, batch_size=4, rate=0.01, n_wrong=3)

    after = descent.run(objective, factors, rng)

    assert whole_objective(after, objective, every) < whole_objective(factors, objective, every)
    for part in PARTS:
        np.testing.assert_array_equal(getattr(factors, part), getattr(before, part))


def test_nobody_is_the_mean_of_the_owners_with_images(factors, objective, rng):
    owner = np.where(objective.posts.owner == 3, 0, objective.posts.owner)
    some = replace(objective, posts=replace(objective.posts, owner=owner))

    after = Descent(epochs=2, batch_size=4, rate=0.01, n_wrong=3).run(some, factors, rng)

    np.testing.assert_allclose(after.users[-1], after.users[:3].mean(axis=0), rtol=1e-12)
    np.testing.assert_array_equal(after.users[3], factors.users[3])


def test_wrong_tags_are_neither_given_nor_related_to_one_given(rng):
    tags = sparse.csr_array(np.eye(3, 8))
    related = sparse.csr_array(([1.0, 1.0], ([0, 1], [5, 6])), shape=(8, 8))
    posts = Posts(tags, np.zeros(3, dtype=int), barred_tags(tags, related))

    pairs = draw_pairs(posts, np.array([0, 1, 2]), 200, rng)

    assert set(pairs.wrong[pairs.image == 0]) == {1, 2, 3, 4, 6, 7}
    assert set(pairs.wrong[pairs.image == 1]) == {0, 2, 3, 4, 5, 7}
    np.testing.assert_allclose(np.bincount(pairs.image, pairs.weight), 1.0)
    np.testing.assert_array_equal(pairs.right, pairs.image)


def test_an_image_with_every_tag_has_nothing_to_rank(rng):
    full = sparse.csr_array(np.ones((1, 3)))

    pairs = draw_pairs(Posts(full, np.zeros(1, dtype=int), full), np.array([0]), 4, rng)

    assert len(pairs.weight) == 12
    assert not pairs.weight.any()


def test_the_warm_start_is_the_smoothed_tags_whoever_the_user(rng):
    tags = sparse.csr_array((rng.random((8, 5)) < 0.5).astype(float))
    affinity = rng.random((8, 8)) * (1 - np.eye(8))
    near = affinity / affinity.sum(axis=1, keepdims=True)
    smoothed = 3 * (0.4 * tags.toarray() + 0.6 * near @ tags.toarray())

    operator = smoothed_tags(tags, sparse.csr_array(affinity), own_share=0.4, scale=3.0)
    start = warm_start(operator, 2, Ranks(3, 6, 5), noise=0.5, rng=rng)

    tensor = np.einsum("abc,ua,ib,tc->uit", *(getattr(start.factors, part) for part in PARTS))
    np.testing.assert_allclose(tensor, np.broadcast_to(smoothed, tensor.shape), atol=1e-9)
    np.testing.assert_allclose(smoothed @ start.projection, start.factors.images, atol=1e-9)


def test_a_new_image_that_goes_by_its_own_tags_gets_the_factor_it_would_have_started_with(
    collection, engine, rng
):
    model = replace(QUICK, epochs=0, own_share=1.0).fit(collection, engine=engine, rng=rng)
    rows = collection.rows(slice(0, 40))

    found = model.folded_in(as_new(rows, collection))

    np.testing.assert_allclose(found, model.factors.images[:40], atol=1e-6)


@pytest.mark.parametrize("collapse", ["owner", "mean_user", "latent_sum"])
def test_users_collapse_as_each_reading_says(collapse, collection, engine, rng):
    model = replace(QUICK, collapse=collapse).fit(collection, engine=engine, rng=rng)
    parts, rows = model.factors, collection.rows(slice(0, 6))
    by_image = np.einsum("abc,ib,tc->ita", parts.core, parts.images[:6], parts.tags)
    expected = {
        "owner": np.einsum("ita,ia->it", by_image, parts.users[rows.owner]),
        "mean_user": by_image @ parts.users[-1],
        "latent_sum": by_image.sum(axis=2),
    }

    np.testing.assert_allclose(model.scores(rows), expected[collapse], rtol=1e-5, atol=1e-5)


def test_among_strangers_the_owner_is_the_mean_user(collection, engine, rng):
    model = QUICK.fit(collection, engine=engine, rng=rng)
    rows = collection.rows(slice(4, 5))
    by_factor = model.folded_in(rows, strangers_only=True)[0] @ np.tensordot(
        model.factors.users[-1], model.factors.core, axes=1
    )

    scores = model.scores(rows, strangers_only=True)

    np.testing.assert_allclose(scores[0], by_factor @ model.factors.tags.T, rtol=1e-4, atol=1e-5)


def test_owners_are_linked_by_shared_groups_over_the_sum_of_both():
    groups = sparse.csr_array(np.array([[1, 1, 0], [1, 0, 0], [0, 0, 1], [1, 1, 1], [0, 0, 0]]))

    links = user_graph(groups, links_per_user=5).toarray()

    expected = np.zeros((5, 5))
    expected[0, 1], expected[0, 3], expected[1, 3], expected[2, 3] = 1 / 3, 2 / 5, 1 / 4, 1 / 4
    np.testing.assert_allclose(links, expected + expected.T)
    assert user_graph(groups, links_per_user=1)[0, 1] == pytest.approx(1 / 3)


def test_tags_are_linked_by_shared_images_over_the_sum_of_both(rng):
    tags = (rng.random((30, 6)) < 0.4).astype(int)
    together, uses = tags.T @ tags, tags.sum(axis=0)

    counts = counts_of_equal_share(cooccurrence(sparse.csr_array(tags)))
    found = tag_affinity(counts, None, cooccurrence_weight=1, taxonomy_weight=0, links_per_tag=None)

    expected = together / (uses[:, None] + uses[None, :])
    np.fill_diagonal(expected, 1.0)
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-12)


def test_a_warm_start_ranks_far_better_than_a_random_one(collection, engine):
    found = {}
    for start in ("smoothed", "random"):
        model = replace(QUICK, start=start).fit(
            collection, engine=engine, rng=np.random.default_rng(1)
        )
        scores = model.scores(collection.rows(slice(0, collection.n_images)))
        found[start] = np.array(accuracy(scores, collection))

    assert np.all(found["smoothed"] > found["random"] + 0.2)


def test_the_sigmoid_itself_learns_too(collection, engine, rng):
    model = replace(QUICK, loss="sigmoid").fit(collection, engine=engine, rng=rng)

    scores = model.scores(collection.rows(slice(0, collection.n_images)))

    assert accuracy(scores, collection)[1] > 0.8
    assert not (scores.argmax(axis=1) == NEVER_USED).any()


def test_a_collection_where_nobody_is_known_is_fitted(rng):
    tags = sparse.csr_array((rng.random((12, 8)) < 0.4).astype(np.float32))
    features = rng.standard_normal((12, 3)).astype(np.float32)
    collection = collection_from_arrays(tags, np.zeros(12, dtype=int), features=features)
    alone = replace(
        collection,
        shards=tuple(replace(s, owner=np.full(12, collection.nobody)) for s in collection.shards),
    )

    model = QUICK.fit(alone, engine=LocalEngine(), rng=rng)

    assert np.isfinite(model.scores(alone.rows(slice(0, 12)))).all()
    np.testing.assert_array_equal(model.factors.users[-1], [1, 0, 0, 0])


@pytest.mark.parametrize(
    "wrong",
    [
        {"user_rank": 0},
        {"wrong_tags": 0},
        {"neighbours": 0},
        {"smoothness": -1.0},
        {"epochs": -1},
        {"learning_rate": 0.0},
        {"own_share": 1.5},
        {"cooccurrence_weight": 0.95},
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong):
    with pytest.raises(SettingsError, match=next(iter(wrong))):
        RankingFactorisation(**wrong)
