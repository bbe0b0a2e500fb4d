"""TTC1 and TTC2: sub-tensors are completed without a step back, and every image finds its place."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from planted import accuracy, as_new, planted_collection
from sugartag.collection.model import Collection
from sugartag.engine import LocalEngine
from sugartag.errors import CollectionError, SettingsError
from sugartag.linalg.laplacian import laplacian, symmetrised
from sugartag.linalg.sylvester import GraphSylvester
from sugartag.methods.ttc import TTC1, TTC2
from sugartag.methods.ttc.completion import kernel_factors, leading_rows, warm_start
from sugartag.methods.ttc.fitted import FittedTTC
from sugartag.methods.ttc.model import Factors, SubTensors, Weights, objective
from sugartag.methods.ttc.solver import (
    complete,
    complete_cores,
    with_cores,
    with_images,
    with_tags,
    with_users,
)

N_IMAGES, N_USERS, TAG_SIZES = 24, 6, (5, 4)
RANKS = (3, 4, 2)
QUICK = {"tag_rank": 8, "image_rank": 8, "max_sweeps": 5}
BOTH = pytest.mark.parametrize("loss", ["posts", "full"])
METHODS = pytest.mark.parametrize("method_type", [TTC1, TTC2])


def some_graph(size: int, rng: np.random.Generator) -> sparse.csr_array:
    links = rng.random((size, size)) * (rng.random((size, size)) < 0.4)
    return laplacian(symmetrised(sparse.csr_array(np.triu(links, 1))))


def some_sub_tensors(seed: int = 0) -> SubTensors:
    """Return two tag, two image and two user clusters; all four pairs have posts."""
    rng = np.random.default_rng(seed)
    user_rows = (np.arange(0, 3), np.arange(3, 6))
    image_rows = (np.arange(0, 12), np.arange(12, 24))
    owner = np.concatenate([rng.integers(0, 3, 6), rng.integers(3, 6, 6)] * 2)
    by_image = [some_graph(12, rng), some_graph(12, rng)]
    by_user = [some_graph(3, rng), some_graph(3, rng)]
    tags = [rng.random((N_IMAGES, size)) < 0.3 for size in TAG_SIZES]
    return SubTensors(
        tags=tuple(sparse.csr_array(part.astype(np.float64)) for part in tags),
        pair_starts=np.array([0, 6, 12, 18, 24]),
        image=np.concatenate([rng.permutation(12), 12 + rng.permutation(12)]),
        owner=owner,
        is_fitted=np.ones(N_IMAGES),
        pair_image_cluster=np.array([0, 0, 1, 1]),
        pair_user_cluster=np.array([0, 1, 0, 1]),
        image_rows=image_rows,
        user_rows=user_rows,
        tag_graphs=tuple(GraphSylvester.of(some_graph(size, rng)) for size in TAG_SIZES),
        image_laplacian=sparse.csr_array(sparse.block_diag(by_image, format="csr")),
        user_laplacian=sparse.csr_array(sparse.block_diag(by_user, format="csr")),
        image_graphs=tuple(map(GraphSylvester.of, by_image)),
        user_graphs=tuple(map(GraphSylvester.of, by_user)),
    )


def some_factors(seed: int = 1) -> Factors:
    rng = np.random.default_rng(seed)
    tag_rank, image_rank, user_rank = RANKS
    return Factors(
        tags=tuple(rng.standard_normal((size, tag_rank)) for size in TAG_SIZES),
        images=rng.standard_normal((N_IMAGES, image_rank)),
        users=rng.standard_normal((N_USERS, user_rank)),
        cores=rng.standard_normal((4, user_rank * image_rank, len(TAG_SIZES) * tag_rank)),
    )


def literal_objective(known: SubTensors, factors: Factors, weights: Weights) -> float:
    """Go through every sub-tensor, build it, and compare it with what is known."""
    total = 0.0
    tag_rank, image_rank, user_rank = RANKS
    for pair in range(known.n_pairs):
        images = known.image_rows[known.pair_image_cluster[pair]]
        users = known.user_rows[known.pair_user_cluster[pair]]
        core = factors.cores[pair].reshape(user_rank, image_rank, len(TAG_SIZES), tag_rank)
        for cluster, tags in enumerate(factors.tags):
            made = np.einsum(
                "cia,ta,nc,mi->tmn", core[:, :, cluster], tags, factors.users, factors.images
            )
            wanted = np.zeros_like(made)
            is_counted = np.zeros(made.shape[1:], dtype=bool)
            if weights.loss == "full":
                is_counted[np.ix_(images, users)] = True
            for post in range(known.pair_starts[pair], known.pair_starts[pair + 1]):
                cell = (known.image[post], known.owner[post])
                wanted[:, *cell] = known.tags[cluster][[post]].toarray()[0]
                is_counted[cell] |= known.is_fitted[post] > 0
            total += ((wanted - made) ** 2)[:, is_counted].sum()
    parts = (*factors.tags, factors.images, factors.users, factors.cores)
    total += weights.ridge * sum((part**2).sum() for part in parts)
    smooth = [(g.graph, b) for g, b in zip(known.tag_graphs, factors.tags, strict=True)]
    smooth += [(known.image_laplacian, factors.images), (known.user_laplacian, factors.users)]
    return total + weights.smoothness * sum(np.trace(f.T @ (g @ f)) for g, f in smooth)


def slope(known: SubTensors, factors: Factors, weights: Weights, field: str) -> float:
    """Return the steepest change of the objective along some random directions of one part."""
    rng = np.random.default_rng(9)
    slopes = []
    for _ in range(5):
        part = getattr(factors, field)
        parts = part if isinstance(part, tuple) else (part,)
        steps = [1e-4 * rng.standard_normal(one.shape) for one in parts]
        ends = []
        for sign in (1.0, -1.0):
            moved = tuple(one + sign * step for one, step in zip(parts, steps, strict=True))
            value = moved if isinstance(part, tuple) else moved[0]
            ends.append(objective(known, replace(factors, **{field: value}), weights))
        slopes.append(abs(ends[0] - ends[1]) / 2e-4)
    return max(slopes)


@BOTH
def test_kernel_factors_give_the_minimiser_of_the_tensor_kernel_by_a_dense_solve(loss):
    rng = np.random.default_rng(3)
    graphs = {name: some_graph(size, rng) for name, size in (("tag", 4), ("image", 6), ("user", 3))}
    owner, tags = np.array([0, 1, 2, 2, 1, 0]), (rng.random((6, 4)) < 0.4).astype(np.float64)
    known = SubTensors(
        tags=(sparse.csr_array(tags),),
        pair_starts=np.array([0, 6]),
        image=np.arange(6),
        owner=owner,
        is_fitted=np.ones(6),
        pair_image_cluster=np.zeros(1, np.int64),
        pair_user_cluster=np.zeros(1, np.int64),
        image_rows=(np.arange(6),),
        user_rows=(np.arange(3),),
        tag_graphs=(GraphSylvester.of(graphs["tag"]),),
        image_laplacian=graphs["image"],
        user_laplacian=graphs["user"],
    )

    ridge = 0.3
    fit = complete_cores(known, kernel_factors(known, ranks=(4, 6, 3)), Weights(ridge, 0.7, loss))

    # min over S of |D - S x K_T x K_I x K_U|^2 + ridge |S|^2, on posts only or on every cell.
    kernels = [2.0 * np.eye(graph.shape[0]) - graph.toarray() for graph in graphs.values()]
    whole = np.kron(kernels[0], np.kron(kernels[1], kernels[2]))
    tensor, counted = np.zeros((4, 6, 3)), np.zeros((4, 6, 3), dtype=bool)
    tensor[:, np.arange(6), owner] = tags.T
    counted[:, np.arange(6), owner] = True
    some = whole if loss == "full" else whole * counted.reshape(-1, 1)
    core = np.linalg.solve(some.T @ some + ridge * np.eye(len(whole)), some.T @ tensor.ravel())
    expected = (whole @ core).reshape(tensor.shape)
    factors = fit.factors
    made = np.einsum(
        "cia,ta,nc,mi->tmn",
        factors.cores[0].reshape(3, 6, 4),
        factors.tags[0],
        factors.users,
        factors.images,
    )
    np.testing.assert_allclose(made, expected, atol=1e-9)


@BOTH
def test_the_objective_is_that_of_the_whole_sub_tensors(loss):
    known, factors, weights = some_sub_tensors(), some_factors(), Weights(0.3, 0.7, loss)

    assert objective(known, factors, weights) == pytest.approx(
        literal_objective(known, factors, weights), rel=1e-12
    )


def test_a_post_that_is_not_fitted_costs_nothing():
    known, factors, weights = some_sub_tensors(), some_factors(), Weights(0.3, 0.7, "posts")
    is_fitted = known.is_fitted.copy()
    is_fitted[[2, 9]] = 0.0
    tags = tuple(sparse.csr_array(part.multiply(is_fitted[:, None])) for part in known.tags)
    fewer = replace(known, is_fitted=is_fitted, tags=tags)

    assert objective(fewer, factors, weights) == pytest.approx(
        literal_objective(fewer, factors, weights), rel=1e-12
    )


@BOTH
@pytest.mark.parametrize("smoothness", [0.0, 0.1, 10.0])
@pytest.mark.parametrize("seed", range(4))
def test_no_step_raises_the_objective(loss, smoothness, seed):
    known, factors = some_sub_tensors(seed), some_factors(seed)
    weights = Weights(0.1, smoothness, loss)
    before = objective(known, factors, weights)

    for step in (with_cores, with_tags, with_images, with_users) * 8:
        factors = step(known, factors, weights)
        after = objective(known, factors, weights)
        assert after <= before * (1 + 1e-12)
        before = after


@BOTH
@pytest.mark.parametrize(("step", "field"), [(with_cores, "cores"), (with_tags, "tags")])
def test_cores_and_tag_factors_are_the_best_there_are(loss, step, field):
    known, weights = some_sub_tensors(), Weights(0.3, 0.7, loss)

    factors = step(known, some_factors(), weights)

    assert slope(known, factors, weights, field) < 1e-6
    assert slope(known, some_factors(), weights, field) > 1


@pytest.mark.parametrize(("step", "field"), [(with_images, "images"), (with_users, "users")])
@pytest.mark.parametrize(("loss", "times"), [("full", 1), ("posts", 400)])
def test_image_and_user_factors_come_to_be_the_best_there_are(step, field, loss, times):
    known, weights, factors = some_sub_tensors(), Weights(0.3, 0.7, loss), some_factors()

    for _ in range(times):
        factors = step(known, factors, weights)

    assert slope(known, factors, weights, field) < 1e-6


@BOTH
def test_threads_change_nothing(loss):
    known, start = some_sub_tensors(), some_factors()

    one, two = (
        complete(known, start, Weights(0.3, 0.7, loss, n), max_sweeps=5, tolerance=0.0)
        for n in (1, 2)
    )

    np.testing.assert_array_equal(one.factors.cores, two.factors.cores)


def test_sweeps_end_when_the_objective_stands_still():
    known, start, weights = some_sub_tensors(), some_factors(), Weights(0.3, 0.7, "posts")

    fit = complete(known, start, weights, max_sweeps=500, tolerance=1e-2)

    assert 2 < len(fit.objectives) < 100
    assert fit.objectives[-2] - fit.objectives[-1] <= 1e-2 * fit.objectives[-2]


def test_a_warm_start_is_ahead_of_a_random_one():
    known, weights = some_sub_tensors(), Weights(0.1, 0.5, "posts")
    warm = warm_start(known, ranks=RANKS, rng=np.random.default_rng(0))
    cold = [replace(some_factors(seed), cores=warm.cores) for seed in range(5)]

    ends = [
        complete(known, start, weights, max_sweeps=3, tolerance=0.0).objectives[-1]
        for start in (warm, *cold)
    ]

    assert ends[0] < np.mean(ends[1:])


@pytest.mark.parametrize("shape", [(9, 4), (4, 9), (700, 650)])
def test_leading_rows_are_singular_vectors(shape, rng):
    basis = rng.standard_normal((shape[0], 3)) @ rng.standard_normal((3, shape[1]))

    rows = leading_rows(sparse.csr_array(basis), 5, rng=rng)

    left, values, _ = np.linalg.svd(basis, full_matrices=False)
    expected = (left[:, :3] * values[:3]) @ left[:, :3].T
    np.testing.assert_allclose(rows @ rows.T, expected, atol=1e-5 * values[0])


def fitted(method: TTC1, collection: Collection) -> FittedTTC:
    return method.fit(collection, engine=LocalEngine(), rng=np.random.default_rng(3))


def scores_of(model: FittedTTC, collection: Collection) -> np.ndarray:
    return model.scores(collection.rows(slice(0, collection.n_images)))


# Fitted on posts alone, a sub-tensor leaves out the few owners that have no image in it.
@pytest.mark.parametrize(("loss", "closeness"), [("full", 1e-6), ("posts", 1e-2)])
def test_one_cluster_of_each_kind_makes_both_methods_one(loss, closeness, collection):
    whole = {"tag_clusters": 1, "image_clusters": 1, "user_clusters": 1, "loss": loss, **QUICK}

    alone, together = (fitted(method(**whole), collection) for method in (TTC1, TTC2))

    assert alone.objective == pytest.approx(together.objective, rel=closeness)
    found, expected = (scores_of(model, collection) for model in (alone, together))
    assert np.linalg.norm(found - expected) < 5 * closeness * np.linalg.norm(expected)


@METHODS
def test_several_clusters_work(method_type, collection):
    method = method_type(tag_clusters=3, image_clusters=4, user_clusters=3, **QUICK)

    model = fitted(method, collection)

    assert model.n_tag_clusters == 3
    assert model.n_pairs > 4
    assert accuracy(scores_of(model, collection), collection)[1] > 0.4


@METHODS
def test_fitting_the_posts_beats_fitting_every_cell(method_type, collection):
    posts = fitted(method_type(**QUICK), collection)
    # Light weights, which suit the many zeros: the default ones would be unfair.
    full = fitted(method_type(loss="full", ridge=0.01, smoothness=0.1, **QUICK), collection)

    gain = np.subtract(*(accuracy(scores_of(m, collection), collection) for m in (posts, full)))

    assert gain.min() > 0.1


@METHODS
def test_the_sum_over_users_ranks_too(method_type, collection):
    summed = scores_of(fitted(method_type(collapse="sum", **QUICK), collection), collection)

    assert np.isfinite(summed).all()
    assert accuracy(summed, collection)[1] > 0.4


@METHODS
def test_what_no_sub_tensor_knows_is_ranked_by_the_prior(method_type, collection):
    without, with_prior = (
        scores_of(fitted(method_type(prior_weight=weight, **QUICK), collection), collection)
        for weight in (0.0, 0.5)
    )

    tags = collection.tags_of(slice(0, collection.n_images))
    share = np.asarray(tags.sum(axis=0)).ravel() / collection.n_images
    np.testing.assert_allclose(with_prior - without, np.tile(0.5 * share, (600, 1)), atol=1e-5)


@METHODS
def test_a_new_image_is_scored_much_as_if_it_had_been_fitted(method_type, collection):
    model = fitted(method_type(image_clusters=2, **QUICK), collection)
    rows = collection.rows(slice(0, collection.n_images))

    fit, new = model.scores(rows), model.scores(as_new(rows, collection))

    agreement = [np.corrcoef(a, b)[0, 1] for a, b in zip(fit[10:], new[10:], strict=True)]
    assert np.median(agreement) > 0.9


@METHODS
def test_a_new_image_without_tags_is_known_by_those_that_look_alike(method_type, collection):
    model = fitted(method_type(image_clusters=2, **QUICK), collection)
    rows = as_new(
        collection.rows(slice(0, collection.n_images)), collection, owner=collection.nobody
    )
    untagged = replace(rows, tags=sparse.csr_array(rows.tags.shape, dtype=np.float32))

    found = accuracy(model.scores(untagged), collection)
    guess = accuracy(np.tile(model.prior, (600, 1)), collection)

    assert min(np.subtract(found, guess)) > 0.1


def test_an_owner_whose_cluster_has_no_such_images_gets_the_nearest_it_has(collection):
    model = fitted(TTC1(image_clusters=3, user_clusters=2, **QUICK), collection)
    table = model.pair_of_clusters.copy()
    gone = table[0, 0]
    table[0, 0] = model.n_pairs
    holed = replace(model, pair_of_clusters=table)
    owner = int(np.flatnonzero(model.user_cluster[:-1] == 0)[0])
    rows = as_new(collection.rows(slice(0, 600)), collection, owner=owner)
    features = holed._features(rows)

    pairs = holed._pairs(rows, features)

    assert set(pairs) <= set(table[1:, 0]) - {gone, model.n_pairs}


@METHODS
def test_strangers_only_asks_no_image_of_the_owner(method_type, collection):
    model = fitted(method_type(image_clusters=2, **QUICK), collection)
    image = 40
    rows = collection.rows(slice(image, image + 1))
    factors = model.image_factors.copy()
    factors[:, collection.owner == rows.owner[0]] += 100.0
    changed = replace(model, image_factors=factors)

    same = [m.scores(rows, strangers_only=True) for m in (model, changed)]
    other = [m.scores(rows) for m in (model, changed)]

    np.testing.assert_array_equal(*same)
    assert np.abs(other[0] - other[1]).max() > 1


def test_the_number_of_clusters_grows_with_the_root_of_the_collection(collection):
    counts = TTC1().cluster_counts(collection)

    assert (counts.tags, counts.images, counts.users) == (1, 2, 1)
    assert TTC1(user_clusters=5).cluster_counts(collection).users == 5


@METHODS
@pytest.mark.parametrize(
    "wrong",
    [
        {"tag_rank": 0},
        {"image_clusters": 0},
        {"neighbours": 0},
        {"ridge": 0.0},
        {"smoothness": -1.0},
        {"tolerance": -1.0},
        {"block_share": 1.0},
    ],
)
def test_settings_that_cannot_work_are_refused(method_type, wrong):
    (name,) = wrong

    with pytest.raises(SettingsError, match=f"{method_type.name} setting {name}"):
        method_type(**wrong)


@pytest.mark.parametrize("method_type", [TTC1, TTC2])
def test_a_collection_whose_owners_are_unknown_is_refused_in_one_line(method_type):
    collection = planted_collection()
    (shard,) = collection.shards
    orphaned = replace(collection, shards=(replace(shard, owner=np.full(600, collection.nobody)),))

    with pytest.raises(CollectionError, match="needs owners"):
        fitted(method_type(**QUICK), orphaned)
