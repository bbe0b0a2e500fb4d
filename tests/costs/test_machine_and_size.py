"""What is measured of the machine, and what is read off a collection."""

import json
from dataclasses import replace
from itertools import count

import pytest

from planted import planted_collection, without_features
from sugartag.collection.store import save_collection
from sugartag.costs import machine
from sugartag.costs.machine import Rates, measure_rates, product_flops, product_times
from sugartag.costs.size import Size, imagined_size, size_of
from sugartag.engine import LocalEngine
from sugartag.errors import SettingsError


def test_the_speed_is_that_of_the_fastest_product():
    ticks = count(0.0, 0.05)

    rates = measure_rates(clock=lambda: next(ticks))

    assert rates.product == pytest.approx(product_flops(machine.SIZES) / 0.05)
    assert rates.cores >= 1
    assert Rates(**json.loads(json.dumps(rates.as_json()))).cores == rates.cores


def test_products_are_repeated_for_some_time_and_at_least_once():
    ticks = count()

    times = product_times((3, 4, 5), seconds=8.0, clock=lambda: float(next(ticks)))

    assert times == [1.0, 1.0, 1.0]
    assert len(product_times((3, 4, 5), seconds=0.0, clock=lambda: float(next(ticks)))) == 1
    assert product_flops((3, 4, 5)) == 2 * 3 * 4 * 5


def test_the_memory_that_is_free_is_read(tmp_path, monkeypatch):
    file = tmp_path / "meminfo"
    monkeypatch.setattr(machine, "_MEMINFO", file)

    assert machine.available_memory() is None
    file.write_text("MemTotal: 9 kB\nMemAvailable:   2 kB\n", encoding="ascii")
    assert machine.available_memory() == 2048


def test_the_disk_is_that_of_the_nearest_folder_that_exists(tmp_path):
    assert machine.free_disk(tmp_path / "not" / "yet") == pytest.approx(
        machine.free_disk(tmp_path), rel=0.1
    )


def test_the_size_of_a_collection_is_read_off_it():
    collection = planted_collection()

    size = size_of(collection)

    assert (size.images, size.tags) == (collection.n_images, collection.n_tags)
    assert size.given == sum(shard.tags.nnz for shard in collection.shards)
    assert (size.features, size.owners) == (collection.n_features, collection.n_owners)
    assert size_of(without_features(collection)).features == 0


def test_the_disk_of_a_collection_is_about_what_its_files_have(tmp_path):
    collection = planted_collection()
    save_collection(collection, tmp_path / "photos")

    files = sum(file.stat().st_size for file in tmp_path.rglob("*.npy"))

    assert size_of(collection).disk == pytest.approx(files, rel=0.4)


def test_an_imagined_collection_has_typical_proportions():
    size = imagined_size(1_000_000, 5_000)

    assert size.given == 6_000_000
    assert (size.owners, size.features) == (50_000, 512)
    assert imagined_size(3, 5).owners == 1


@pytest.mark.parametrize(
    ("field", "value"), [("images", 0), ("tags", 0), ("features", -1), ("owners", -1)]
)
def test_an_impossible_size_is_named(field, value):
    with pytest.raises(SettingsError, match=field):
        replace(Size(10, 10, 10, 10, 10), **{field: value})


def test_smaller_blocks_give_the_same_rows_in_more_blocks():
    collection = planted_collection()
    cut = replace(collection, rows_at_once=100)

    sizes = LocalEngine().map(lambda block: block.stop - block.start, cut.blocks())

    assert list(sizes) == [100] * (collection.n_images // 100)
    assert len(collection.blocks()) == 1
    assert len(cut.blocks(300)) == 2
