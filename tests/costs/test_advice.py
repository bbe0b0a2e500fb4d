"""What does not fit is refused with advice that helps."""

import re
from dataclasses import replace

import pytest

from sugartag.costs.advice import Plan, in_seconds, time_advice
from sugartag.costs.calibration import Calibration
from sugartag.costs.estimate import USUAL_ROWS
from sugartag.costs.limits import FEWEST_ROWS, in_bytes, memory_advice, rows_within
from sugartag.costs.size import imagined_size
from sugartag.errors import CapacityError
from sugartag.methods.registry import make_method

GIB = 1 << 30


def plan(
    name: str = "sugar-plus", images: int = 100_000, tags: int = 5_000, **more: object
) -> Plan:
    return replace(
        Plan(make_method(name), imagined_size(images, tags), Calibration()), workers=2, **more
    )


def test_blocks_stay_as_they_are_where_everything_fits():
    assert rows_within(plan(), 1_000 * GIB) == USUAL_ROWS


def test_blocks_are_made_smaller_where_that_is_enough():
    job = plan("linear-probe", tags=500)
    limit = (job.needed(USUAL_ROWS) + job.needed(FEWEST_ROWS)) / 2

    rows = rows_within(job, limit)

    assert FEWEST_ROWS <= rows < USUAL_ROWS
    assert job.needed(rows) <= limit


def test_what_cannot_fit_is_refused_with_what_is_needed():
    with pytest.raises(CapacityError, match=r"sugar-plus needs about .* may use 200 MiB; "):
        rows_within(plan(), 200 << 20)


def test_the_advice_for_memory_keeps_the_limit():
    job = plan(tags=20_000)
    limit = job.needed(FEWEST_ROWS) * 0.6

    advice = memory_advice(job, limit)
    predictors = int(re.search(r"max_predictors=(\d+)", advice)[1])
    method = replace(job.method, max_predictors=predictors)

    assert replace(job, method=method).rows_within(limit) is not None


def test_where_nothing_helps_the_advice_is_how_much_to_allow():
    assert memory_advice(plan(), 1 << 20).startswith("allow ")


def test_a_tensor_that_is_too_large_is_made_smaller():
    job = plan("sugar-tc", tags=20_000)

    advice = memory_advice(job, job.needed(FEWEST_ROWS) * 0.7)

    assert "--set" in advice or "--method sugar-plus" in advice


def test_a_long_job_is_told_how_long_it_is_with_more_workers():
    assert re.search(r"--engine dask with \d+ workers \(\d", time_advice(plan(images=10**9)))


@pytest.mark.parametrize(
    ("count", "told"),
    [(512, "512 B"), (4 << 30, "4 GiB"), (1536 << 20, "1.5 GiB"), (3 << 50, "3 PiB")],
)
def test_bytes_are_told_in_powers_of_1024(count, told):
    assert in_bytes(count) == told


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0.5, "0.5 s"), (90, "90 s"), (600, "10 min"), (3 * 3600, "3 h"), (10 * 86400, "10 days")],
)
def test_times_are_told_as_people_do(seconds, told):
    assert in_seconds(seconds) == told
