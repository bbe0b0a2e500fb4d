"""What is needed is counted by hand in small cases, and rates are those of this machine."""

import numpy as np
import pytest

from sugartag.bench.flops import fit_flops, scoring_flops
from sugartag.bench.rates import gemm_rate, read_rate
from sugartag.bench.work import asked_blocks
from sugartag.collection.synthetic import World
from sugartag.methods.registry import make_method

SIZES = World(n_images=400, n_tags=150, n_owners=40, n_features=16)


@pytest.fixture(scope="module")
def planted():
    return SIZES.generate(0)


def test_an_exact_vote_needs_every_pair_of_images(planted, engine, rng):
    method = make_method("tag-vote", {"search": "exact", "neighbours": 5})

    flops = scoring_flops(method.fit(planted, engine=engine, rng=rng), planted)

    given = sum(shard.tags.nnz for shard in planted.shards) / 400
    assert flops == pytest.approx(2 * 16 * 400 + 5 * given)


def test_nobody_counts_the_walk_of_an_index(planted, engine, rng):
    pytest.importorskip("usearch")
    fitted = make_method("tag-vote", {"search": "usearch"}).fit(planted, engine=engine, rng=rng)

    assert scoring_flops(fitted, planted) is None


def test_more_anchors_need_more_of_everything(planted, engine):
    def needed(anchors: int) -> dict[str, float]:
        method = make_method("sugar-plus", {"anchors": anchors, "tastes": 0})
        fitted = method.fit(planted, engine=engine, rng=np.random.default_rng(0))
        found = fit_flops(method, fitted, planted)
        assert found is not None
        return found

    few, many = needed(10), needed(20)

    # Fitted and scored, each with the likeness of all images to all anchors.
    assert many["likeness"] == 2 * 2 * 400 * 16 * 20 == 2 * few["likeness"]
    # With as few features as these, a short description has as many numbers.
    assert many["short descriptions"] == 2 * 2 * 400 * 16 * 16 == few["short descriptions"]
    assert many["gram"] > few["gram"] > 2 * 400 * 10 * 10
    assert many["scoring"] > few["scoring"] > 2 * 400 * 10 * 150
    assert many["solving"] > few["solving"] > 0


def test_only_sugar_plus_has_a_floor(planted, engine, rng):
    method = make_method("tag-prior")

    assert fit_flops(method, method.fit(planted, engine=engine, rng=rng), planted) is None


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
