"""TRVSC against its literal formulas, and what its options do."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from planted import NEVER_USED, UNTAGGED, as_new, planted_collection
from sugartag.collection.build import collection_from_arrays
from sugartag.engine import LocalEngine
from sugartag.errors import CollectionError, SettingsError
from sugartag.methods.trvsc.estimator import TRVSC, Start, minimised
from sugartag.methods.trvsc.updates import Consistency, objective, pull, updated


def literal_objective(values, images, tags, given, fidelity):
    """The double sums of the definition, α at its best."""
    trust = np.exp(given)
    size = (trust * given**2).sum(axis=1)
    scale = (trust * given * values).sum(axis=1) / np.where(size > 0, size, 1)
    mismatch = sum(
        (images[i, j] - values[i] @ tags @ values[j]) ** 2
        for i in range(len(values))
        for j in range(len(values))
    )
    return mismatch + fidelity * np.sum(trust * (values - scale[:, None] * given) ** 2)


def literal_update(values, images, tags, given, fidelity):
    trust = fidelity * np.exp(given)
    size = (trust * given**2).sum(axis=1)
    scale = (trust * given * values).sum(axis=1) / np.where(size > 0, size, 1)
    spread = values @ tags @ values.T @ values @ tags
    likeness = images @ values @ tags
    inertia, target = trust * values, trust * scale[:, None] * given
    root = np.sqrt(inertia**2 + 8 * spread * (2 * likeness + target))
    return values * np.sqrt((root - inertia) / (4 * spread))


def random_problem(rng, *, n_images=9, n_tags=6, fidelity=1.0):
    """Return a problem on a full support, and the same as dense arrays."""
    images = np.exp(-rng.random((n_images, n_images)) * 3) * (rng.random((n_images,) * 2) < 0.5)
    images = np.maximum(images, images.T)
    np.fill_diagonal(images, 1.0)
    tags = rng.random((n_tags, n_tags)) * (rng.random((n_tags, n_tags)) < 0.4)
    tags = np.maximum(tags, tags.T)
    np.fill_diagonal(tags, 1.0)
    given = (rng.random((n_images, n_tags)) < 0.4).astype(float)
    given[0] = 0
    values = given + 0.1 * rng.random((n_images, n_tags)) + 1e-3
    problem = Consistency(sparse.csr_array(images), sparse.csr_array(tags), given.ravel(), fidelity)
    return sparse.csr_array(values), problem, (images, tags, given, fidelity)


@pytest.mark.parametrize("fidelity", [0.0, 0.1, 10.0])
def test_one_update_and_the_objective_are_those_of_the_definition(fidelity, rng, engine):
    values, problem, dense = random_problem(rng, fidelity=fidelity)

    step = pull(values, problem, engine=engine)

    assert objective(values, step, problem) == pytest.approx(
        literal_objective(values.toarray(), *dense), rel=1e-12
    )
    np.testing.assert_allclose(
        updated(values, step, problem.given, fidelity).reshape(values.shape),
        literal_update(values.toarray(), *dense),
        rtol=1e-12,
    )


@pytest.mark.parametrize("seed", range(20))
def test_the_objective_never_increases(seed, engine):
    rng = np.random.default_rng(seed)
    values, problem, _ = random_problem(rng, fidelity=10.0 ** rng.uniform(-3, 2))

    _, objectives = minimised(values, problem, 60, 0.0, engine=engine)

    assert np.all(np.diff(objectives) <= 1e-12 * objectives[:-1])
    assert objectives[-1] < 0.9 * objectives[0]


def test_the_end_is_stationary_where_tags_are_free(rng, engine):
    values, problem, dense = random_problem(rng)
    values, _ = minimised(values, problem, 1500, 0.0, engine=engine)
    at = values.toarray()
    free = np.flatnonzero(at.ravel() > 0.1)

    for cell in free:
        moved = [at.copy(), at.copy()]
        for sign, one in zip((-1, 1), moved, strict=True):
            one.ravel()[cell] += sign * 1e-5
        low, high = (literal_objective(one, *dense) for one in moved)
        assert abs(high - low) / 2e-5 < 1e-2


@pytest.mark.parametrize("start", ["votes", "even"])
def test_the_objective_as_built_never_increases(start, collection, engine, rng):
    model = TRVSC(start=start, max_iterations=30, tolerance=0).fit(
        collection, engine=engine, rng=rng
    )

    assert len(model.objectives) == 31
    assert np.all(np.diff(model.objectives) <= 1e-12 * model.objectives[:-1])


def test_the_updates_end_where_the_objective_hardly_changes(collection, engine, rng):
    model = TRVSC(max_iterations=200, tolerance=0.05).fit(collection, engine=engine, rng=rng)

    last = model.objectives
    assert len(last) < 100
    assert last[-2] - last[-1] <= 0.05 * last[-1]
    assert np.all(last[:-2] - last[1:-1] > 0.05 * last[1:-1])


def test_tags_outside_the_support_have_no_score(collection, engine, rng):
    model = TRVSC(candidates=3).fit(collection, engine=engine, rng=rng)
    rows = collection.rows(slice(0, 50))

    scored = np.count_nonzero(model.scores(rows), axis=1)

    assert np.all(scored <= 3 + np.diff(rows.tags.indptr))
    assert np.all(scored >= 3)
    assert not model.scores(rows)[:, NEVER_USED].any()


def test_a_start_has_the_tags_given_and_the_likeliest_others():
    tags = sparse.csr_array(np.array([[0.0, 1, 0, 0], [0, 0, 0, 0]]))
    shares = sparse.csr_array(np.array([[0.5, 0.2, 0, 0.4], [0, 0.1, 0.1, 0.1]]))

    by_votes, given = Start(2, True, 0.5).values(tags, shares)
    even, _ = Start(2, False, 0.01).values(tags, shares)

    np.testing.assert_allclose(by_votes.toarray(), [[0.25, 1, 0, 0.2], [0, 0.05, 0.05, 0]])
    np.testing.assert_allclose(even.toarray(), [[0.01, 1, 0, 0.01], [0, 0.01, 0.01, 0]])
    assert given.tolist() == [0, 1, 0, 0, 0]


def test_an_image_without_tags_gets_those_of_its_likes(collection, engine, rng):
    model = TRVSC().fit(collection, engine=engine, rng=rng)

    scores = model.scores(collection.rows(slice(UNTAGGED, UNTAGGED + 1)))

    assert scores.max() > 0.01


def test_twins_of_two_visual_classes_share_their_tags(engine, rng):
    features = np.repeat([[1.0, 0], [0, 1]], 10, axis=0) + 0.01 * rng.standard_normal((20, 2))
    tags = np.zeros((20, 3))
    tags[:10, 0] = tags[10:, 1] = 1
    tags[3] = 0
    pair = collection_from_arrays(
        sparse.csr_array(tags), np.arange(20), features=features.astype(np.float32)
    )

    scores = TRVSC(neighbours=5).fit(pair, engine=engine, rng=rng).scores(pair.rows(slice(3, 4)))

    assert scores[0, 0] > 0.1
    assert scores[0, 1] == scores[0, 2] == 0


def test_an_image_seen_again_as_new_gets_about_the_tags_it_had(engine, rng):
    collection = planted_collection(8)
    model = TRVSC().fit(collection, engine=engine, rng=rng)
    rows = collection.rows(slice(5, 205))

    old, new = model.scores(rows), model.scores(as_new(rows, collection))

    alike = [np.corrcoef(a, b)[0, 1] for a, b in zip(old, new, strict=True)]
    assert np.median(alike) > 0.9


def test_folding_in_lowers_the_objective_of_the_image_alone(rng, engine):
    values, problem, (images, tags, given, _) = random_problem(rng, n_images=10, n_tags=6)
    others = values[1:].toarray()
    told, links = given[0].copy(), images[0, 1:]
    told[2] = 1.0

    def cost(row):
        own = np.exp(told) * (row - (row @ (np.exp(told) * told)) / np.e * told) ** 2
        among = 2 * np.sum((links - others @ tags @ row) ** 2)
        return among + (1 - row @ tags @ row) ** 2 + problem.fidelity * own.sum()

    costs = [cost(_folded(told, links, others, tags, updates)) for updates in range(1, 15)]

    assert np.all(np.diff(costs) <= 1e-12)


def _folded(told, links, others, tags, updates):
    """Fold one image into a model made by hand."""
    model = TRVSC(new_image_updates=updates, neighbours=2).fit(
        planted_collection(), engine=LocalEngine(), rng=np.random.default_rng(0)
    )
    small = replace(
        model,
        values=sparse.csr_array(others),
        tag_similarity=sparse.csr_array(tags),
        gram=tags @ others.T @ others @ tags,
    )
    return small.fold_in(sparse.csr_array(told[None]), sparse.csr_array(links[None])).toarray()[0]


def test_strangers_only_leaves_out_the_owners_own_images(engine, rng):
    features = np.array([[1.0, 0.0], [1, 0.1], [1, 0.5], [1, 0.6], [1, 0.7]], np.float32)
    tags = np.eye(5, 3)
    tags[2:, 1:] = [[0, 1], [0, 1], [0, 1]]
    owned = collection_from_arrays(
        sparse.csr_array(tags), np.array([0, 0, 1, 2, 3]), features=features
    )
    model = TRVSC(neighbours=2).fit(owned, engine=engine, rng=rng)
    rows = owned.rows(slice(0, 1))

    anyone, strangers = model.scores(rows), model.scores(rows, strangers_only=True)

    assert anyone[0, 1] > 0
    assert strangers[0, 1] < 1e-6
    assert strangers[0, 2] > 0


def test_images_described_otherwise_are_refused(collection, engine, rng):
    model = TRVSC().fit(collection, engine=engine, rng=rng)
    rows = as_new(collection.rows(slice(0, 2)), collection)

    with pytest.raises(CollectionError, match="have no feature numbers"):
        model.scores(replace(rows, features=None))


@pytest.mark.parametrize(
    "wrong",
    [
        {"neighbours": 0},
        {"candidates": 0},
        {"fidelity": -1},
        {"start_value": 0.0},
        {"max_iterations": 0},
        {"tolerance": -1e-3},
    ],
)
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(SettingsError, match=next(iter(wrong))):
        TRVSC(**wrong)
