"""What is needed is counted by hand in small cases, and rates are those of this machine."""

import pytest

from performance.flops import fit_flops, scoring_flops
from performance.rates import gemm_rate, read_rate
from performance.work import asked_blocks
from sugartag.collection.synthetic import World
from sugartag.methods.registry import make_method

SIZES = World(n_images=400, n_tags=150, n_owners=40, n_features=16)


@pytest.fixture(scope="module")
def planted():
    return SIZES.generate(0)


@pytest.mark.parametrize(
    ("whitening", "projection"), [(0.0, 0), (0.5, 2 * 2 * 16 * 16)], ids=["features", "whitened"]
)
def test_an_exact_vote_needs_every_pair_of_images(planted, engine, rng, whitening, projection):
    settings = {"search": "exact", "neighbours": 5, "whitening": whitening}
    method = make_method("tag-vote", settings)

    flops = scoring_flops(method, method.fit(planted, engine=engine, rng=rng), planted)

    given = sum(shard.tags.nnz for shard in planted.shards) / 400
    assert flops == pytest.approx(2 * 16 * 400 + projection + 5 * given)


def test_nobody_counts_the_walk_of_an_index(planted, engine, rng):
    pytest.importorskip("usearch")
    method = make_method("tag-vote", {"search": "usearch"})

    assert scoring_flops(method, method.fit(planted, engine=engine, rng=rng), planted) is None


def test_the_floor_of_sugar_plus_is_counted_by_hand(planted):
    given = sum(shard.tags.nnz for shard in planted.shards)

    found = fit_flops(make_method("sugar-plus", {"components": 10, "max_predictors": 100}), planted)

    # 400 images, 16 features, 150 tags; 10 components and 100 tags predict, and the intercept.
    assert found == {
        "moments of the features": 400 * 16**2,
        "components": 4 * 400 * 16 * 10,
        "Gram matrix": 400 * 10**2,
        "inverse": 2 * 111**3,
        "weights": 2 * 111**2 * 150,
        "scores": pytest.approx(2 * 400 * (2 * 10 + 3) * 150 + 2 * given * 150),
    }


def test_there_are_no_more_predictors_than_features_and_tags(planted):
    usual = fit_flops(make_method("sugar-plus"), planted)

    assert usual["components"] == 4 * 400 * 16 * 16
    assert usual["weights"] == 2 * (150 + 16 + 1) ** 2 * 150


def test_scoring_an_image_needs_its_components_and_its_part_of_the_scores(planted, engine, rng):
    method = make_method("sugar-plus", {"components": 10})
    given = sum(shard.tags.nnz for shard in planted.shards) / 400

    flops = scoring_flops(method, method.fit(planted, engine=engine, rng=rng), planted)

    assert flops == pytest.approx(2 * 16 * 10 + 2 * (2 * 10 + 3 + given) * 150)


def test_only_sugar_plus_has_a_floor(planted):
    assert fit_flops(make_method("tag-prior"), planted) is None


def test_the_rate_of_products_is_at_least_its_median():
    found = gemm_rate(64, 32, 48, seconds=0.01)

    assert found["flops_per_second"] >= found["median_flops_per_second"] > 1e6
    assert found["products"] >= 1


def test_every_byte_of_every_file_is_read(tmp_path):
    sizes = (3, 1 << 20)
    for number, size in enumerate(sizes):
        (tmp_path / str(number)).write_bytes(bytes(size))

    found = read_rate(sorted(tmp_path.iterdir()))

    assert found["bytes"] == sum(sizes)
    assert found["bytes_per_second"] > 0


@pytest.mark.parametrize(("share", "images"), [(1.0, 400), (0.5, 200), (0.1, 40)])
def test_a_share_of_the_images_is_spread_over_the_collection(planted, share, images):
    blocks = asked_blocks(planted, share)

    assert sum(block.stop - block.start for block in blocks) == images
    assert all(block.stop <= 400 for block in blocks)
