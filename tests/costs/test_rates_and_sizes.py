"""What is measured of the machine, and what is read off a collection."""

import json
from dataclasses import replace
from itertools import count

import numpy as np
import pytest

from planted import planted_collection, without_features
from sugartag.collection.store import save_collection
from sugartag.costs.rates import Rates, measure_rates
from sugartag.costs.size import imagined_size, size_of
from sugartag.costs.system import available_memory, free_disk
from sugartag.costs.timing import product_flops, product_times, times_of
from sugartag.engine import LocalEngine


@pytest.fixture(scope="module")
def rates() -> Rates:
    return measure_rates()


def test_rates_are_positive_and_json(rates):
    told = json.loads(json.dumps(rates.as_json()))

    assert Rates(**told).cores == rates.cores
    assert all(value > 0 for key, value in told.items() if key != "read_is_cached")


def test_single_precision_is_not_slower_than_double(rates):
    assert rates.product32_one > 0.8 * rates.product64_one


def test_the_first_repetition_is_not_counted_and_one_is_always():
    now, done = 0.0, []

    def work() -> None:
        nonlocal now
        now += 1.0 if done else 100.0
        done.append(now)

    assert times_of(work, seconds=3.0, clock=lambda: now) == [1.0, 1.0, 1.0]
    assert times_of(work, seconds=0.0, clock=lambda: now) == [1.0]


def test_products_are_timed_by_the_clock_that_is_given():
    ticks = count()

    times = product_times((3, 4, 5), np.float64, seconds=8.0, clock=lambda: float(next(ticks)))

    assert set(times) == {1.0}
    assert product_flops((3, 4, 5)) == 2 * 3 * 4 * 5


def test_a_file_is_read_and_its_rate_told(tmp_path):
    file = tmp_path / "some.npy"
    np.save(file, np.zeros(1 << 20))

    assert measure_rates(file).read > 1e6


def test_the_size_of_a_collection_is_read_off_it():
    collection = planted_collection()

    size = size_of(collection)

    assert (size.images, size.tags) == (collection.n_images, collection.n_tags)
    assert size.given == sum(shard.tags.nnz for shard in collection.shards)
    assert size.features == collection.n_features
    assert 1 <= size.used_tags <= size.tags
    assert size.memberships == collection.groups.nnz


def test_a_collection_without_features_has_none():
    assert size_of(without_features(planted_collection())).features == 0


def test_the_disk_of_a_collection_is_about_what_its_files_have(tmp_path):
    collection = planted_collection()
    save_collection(collection, tmp_path / "photos")

    files = sum(file.stat().st_size for file in tmp_path.rglob("*.npy"))

    assert size_of(collection).disk == pytest.approx(files, rel=0.4)


def test_a_collection_that_is_not_there_is_as_collections_are():
    size = imagined_size(1_000_000, 5_000)

    assert size.tags_each == pytest.approx(6.0)
    assert 0 < size.owners < size.images
    assert size.used_tags == 5_000


def test_smaller_blocks_give_the_same_rows_in_more_blocks():
    collection = planted_collection()
    cut = replace(collection, rows_at_once=100)

    sizes = LocalEngine().map(lambda block: block.stop - block.start, cut.blocks())

    assert list(sizes) == [100] * (collection.n_images // 100)
    assert len(collection.blocks()) == 1
    assert len(cut.blocks(300)) == 2


def test_memory_and_disk_that_are_left_are_told(tmp_path):
    memory = available_memory()

    assert memory is None or memory > 1 << 20
    assert free_disk(tmp_path / "not" / "there" / "yet") > 0
