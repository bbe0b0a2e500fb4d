"""Synthetic collections have the structure that their settings say, whatever the shards."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from sugartag.collection import open_collection
from sugartag.collection.synthetic import World, medium
from sugartag.collection.synthetic.draws import Pools, distinct, shuffled
from sugartag.errors import SettingsError, StorageError

SEED = 7
BIG = World(
    n_images=9_000,
    n_tags=300,
    n_owners=400,
    n_groups=60,
    n_topics=10,
    n_features=32,
    n_concepts=300,
)


@pytest.fixture(scope="module")
def big():
    """A world of more than two chunks whose whole truth is known."""
    return BIG.plan(SEED)


@pytest.fixture(scope="module")
def shard(big):
    return big.shard(0, BIG.n_images)


def neighbour_agreement(world, *, k=10, seed=SEED):
    """Return the share of an image's seen true tags that a neighbour has, and that anyone has."""
    shard = replace(world, n_concepts=world.n_tags - world.n_unseen).plan(seed).shard(0, 1_500)
    features = shard.features / np.linalg.norm(shard.features, axis=1, keepdims=True)
    likeness = features @ features.T
    np.fill_diagonal(likeness, -1)
    nearest = np.argpartition(-likeness, k, axis=1)[:, :k]
    truth = shard.truth.toarray().astype(np.float32)
    truth /= np.maximum(truth.sum(axis=1, keepdims=True), 1)
    shared = truth @ (truth > 0).T.astype(np.float32)
    return np.take_along_axis(shared, nearest, axis=1).mean(), shared.mean()


def assert_same_images(one, other):
    assert one.ids == other.ids
    np.testing.assert_array_equal(one.owner, other.owner)
    np.testing.assert_array_equal(one.features, other.features)
    for name in ("tags", "truth"):
        np.testing.assert_array_equal(getattr(one, name).indptr, getattr(other, name).indptr)
        np.testing.assert_array_equal(getattr(one, name).indices, getattr(other, name).indices)


@pytest.mark.parametrize(
    ("start", "stop"), [(0, 10), (4_000, 4_200), (4_096, 8_192), (8_900, 9_000)]
)
def test_an_image_is_the_same_whatever_the_shard_boundaries(big, shard, start, stop):
    part = big.shard(start, stop)

    assert part.ids == shard.ids[start:stop]
    np.testing.assert_array_equal(part.owner, shard.owner[start:stop])
    np.testing.assert_array_equal(part.features, shard.features[start:stop])
    assert (part.tags != shard.tags[start:stop]).nnz == 0
    assert (part.truth != shard.truth[start:stop]).nnz == 0


def test_a_range_without_images_is_empty(big):
    part = big.shard(5_000, 5_000)

    assert len(part) == len(part.ids) == 0
    assert part.tags.shape == (0, BIG.n_tags)


def test_the_same_seed_gives_the_same_collection_and_another_seed_another():
    once, again, other = (World().generate(seed, rows_per_shard=250) for seed in (1, 1, 2))

    for one, two in zip(once.shards, again.shards, strict=True):
        assert_same_images(one, two)
    assert (once.groups != again.groups).nnz == 0
    assert not np.array_equal(once.shards[0].features, other.shards[0].features)
    assert (once.shards[0].tags != other.shards[0].tags).nnz > 0


def test_the_number_of_threads_does_not_change_a_bit():
    plan = World(n_images=5_000, n_features=512).plan(SEED)

    made = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            made.append(plan.shard(0, 5_000).features)

    np.testing.assert_array_equal(made[0], made[1])


def test_noise_and_difficulty_leave_the_truth_alone():
    plain = World().plan(SEED).shard(0, 600)
    changed = World(random_noise=3.0, visual_difficulty=4.0, missing_share=0.1)

    assert (changed.plan(SEED).shard(0, 600).truth != plain.truth).nnz == 0


def test_the_written_collection_is_the_generated_one(tmp_path):
    generated = World().generate(SEED, rows_per_shard=256)

    World().write(tmp_path / "c", SEED, rows_per_shard=256)
    World().write(tmp_path / "half", SEED, half=True)
    opened = open_collection(tmp_path / "c")

    assert open_collection(tmp_path / "half").shards[0].features.dtype == np.float16
    assert opened.tag_names == generated.tag_names
    assert opened.concept_names == generated.concept_names
    assert list(opened.owner_names) == list(generated.owner_names)
    assert list(opened.group_names) == list(generated.group_names)
    assert (opened.groups != generated.groups).nnz == 0
    for one, two in zip(opened.shards, generated.shards, strict=True):
        assert_same_images(one, two)


def test_the_same_seed_writes_the_same_bytes(tmp_path):
    for name in ("one", "two"):
        World().write(tmp_path / name, SEED)

    files = sorted(p.relative_to(tmp_path / "one") for p in (tmp_path / "one").rglob("*.*"))
    assert len(files) > 10
    for file in files:
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_a_folder_is_replaced_only_when_asked(tmp_path):
    World().write(tmp_path / "c", 1)

    with pytest.raises(StorageError, match="exists already"):
        World().write(tmp_path / "c", 2)
    World().write(tmp_path / "c", 2, overwrite=True)

    expected = World().generate(2).shards[0].features
    np.testing.assert_array_equal(open_collection(tmp_path / "c").shards[0].features, expected)


def test_writing_holds_one_shard_in_memory_not_the_collection(tmp_path):
    world = World(n_images=40_000, n_features=256)
    whole = world.n_images * world.n_features * 4

    tracemalloc.start()
    world.write(tmp_path / "c", SEED, rows_per_shard=4_096)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 0.6 * whole


def test_true_tags_go_missing_as_often_as_set():
    world = replace(BIG, missing_share=0.3, habits_per_owner=0.0)
    shard = world.plan(SEED).shard(0, world.n_images)

    kept = shard.truth.multiply(shard.tags).sum() / shard.truth.nnz

    assert kept == pytest.approx(0.7, abs=0.01)


def test_images_have_as_many_true_and_random_wrong_tags_as_set():
    world = replace(BIG, tags_per_image=5.0, random_noise=1.2, habits_per_owner=0.0)
    shard = world.plan(SEED).shard(0, world.n_images)

    wrong = shard.tags.nnz - shard.truth.multiply(shard.tags).sum()

    assert shard.truth.nnz / len(shard) == pytest.approx(5.0, abs=0.1)
    assert wrong / len(shard) == pytest.approx(1.2, abs=0.05)


def test_owners_stamp_their_habits_whether_true_or_not():
    world = replace(BIG, random_noise=0.0, habit_rate=0.35, habits_per_owner=2.0)
    plan = world.plan(SEED)
    shard = plan.shard(0, world.n_images)

    untrue_habits = plan.people.habits[shard.owner] - plan.people.habits[shard.owner].multiply(
        shard.truth
    )
    wrong = shard.tags - shard.tags.multiply(shard.truth)

    assert (wrong.multiply(untrue_habits) != wrong).nnz == 0
    assert wrong.sum() / untrue_habits.sum() == pytest.approx(0.35, abs=0.02)


def test_a_quiet_world_gives_every_true_tag_and_no_other():
    world = replace(BIG, missing_share=0.0, random_noise=0.0, habits_per_owner=0.0)
    shard = world.plan(SEED).shard(0, 500)

    assert (shard.tags != shard.truth).nnz == 0


def test_tag_use_falls_with_rank_as_zipf_says():
    # few tags an image, because a tag cannot be on an image twice: that flattens the head
    world = replace(BIG, tags_per_image=2.0)
    use = np.bincount(world.plan(SEED).shard(0, 9_000).truth.indices, minlength=world.n_tags)

    rank = np.arange(20, 200)
    slope = np.polyfit(np.log(rank + 11.0), np.log(np.sort(use)[::-1][20:200]), 1)[0]

    assert slope == pytest.approx(-1.0, abs=0.2)


def test_every_owner_has_an_image_and_few_have_most():
    world = replace(BIG, n_owners=3_000)
    owner = world.plan(SEED).shard(0, world.n_images).owner
    counts = np.sort(np.bincount(owner, minlength=world.n_owners))[::-1]

    assert counts.min() == 1
    assert np.mean(counts <= 3) > 0.6
    assert counts[0] > 100
    assert counts[:300].sum() > 0.4 * world.n_images


def test_owners_of_one_group_share_interests_more_often_than_chance(big):
    people = big.people
    interested = np.zeros((BIG.n_owners, BIG.n_topics))
    for owner, count in enumerate(people.n_interests):
        interested[owner, people.interest[owner, :count]] = 1
    share_interest = interested @ interested.T > 0
    share_group = (people.groups @ people.groups.T).toarray() > 0
    pairs = np.triu_indices(BIG.n_owners, 1)

    together = share_interest[pairs][share_group[pairs]].mean()
    apart = share_interest[pairs][~share_group[pairs]].mean()

    assert together > 2 * apart


def test_owners_of_one_group_give_the_same_tags_more_often_than_chance(big, shard):
    of_owner = np.zeros((BIG.n_owners, BIG.n_tags))
    np.add.at(of_owner, shard.owner, shard.tags.toarray())
    profile = of_owner / np.linalg.norm(of_owner, axis=1, keepdims=True)
    share_group = (big.people.groups @ big.people.groups.T).toarray() > 0
    pairs = np.triu_indices(BIG.n_owners, 1)

    likeness = (profile @ profile.T)[pairs]

    assert likeness[share_group[pairs]].mean() > 1.4 * likeness[~share_group[pairs]].mean()


def test_neighbours_share_tags_far_above_chance_and_well_below_always():
    agreement, chance = neighbour_agreement(replace(medium(), n_features=64))

    assert agreement > 8 * chance
    assert 0.1 < agreement < 0.6


def test_neighbours_agree_less_the_harder_the_world_looks():
    easy, default, hard, hopeless = (
        neighbour_agreement(replace(medium(), n_features=64, visual_difficulty=difficulty))[0]
        for difficulty in (0.5, 1.5, 3.0, 30.0)
    )

    assert easy > 1.3 * default
    assert default > 1.3 * hard
    assert hard > 1.3 * hopeless


def test_features_look_like_those_of_a_network(shard):
    centred = shard.features - shard.features.mean(axis=0)
    variance = np.linalg.svd(centred, compute_uv=False) ** 2

    assert shard.features.dtype == np.float32
    assert shard.features.min() == 0
    assert 0.4 < np.mean(shard.features == 0) < 0.75
    assert variance[0] > 5 * np.median(variance)


def test_unseen_tags_are_no_concepts_by_themselves_and_leave_no_trace_in_features():
    plan = World().plan(SEED)
    unseen = np.flatnonzero(~plan.vocabulary.seen)

    assert len(unseen) == 40
    assert not np.isin(unseen, plan.vocabulary.concept).any()
    assert not plan.looks.direction[unseen].any()


def test_concepts_are_tags_and_the_truth_is_of_them_only():
    collection = World(n_concepts=12).generate(SEED)

    assert len(collection.concept_names) == 12
    assert set(collection.concept_names) <= set(collection.tag_names)
    assert collection.shards[0].truth.shape == (600, 12)


def test_the_truth_of_unseen_tags_comes_after_that_of_all_others():
    every = World(n_concepts=200)
    most = World(n_concepts=165)

    seen, concept = most.plan(SEED).vocabulary.seen, most.plan(SEED).vocabulary.concept
    assert np.isin(np.flatnonzero(seen), concept).all()
    assert every.generate(SEED).concept_names == every.generate(SEED).tag_names
    made, usual = every.generate(SEED), World().generate(SEED)
    np.testing.assert_array_equal(made.shards[0].features, usual.shards[0].features)
    columns = [made.concept_names.index(name) for name in usual.concept_names]
    np.testing.assert_array_equal(
        made.shards[0].truth.toarray()[:, columns], usual.shards[0].truth.toarray()
    )


def test_a_world_may_have_no_groups():
    collection = World(n_groups=0).generate(SEED)

    assert collection.n_groups == 0
    assert collection.groups.shape == (60, 0)


def test_the_medium_world_has_the_counts_it_promises():
    assert (medium().n_images, medium().n_tags, medium().n_owners) == (20_000, 2_000, 2_000)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_images": 0}, "n_images is 0; give a whole number of at least 1"),
        ({"n_tags": 20.5}, "n_tags is 20.5; give a whole number"),
        ({"missing_share": 1.2}, "missing_share is 1.2; give a number from 0 to 1"),
        ({"habit_rate": float("nan")}, "habit_rate is nan; give a number from 0 to 1"),
        ({"random_noise": -1.0}, "random_noise is -1.0; give a number of at least 0"),
        ({"tags_per_image": 0.5}, "tags_per_image is 0.5; give a number of at least 1"),
        ({"visual_difficulty": float("inf")}, "visual_difficulty is inf"),
        ({"n_owners": 601}, "n_owners is 601, more than the 600 images"),
        ({"n_topics": 100}, "too many for 160 tags that can be seen in 100 topics"),
        ({"random_noise": 99.0}, "random_noise is 99.0, too much for 200 tags"),
        ({"n_concepts": 201}, "n_concepts is 201; give 1 to 200"),
        ({"n_concepts": 0}, "n_concepts is 0; give a whole number of at least 1"),
    ],
)
def test_an_impossible_setting_is_named(settings, message):
    with pytest.raises(SettingsError, match=message):
        World(**settings)


def test_an_impossible_seed_range_or_shard_size_is_named(big):
    with pytest.raises(SettingsError, match="seed is -1"):
        World().plan(-1)
    with pytest.raises(SettingsError, match="rows 8999 to 9001 are not among the 9000 images"):
        big.shard(8_999, 9_001)
    with pytest.raises(SettingsError, match="rows_per_shard is 0"):
        World().generate(SEED, rows_per_shard=0)


@pytest.mark.parametrize("count", [1, 2, 5, 64, 1_000, 4_097])
def test_the_shuffle_puts_every_position_in_a_place_of_its_own(count):
    keys = np.random.default_rng(SEED).integers(0, 2**64, size=4, dtype=np.uint64)

    moved = shuffled(np.arange(count), count, keys)

    np.testing.assert_array_equal(np.sort(moved), np.arange(count))


def test_the_shuffle_keeps_no_trace_of_the_order():
    keys = np.random.default_rng(SEED).integers(0, 2**64, size=4, dtype=np.uint64)

    moved = shuffled(np.arange(50_000), 50_000, keys)

    assert abs(np.corrcoef(np.arange(50_000), moved)[0, 1]) < 0.02
    assert abs(np.corrcoef(moved[1:], moved[:-1])[0, 1]) < 0.02


def test_pools_are_drawn_from_by_weight():
    pools = Pools.of([np.array([0, 1]), np.array([2, 3])], np.array([1.0, 3.0, 4.0, 0.0]))

    drawn = pools.draw(np.repeat([0, 1], 4_000), np.random.default_rng(SEED))

    assert np.mean(drawn[:4_000] == 1) == pytest.approx(0.75, abs=0.03)
    assert set(drawn[:4_000]) == {0, 1}
    assert set(drawn[4_000:]) == {2}


def test_distinct_draws_never_repeat_nor_take_what_is_taken():
    rng = np.random.default_rng(SEED)
    taken = np.array([0, 11])

    keys = distinct(lambda row: rng.integers(0, 10, len(row)), np.array([4, 9]), 10, taken=taken)

    assert len(np.unique(keys)) == len(keys) == 13
    assert not np.isin(taken, keys).any()
    np.testing.assert_array_equal(np.bincount(keys // 10), [4, 9])


def test_a_row_that_cannot_be_filled_makes_do_with_fewer():
    keys = distinct(np.zeros_like, np.array([3, 1]), 10)

    np.testing.assert_array_equal(keys, [0, 10])
