"""SUGAR-TC from end to end: against the paper's formulas on whole arrays, and on planted truth."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy import sparse

import reference
from planted import OF_NOBODY, accuracy, as_new, planted_collection, resharded
from sugartag.collection.build import collection_from_arrays
from sugartag.collection.model import Collection
from sugartag.engine import LocalEngine
from sugartag.errors import CollectionError, SettingsError
from sugartag.methods.settings import with_settings
from sugartag.methods.sugar_tc import SugarTC
from sugartag.methods.sugar_tc.fitted import FittedSugarTC
from sugartag.methods.sugar_tc.stages import build_graph, build_problem
from sugartag.methods.tag_prior import TagPrior

WORDS = ["dog", "cat", "animal", "beach", "sea", "sand", "2009", "nikon"]
TINY = SugarTC(
    image_clusters=3,
    user_clusters=2,
    units_per_cluster=2,
    links_per_image=4,
    links_per_user=3,
    links_per_tag=3,
    neighbours=3,
    image_smoothness=0.3,
    user_smoothness=0.2,
    prior_weight=0.05,
    ridge=0.02,
    solver="exact",
    scoring="reconstruction",
)
SMALL = SugarTC(
    image_clusters=12, user_clusters=4, units_per_cluster=5, neighbours=5, solver="exact"
)
BARE = replace(SMALL, scoring="reconstruction")
VARIANTS = {
    "as set": TINY,
    "strict": replace(TINY, strict=True),
    "image reading": replace(TINY, anchor_reading="image"),
    "product reading": replace(TINY, anchor_reading="product", max_units=9),
    "raw features": replace(TINY, unit_features=False),
    "own bandwidth": replace(TINY, bandwidth=0.4, links_per_image=100),
}
SOLVERS = ["exact", "multiplicative", "nonnegative"]


def tiny_collection() -> Collection:
    """Return 40 images of 12 owners: some in no group, one image of nobody, one without tags."""
    rng = np.random.default_rng(11)
    kind = rng.integers(0, 3, 40)
    owner = rng.integers(0, 12, 40)
    owner[5] = 12
    tags = rng.random((40, 8)) < np.array([0.7, 0.2, 0.1])[(np.arange(8) % 3 - kind[:, None]) % 3]
    tags[5, :2] = True
    tags[6] = False
    groups = rng.random((12, 4)) < 0.5
    groups[3:5] = False
    return collection_from_arrays(
        sparse.csr_array(tags),
        owner,
        features=np.eye(3, 5)[kind] + 0.4 * rng.normal(size=(40, 5)),
        groups=sparse.csr_array(groups),
        tag_names=WORDS,
    )


def unit_rows(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def literal_links(rows: np.ndarray, anchors: np.ndarray, sigma: float, count: int) -> np.ndarray:
    """Eq. 1 with its cut, and of each row the ``count`` nearest anchors."""
    kernel = reference.rbf(rows, anchors, sigma)
    for row in kernel:
        row[np.argsort(-row, kind="stable")[count:]] = 0.0
    return kernel


class Literal:
    """The problem of some settings on the tiny collection, every array whole."""

    def __init__(self, settings: SugarTC) -> None:
        collection, engine = tiny_collection(), LocalEngine()
        rng = np.random.default_rng(4)
        graph = build_graph(settings, collection, engine=engine, rng=rng)
        self.problem, _ = build_problem(settings, collection, graph, engine=engine)
        self.fitted = settings.fit(collection, engine=engine, rng=np.random.default_rng(4))
        units, owner = graph.units, collection.owner
        tags = collection.tags_of(slice(0, 40)).toarray().astype(float)
        features = collection.features_at(np.arange(40)).astype(float)
        features = unit_rows(features) if settings.unit_features else features

        image = np.setdiff1d(np.arange(40), units.image)
        user = np.arange(12)
        if settings.strict:
            image = image[~np.isin(owner[image], units.user)]
            user = np.setdiff1d(user, units.user)
        self.observed = reference.observed_tensor(tags[image], owner[image], 12)[:, :, user]
        self.prior = np.zeros((8, len(units.image), len(units.user)))
        for j, k in enumerate(units.user_of_image):
            if k < len(units.user):
                self.prior[:, j, k] = tags[units.image[j]]
        self.affinity = graph.tag_affinity.toarray()
        self.image_links = literal_links(
            features[image], features[units.image], graph.linker.bandwidth, settings.links_per_image
        )
        self.user_links = graph.user_links.toarray()[user]
        self.penalties = (
            settings.prior_weight,
            settings.ridge,
            settings.image_smoothness,
            settings.user_smoothness,
        )

    def objective(self, tensor: np.ndarray) -> float:
        return reference.objective(
            tensor,
            self.observed,
            self.prior,
            self.affinity,
            self.image_links,
            self.user_links,
            self.penalties,
        )


@pytest.fixture(params=VARIANTS)
def settings(request) -> SugarTC:
    return VARIANTS[request.param]


@cache
def literal_of(settings: SugarTC) -> Literal:
    return Literal(settings)


def fitted_to(
    collection: Collection, settings: SugarTC, engine: LocalEngine | None = None
) -> FittedSugarTC:
    return settings.fit(collection, engine=engine or LocalEngine(), rng=np.random.default_rng(3))


@cache
def fitted_to_planted(settings: SugarTC) -> FittedSugarTC:
    return fitted_to(planted_collection(), settings)


def all_scores(model, collection: Collection) -> np.ndarray:
    return model.scores(collection.rows(slice(0, collection.n_images)))


def test_what_is_projected_is_the_printed_tensor(settings):
    literal = literal_of(settings)

    found = literal.problem.target - settings.prior_weight * literal.prior

    expected = reference.projected(
        literal.observed, literal.affinity, literal.image_links, literal.user_links
    )
    assert np.count_nonzero(expected) > 100
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * expected.max())


def test_the_objective_of_the_fitted_tensor_is_the_printed_one(settings):
    literal = literal_of(settings)

    expected = literal.objective(literal.fitted.tensor)

    assert literal.fitted.objective == pytest.approx(expected, rel=1e-10)


def test_the_objective_of_any_tensor_is_the_printed_one(settings, rng):
    literal = literal_of(settings)
    tensor = rng.normal(size=literal.problem.shape)

    assert literal.problem.objective(tensor) == pytest.approx(literal.objective(tensor), rel=1e-10)


def test_no_tensor_near_the_exact_one_is_better(settings, rng):
    literal = literal_of(settings)
    tensor = literal.fitted.tensor
    best = literal.objective(tensor)

    for size in (1e-1, 1e-2, 1e-3):
        nearby = tensor + size * rng.normal(size=tensor.shape)
        assert literal.objective(nearby) > best


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_reports_the_printed_objective(solver):
    literal = literal_of(replace(TINY, solver=solver))

    expected = literal.objective(literal.fitted.tensor)

    assert literal.fitted.objective == pytest.approx(expected, rel=1e-10)


def test_exact_has_the_lowest_objective_and_the_others_agree():
    exact, updates, certified = (
        fitted_to_planted(replace(SMALL, solver=solver, tolerance=1e-7)) for solver in SOLVERS
    )

    assert exact.objective < updates.objective
    assert exact.objective < certified.objective
    assert updates.objective == pytest.approx(certified.objective, rel=1e-2)
    assert 0 <= certified.gap <= SMALL.gap_tolerance


def test_a_truncated_fit_states_a_gap_that_covers_what_it_is_above_the_lowest(caplog):
    exact = literal_of(replace(TINY, solver="exact"))
    caplog.set_level("INFO")

    few = literal_of(replace(TINY, solver="exact", tag_components=1))

    lowest = exact.objective(exact.fitted.tensor)
    found = few.objective(few.fitted.tensor)
    assert lowest < found <= lowest * (1 + few.fitted.gap)
    assert found <= few.fitted.objective
    assert "above the lowest" in caplog.text or "without a bound" in caplog.text


def test_solvers_that_keep_tensors_positive_do(rng):
    for solver in ("multiplicative", "nonnegative"):
        model = fitted_to_planted(replace(BARE, solver=solver))

        assert model.tensor.min() >= 0
    assert fitted_to_planted(BARE).tensor.min() < 0


def test_without_other_images_what_the_anchors_have_is_kept():
    everything = replace(TINY, units_per_cluster=100, user_smoothness=0.0)
    owned = replace(tiny_collection().shards[0], owner=np.arange(40, dtype=np.int32) % 12)
    model = fitted_to(replace(tiny_collection(), shards=(owned,)), everything)

    tags = owned.tags.toarray()
    share = TINY.prior_weight / (TINY.prior_weight + TINY.ridge)
    np.testing.assert_array_equal(model.anchor_image, np.arange(40))
    np.testing.assert_allclose(model.assignment.by_image, share * tags, atol=1e-8)


def test_single_precision_gives_the_same_answer_to_its_own_accuracy():
    single = fitted_to_planted(replace(BARE, precision="float32"))

    assert single.tensor.dtype == np.float32
    assert single.objective == pytest.approx(fitted_to_planted(BARE).objective, rel=1e-4)


def test_the_tensor_is_kept_only_where_it_is_needed():
    assert fitted_to_planted(SMALL).tensor is None
    assert fitted_to_planted(BARE).tensor is not None


def test_what_is_assigned_is_the_tensor_summed_over_users_and_over_images():
    model = fitted_to_planted(BARE)

    np.testing.assert_allclose(model.assignment.by_image, model.tensor.sum(axis=2).T, atol=1e-12)
    np.testing.assert_allclose(model.assignment.by_user, model.tensor.sum(axis=1).T, atol=1e-12)


def test_an_exact_fit_that_keeps_no_tensor_assigns_as_one_that_keeps_it(collection):
    kept, summed = fitted_to_planted(BARE), fitted_to_planted(SMALL)

    scale = abs(kept.assignment.by_image).max()
    for ours, theirs in (
        (summed.assignment.by_image, kept.assignment.by_image),
        (summed.assignment.by_user, kept.assignment.by_user),
    ):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-10 * scale)
    assert summed.objective == pytest.approx(kept.objective, rel=1e-12)


@pytest.mark.parametrize("settings", [SMALL, BARE], ids=["assignment", "reconstruction"])
def test_single_precision_scores_as_double_precision_to_one_in_ten_thousand(settings, collection):
    double = all_scores(fitted_to_planted(settings), collection)

    single = all_scores(fitted_to_planted(replace(settings, precision="float32")), collection)

    np.testing.assert_allclose(single, double, rtol=0, atol=1e-4 * abs(double).max())


def test_strict_links_an_owner_without_groups_to_nobody(collection):
    groups = collection.groups.toarray()
    groups[::2] = 0
    alone = replace(collection, groups=sparse.csr_array(groups))

    strict, lenient = (fitted_to(alone, replace(SMALL, strict=strict)) for strict in (True, False))

    groupless = np.setdiff1d(np.arange(0, 90, 2), strict.anchor_user)
    assert len(groupless) > 5
    assert strict.user_links[groupless].nnz == 0
    assert lenient.user_links[groupless].nnz > len(groupless)
    assert np.isfinite(all_scores(strict, collection)).all()


@pytest.mark.parametrize("reading", ["image", "product", "cocluster"])
@pytest.mark.parametrize("scoring", ["assignment", "reconstruction"])
def test_other_readings_of_the_anchors_find_true_tags_too(reading, scoring, collection):
    model = fitted_to(
        collection, replace(SMALL, anchor_reading=reading, max_units=60, scoring=scoring)
    )

    scores = all_scores(model, collection)[:, :40]

    truth = collection.truth_of(slice(0, 600)).toarray() > 0
    assert scores[truth].mean() > 3 * scores[~truth].mean()


def test_an_anchor_image_gets_its_own_column_unless_it_is_new(collection):
    model = fitted_to_planted(SMALL)
    place = 7
    image = int(model.anchor_image[place])
    rows = collection.rows(slice(image, image + 1))

    seen, unseen = model.scores(rows), model.scores(as_new(rows, collection))

    np.testing.assert_allclose(seen[0], model.assignment.by_image[place], rtol=1e-6)
    assert not np.allclose(seen, unseen)


def test_an_image_that_is_no_anchor_scores_the_same_seen_or_new(collection):
    model = fitted_to_planted(SMALL)
    others = np.setdiff1d(np.arange(600), model.anchor_image)

    seen = all_scores(model, collection)
    new = model.scores(as_new(collection.rows(slice(0, 600)), collection))

    np.testing.assert_allclose(new[others], seen[others], rtol=1e-6, atol=1e-7)


def test_a_new_image_scores_as_printed(collection):
    model = fitted_to_planted(SMALL)
    rows = as_new(collection.rows(slice(10, 30)), collection)

    found = model.scores(rows)

    anchors = unit_rows(collection.features_at(model.anchor_image).astype(float))
    links = literal_links(
        unit_rows(rows.features.astype(float)), anchors, model.linker.bandwidth, 20
    )
    for row, owner in enumerate(rows.owner):
        expected = reference.assigned(
            links[row],
            model.user_links.toarray()[owner],
            model.assignment.by_image.T,
            model.assignment.by_user.T,
            model.assignment.user_of_image,
            SMALL.neighbours,
            SMALL.image_share,
        )
        np.testing.assert_allclose(found[row], expected, rtol=1e-5, atol=1e-6)


def test_a_new_image_of_nobody_is_scored_by_what_it_looks_like(collection):
    model = fitted_to_planted(SMALL)
    rows = collection.rows(slice(10, 30))
    unknown = as_new(rows, collection, owner=collection.nobody)

    found = model.scores(unknown)

    no_users = np.zeros_like(model.assignment.by_user)
    looks = replace(model, assignment=replace(model.assignment, by_user=no_users))
    np.testing.assert_allclose(found, looks.scores(as_new(rows, collection)), rtol=1e-6)
    assert not np.allclose(found, model.scores(as_new(rows, collection)))


def spoiled(model: FittedSugarTC, owner: int) -> FittedSugarTC:
    """Return the model with nonsense in all that the anchors of one owner say."""
    user = int(np.flatnonzero(model.anchor_user == owner)[0])
    image = np.flatnonzero(model.assignment.user_of_image == user)
    by_image, by_user = model.assignment.by_image.copy(), model.assignment.by_user.copy()
    by_image[image] = 1e6
    by_user[user] = 1e6
    tensor = model.tensor
    if tensor is not None:
        tensor = tensor.copy()
        tensor[:, image] = 1e6
        tensor[:, :, user] = 1e6
    assignment = replace(model.assignment, by_image=by_image, by_user=by_user)
    return replace(model, assignment=assignment, tensor=tensor)


@pytest.mark.parametrize(
    "settings",
    [
        SMALL,
        replace(SMALL, user_neighbours="user"),
        replace(SMALL, user_neighbours="all"),
        BARE,
    ],
    ids=["unit", "user", "all", "reconstruction"],
)
def test_strangers_only_ignores_the_anchors_of_the_same_owner(settings, collection):
    model = fitted_to_planted(settings)
    owner = int(np.bincount(collection.owner[model.anchor_image]).argmax())
    whole = collection.rows(slice(0, 600))
    mine = np.flatnonzero(whole.owner == owner)
    rows = replace(
        whole,
        owner=whole.owner[mine],
        features=whole.features[mine],
        tags=whole.tags[mine],
        position=whole.position[mine],
    )

    strangers = model.scores(rows, strangers_only=True)

    np.testing.assert_array_equal(
        spoiled(model, owner).scores(rows, strangers_only=True), strangers
    )
    assert spoiled(model, owner).scores(rows).max() > 1e3
    assert np.abs(strangers).max() > 0


def test_reconstruction_beats_the_tag_prior_on_planted_truth(collection):
    prior = TagPrior().fit(collection, engine=LocalEngine(), rng=np.random.default_rng(0))

    found = accuracy(all_scores(fitted_to_planted(BARE), collection), collection)

    assert np.all(
        np.array(found) > 0.1 + np.array(accuracy(all_scores(prior, collection), collection))
    )


@pytest.mark.parametrize("settings", [SMALL, BARE], ids=["assignment", "reconstruction"])
@pytest.mark.parametrize(
    "engine",
    [LocalEngine(workers=2), LocalEngine(blas_threads=1), LocalEngine(blas_threads=2)],
    ids=["two-workers", "one-thread", "two-threads"],
)
def test_numbers_do_not_depend_on_workers_or_threads(engine, settings, collection):
    expected = fitted_to_planted(settings)

    found = fitted_to(collection, settings, engine)

    assert found.objective == pytest.approx(expected.objective, rel=1e-9)
    np.testing.assert_allclose(
        all_scores(found, collection), all_scores(expected, collection), rtol=0, atol=1e-6
    )


@pytest.mark.parametrize("settings", [SMALL, BARE], ids=["assignment", "reconstruction"])
def test_numbers_do_not_depend_on_shards_or_blocks(settings, collection, monkeypatch):
    expected = fitted_to_planted(settings)
    cut, whole = resharded(collection, 1, 250, 251), Collection.blocks

    monkeypatch.setattr(Collection, "blocks", lambda self: whole(self, 77))
    found = fitted_to(cut, settings, LocalEngine(workers=2))

    np.testing.assert_array_equal(found.anchor_image, expected.anchor_image)
    assert found.objective == pytest.approx(expected.objective, rel=1e-9)
    np.testing.assert_allclose(
        all_scores(found, cut), all_scores(expected, collection), rtol=0, atol=1e-6
    )


def test_an_image_of_nobody_is_no_anchor_and_is_scored(collection):
    model = fitted_to_planted(SMALL)

    assert OF_NOBODY not in model.anchor_image
    assert all_scores(model, collection)[OF_NOBODY].max() > model.floor


def test_images_described_by_another_model_are_refused(collection):
    rows = collection.rows(slice(0, 3))

    with pytest.raises(CollectionError, match="have 7 feature numbers each, the model's have 48"):
        fitted_to_planted(SMALL).scores(replace(rows, features=np.ones((3, 7), np.float32)))
    with pytest.raises(CollectionError, match="have no feature numbers"):
        fitted_to_planted(SMALL).scores(replace(rows, features=None))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("image_clusters", "0"),
        ("user_clusters", "0"),
        ("units_per_cluster", "-1"),
        ("max_units", "0"),
        ("links_per_image", "0"),
        ("links_per_user", "0"),
        ("links_per_tag", "0"),
        ("neighbours", "0"),
        ("max_iterations", "0"),
        ("tag_components", "0"),
        ("bandwidth", "0"),
        ("bandwidth", "nan"),
        ("link_cutoff", "-1e-4"),
        ("prior_weight", "-1"),
        ("prior_weight", "nan"),
        ("image_smoothness", "-0.1"),
        ("user_smoothness", "-0.1"),
        ("cooccurrence_weight", "-0.1"),
        ("taxonomy_weight", "-0.1"),
        ("image_share", "1.5"),
        ("image_share", "nan"),
        ("solver", "fast"),
        ("anchor_reading", "all"),
        ("user_neighbours", "none"),
        ("precision", "float16"),
    ],
)
def test_an_impossible_setting_is_named_in_one_line(key, value):
    with pytest.raises(SettingsError, match=f"^sugar-tc setting {key} ") as error:
        with_settings(SugarTC, {key: value})

    assert "\n" not in str(error.value)


def test_tag_components_are_refused_where_no_solver_has_them():
    with pytest.raises(SettingsError, match="tag_components is for solver=exact, not mult"):
        SugarTC(tag_components=5)


@pytest.mark.parametrize("values", [{"prior_weight": 0.0, "ridge": 0.0}, {"ridge": -0.001}])
def test_a_tensor_that_nothing_holds_is_refused(values):
    with pytest.raises(SettingsError, match="prior_weight \\+ ridge above 0"):
        SugarTC(**values)


def test_weights_of_the_affinity_above_one_are_refused(collection):
    with pytest.raises(SettingsError, match="sum is at most 1"):
        fitted_to(collection, replace(SMALL, cooccurrence_weight=0.9, taxonomy_weight=0.2))


def test_the_defaults_are_the_papers():
    paper = {
        "image_clusters": 40,
        "user_clusters": 12,
        "link_cutoff": 1e-4,
        "cooccurrence_weight": 0.9,
        "taxonomy_weight": 0.1,
        "prior_weight": 0.005,
        "ridge": 0.001,
        "image_smoothness": 0.1,
        "user_smoothness": 0.05,
        "image_share": 0.8,
        "tolerance": 1e-5,
        "solver": "multiplicative",
        "scoring": "assignment",
    }

    assert {name: getattr(SugarTC(), name) for name in paper} == paper


@pytest.mark.parametrize(
    ("n_images", "units"), [(247_849, 10), (52_000, 10), (51_999, 9), (20_000, 3), (600, 3)]
)
def test_large_collections_have_the_papers_units_and_small_ones_fewer(n_images, units):
    assert SugarTC().units_at_each_centre(n_images) == units
    assert SugarTC(units_per_cluster=7).units_at_each_centre(n_images) == 7
