import numpy as np
import pytest
from scipy import sparse

from methods.sugar_plus.literal import all_rows, ridge_of
from sugartag.methods.sugar_plus import learning as module
from sugartag.methods.sugar_plus.belief import Belief
from sugartag.methods.sugar_plus.learning import (
    ROWS_PER_BLOCK,
    GivenTags,
    Sample,
    best_threshold,
    judge_given_tags,
    judge_sample,
    learn_manners,
    sample_blocks,
    steps,
    tags_as_given,
)
from sugartag.methods.sugar_plus.remembered import find_look_alikes
from sugartag.methods.sugar_plus.slips import Slips
from sugartag.methods.sugar_plus.sums import add_up


def test_the_threshold_is_where_the_expected_f_is_highest():
    probability = np.array([[0.9, 0.1, 0.5], [0.8, 0.1, 0.02]])
    falling = np.sort(probability.ravel())[::-1]
    f = [2 * falling[:k].sum() / (k + falling.sum()) for k in range(1, len(falling) + 1)]

    assert best_threshold(probability) == falling[int(np.argmax(f))] == 0.5


@pytest.mark.parametrize("power", [0.3, 1.0, 8.0])
def test_the_threshold_is_the_one_that_sorting_finds(rng, power):
    probability = (rng.random((60, 50)) ** power).astype(np.float32)
    falling = np.sort(probability, axis=None)[::-1].astype(float)

    found = best_threshold(probability)

    half_f = falling.cumsum() / (np.arange(1, len(falling) + 1) + falling.sum())
    assert found == round(falling[half_f.argmax()], 4)


def test_where_nothing_is_probable_the_threshold_is_zero():
    assert best_threshold(np.zeros((2, 3), dtype=np.float32)) == 0.0


@pytest.mark.parametrize(
    ("n_rows", "n_tags"), [(0, 5), (1, 5), (1_024, 6), (1_024, 8), (1_000, 50), (777, 1 << 21)]
)
def test_steps_cover_every_row_once_and_are_equal(n_rows, n_tags, monkeypatch):
    monkeypatch.setattr(module, "CELLS_AT_ONCE", 5_000)

    found = steps(n_rows, n_tags)

    rows = np.concatenate([np.zeros(0, dtype=int), *found])
    np.testing.assert_array_equal(rows, np.arange(n_rows))
    assert all(len(step) <= max(16, 1.5 * 5_000 / n_tags) for step in found)
    assert not found or len(found[0]) - len(found[-1]) < max(16, len(found))


def test_small_collections_are_learned_from_in_full(odd):
    blocks = sample_blocks(odd)

    rows = np.concatenate([np.arange(block.start, block.stop) for block in blocks])
    np.testing.assert_array_equal(rows, np.arange(odd.n_images))


def test_large_collections_are_learned_from_all_over(odd, monkeypatch):
    monkeypatch.setattr(module, "ROWS_PER_BLOCK", 20)
    monkeypatch.setattr(module, "CELLS", 7 * 20 * odd.n_tags)

    blocks = sample_blocks(odd)

    assert len(blocks) == 7
    assert blocks[0].start == 0
    assert blocks[-1].stop == odd.n_images
    monkeypatch.setattr(module, "CELLS", 1)
    assert len(sample_blocks(odd)) == 1


def test_tags_as_given_are_all_tags(odd):
    found = tags_as_given(odd)

    assert found.dtype == np.float32
    np.testing.assert_array_equal(found.toarray(), all_rows(odd).tags.toarray())


def some_given_tags(rng):
    tags = sparse.csr_array((rng.random((30, 6)) < 0.4).astype(np.float32))
    values = rng.random((3, tags.nnz)).astype(np.float32)
    return GivenTags(tags, *values)


def test_given_tags_are_trusted_by_the_root_of_bayes_rule(rng):
    given = some_given_tags(rng)
    places = np.linspace(0.0, 0.95, 101).astype(np.float32)
    rate, wrong = rng.uniform(0.001, 0.1, (2, 6)).astype(np.float32) * [[1], [10]]
    belief = Belief(0.0, 0.01, places, 0.6, Slips(rate, wrong))

    found = given.trusted(belief)

    np.testing.assert_array_equal(found.nonzero(), given.tags.nonzero())
    for trust, tag, content, stamp in zip(
        found.data, found.indices, given.content, given.stamp, strict=True
    ):
        b = 0.95 * float(content)
        right, not_so = b * (1 - 0.4 * (1 - stamp)), (1 - b) * (1 - (1 - rate[tag]) * (1 - stamp))
        unexplained = not_so / (right + not_so)
        assert trust == pytest.approx(np.sqrt(1 - wrong[tag] * unexplained), rel=1e-3)


def test_honesty_is_told_for_the_blocks_asked_for(rng):
    given = some_given_tags(rng)
    blocks = (slice(0, 4), slice(20, 30))

    found = given.honest_in(blocks)

    rows = [*range(4), *range(20, 30)]
    whole = np.zeros(given.tags.shape)
    whole[given.tags.nonzero()] = given.honest
    np.testing.assert_allclose(found, whole[rows], atol=1e-7)


@pytest.fixture(scope="module")
def ridge(odd, evidence, trusted):
    return ridge_of(odd, evidence, trusted, np.full(evidence.n_sparse + evidence.n_dense, 5.0), 0.1)


def test_given_tags_are_judged_in_steps_as_at_once(odd, ridge, trusted, monkeypatch):
    everything = ridge.judge(all_rows(odd), trusted).excess
    monkeypatch.setattr(module, "CELLS_AT_ONCE", 20 * odd.n_tags)

    found = judge_given_tags(slice(100, 400), odd, ridge, trusted)

    tags = all_rows(odd).tags[100:400]
    np.testing.assert_allclose(found, everything[100:400][tags.nonzero()], atol=5e-6)


def test_manners_are_learned_from_every_given_tag(odd, evidence, ridge, trusted, engine):
    sums = add_up(odd, evidence, trusted, engine=engine)
    look_alikes = find_look_alikes(
        odd, evidence, sums, width=0.4, most=50, engine=engine, rng=np.random.default_rng(0)
    )
    parts = [judge_sample(block, odd, ridge, trusted, look_alikes) for block in sample_blocks(odd)]
    sample = Sample.joined(parts)

    manners, given = learn_manners(odd, ridge, trusted, sample, engine=engine)

    assert odd.n_images > ROWS_PER_BLOCK
    np.testing.assert_array_equal(sample.given, all_rows(odd).tags.toarray() > 0)
    at = given.tags.nonzero()
    np.testing.assert_allclose(given.content, sample.content[at], atol=5e-6)
    chance = manners.plain.chance(sample.content[at], manners.plain.slips.rate[at[1]])
    np.testing.assert_allclose(given.honest, chance / (chance + given.stamp), atol=1e-4)
    rows = all_rows(odd)
    seen = np.ones(len(rows), dtype=np.float32)
    stamps = manners.stamps(rows, rows.tags, sample.content[at], seen)
    np.testing.assert_allclose(stamps, given.stamp, atol=1e-4)
