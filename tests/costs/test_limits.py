"""A limit of memory is kept by fewer threads, or refused with advice that helps."""

import re
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planted import planted_collection
from sugartag.cli.amounts import memory_amount
from sugartag.collection.align import Catalogue
from sugartag.costs.calibration import Costs, PowerLaw
from sugartag.costs.estimate import Plan, Update
from sugartag.costs.limits import (
    LONG,
    alternatives,
    in_bytes,
    in_bytes_above,
    in_seconds,
    memory_advice,
    needed,
    time_advice,
    workers_that_fit,
    workers_within,
)
from sugartag.costs.size import imagined_size, size_of
from sugartag.errors import CapacityError
from sugartag.methods.registry import make_method

GIB = 1 << 30
LAW = PowerLaw(seconds=100.0, images=1.0, tags=1.0, features=0.0)
BLOCKS = Costs(LAW, LAW, 0.9, 1e8, {"images": 1.0, "block": 1.0, "sums": 1.0}, {}, 0.0)
"""Of a method that needs memory for its blocks, and little else."""
ARRAYS = replace(BLOCKS, memory={"block": 0.1, "scores": 1.0, "cross": 1.0, "gram": 1.0})
"""Of one that needs it for its regression."""


def in_blocks(**how: object) -> Plan:
    return Plan(make_method("linear-probe"), imagined_size(100_000, 5_000), BLOCKS, **how)


def shipped(name: str, images: int = 100_000, tags: int = 20_000, **how: object) -> Plan:
    return Plan.of(make_method(name), imagined_size(images, tags), **how)


def test_all_workers_stay_where_everything_fits():
    assert workers_within(shipped("sugar-plus", workers=8), 1_000 * GIB) == 8


@pytest.mark.parametrize("workers", [7, 3, 1])
def test_no_more_workers_are_given_up_than_the_limit_asks_for(workers):
    job = in_blocks(workers=8)

    assert workers_within(job, needed(replace(job, workers=workers))) == workers
    assert workers_within(job, needed(replace(job, workers=workers + 1)) - 1) == workers


def test_processes_are_not_given_up_for_a_limit_of_each():
    job = in_blocks(workers=8, apart=True)

    assert workers_within(job, needed(job)) == 8
    assert workers_that_fit(job, needed(job) - 1) is None


@given(st.floats(1, 1e15))
def test_the_amount_advised_is_enough_to_the_byte(count):
    assert memory_amount(in_bytes_above(count)) >= int(count)


def test_a_limit_leaves_room_for_the_error_of_the_estimate():
    assert needed(in_blocks()) > 1.2 * in_blocks().memory()


def test_what_cannot_fit_is_refused_with_what_is_needed():
    with pytest.raises(CapacityError, match=r"sugar-plus needs about .* may use 50 MiB; .*allow "):
        workers_within(shipped("sugar-plus"), 50 << 20)


def test_the_setting_advised_keeps_the_limit():
    job = Plan(make_method("sugar-plus"), imagined_size(100_000, 20_000), ARRAYS)
    limit = 0.6 * needed(job)

    predictors = int(re.search(r"max_predictors=(\d+)", memory_advice(job, limit))[1])
    method = replace(job.method, max_predictors=predictors)

    assert workers_that_fit(replace(job, method=method), limit) is not None


def test_a_tensor_that_is_too_large_is_made_smaller():
    job = shipped("sugar-tc")

    assert memory_advice(job, 0.7 * needed(job)).startswith("try --set ")


def test_nothing_is_advised_that_takes_as_much():
    for name in ("sugar-plus", "sugar-tc"):
        job = shipped(name, tags=300)
        assert all(other.memory() < job.memory() for _, other in alternatives(job))


def test_where_nothing_helps_the_advice_is_how_much_to_allow():
    assert memory_advice(shipped("sugar-plus"), 1 << 20).startswith("allow ")


def test_an_update_needs_more_than_a_fit_and_keeps_its_settings():
    fit = shipped("sugar-plus", workers=2)
    update = Update(**vars(fit), added=10, known=90)

    assert update.memory() == pytest.approx(fit.memory() + fit.model_bytes)
    assert list(alternatives(update)) == []
    with pytest.raises(CapacityError, match=r"an update .* 10 images and a model of 90, and may "):
        workers_within(update, 1 << 20)


def test_images_that_a_model_has_are_counted_once():
    photos = planted_collection()
    known = Catalogue(("new", *photos.tag_names[:5]), photos.owner_names, photos.ids)
    model = SimpleNamespace(catalogue=known, method=make_method("sugar-plus"))

    again = Update.to(model, photos)

    assert (again.added, again.known) == (600, 600)
    assert again.size == replace(size_of(photos), tags=photos.n_tags + 1)


def test_a_long_fit_is_compared_with_one_of_more_workers():
    job = replace(in_blocks(), size=imagined_size(10**8, 5_000))

    assert job.seconds > LONG
    assert re.search(r"--engine dask with 1024 workers takes \d+ days", time_advice(job))
    assert time_advice(replace(job, workers=1_024, apart=True)) == "take fewer images"


@pytest.mark.parametrize(
    ("count", "words"),
    [(512, "512 B"), (4 << 30, "4 GiB"), (1536 << 20, "1.5 GiB"), (3 << 50, "3 PiB")],
)
def test_bytes_are_written_in_powers_of_1024(count, words):
    assert in_bytes(count) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.5, "0.5 s"),
        (90, "90 s"),
        (600, "10 min"),
        (3 * 3600, "3 h"),
        (10 * 86400, "10 days"),
        (4e8, "13 years"),
    ],
)
def test_times_are_written_in_the_unit_that_suits_them(seconds, words):
    assert in_seconds(seconds) == words
