import os
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_info, threadpool_limits

from engine_contract import EngineContract
from sugartag.engine import LocalEngine, row_blocks
from sugartag.engine.base import name_of_pass
from sugartag.errors import SettingsError

BLOCKS = row_blocks(100, 7)
SLOWEST_FIRST = {
    block.start: 0.02 if number % 3 == 0 else 0.0 for number, block in enumerate(BLOCKS)
}


def blas_threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def start_after_a_while(block: slice) -> int:
    time.sleep(SLOWEST_FIRST[block.start])
    return block.start


def sum_of_rows(block: slice, values: np.ndarray) -> np.ndarray:
    time.sleep(SLOWEST_FIRST[block.start] / 4)
    return values[block].sum(axis=0)


@pytest.fixture(params=[1, 2, 3])
def engine(request) -> LocalEngine:
    return LocalEngine(workers=request.param)


class TestLocalEngine(EngineContract):
    """What every engine promises."""


@settings(deadline=None)
@given(st.integers(0, 3000), st.integers(1, 400))
def test_row_blocks_cover_each_row_once_and_in_order(n_rows, rows_per_block):
    blocks = row_blocks(n_rows, rows_per_block)

    assert [row for block in blocks for row in range(block.start, block.stop)] == [*range(n_rows)]
    assert all(block.stop - block.start == rows_per_block for block in blocks[:-1])
    assert all(0 < block.stop - block.start <= rows_per_block for block in blocks)


def test_blocks_of_no_rows_are_refused():
    with pytest.raises(ValueError, match="at least 1, not 0"):
        row_blocks(10, 0)


@pytest.mark.parametrize("workers", [1, 2, 3, 20])
def test_results_come_in_block_order_whoever_is_done_first(workers):
    found = LocalEngine(workers=workers).map(start_after_a_while, BLOCKS)

    assert list(found) == [block.start for block in BLOCKS]


def test_several_workers_work_at_the_same_time():
    together = threading.Barrier(3, timeout=5)

    def meet(block: slice) -> int:
        return together.wait()

    found = LocalEngine(workers=3).map(meet, row_blocks(3, 1))

    assert sorted(found) == [0, 1, 2]


def test_results_are_made_only_a_few_ahead_of_who_takes_them():
    begun = []
    found = LocalEngine(workers=2).map(lambda block: begun.append(block), row_blocks(1000, 1))

    next(found)
    time.sleep(0.05)

    assert len(begun) <= 4
    found.close()


@pytest.mark.parametrize("workers", [2, 3, 7])
def test_a_sum_is_the_same_to_the_last_bit_whatever_the_workers(workers, rng):
    values = rng.normal(size=(100, 5)) * 10.0 ** rng.integers(-8, 8, (100, 5))

    alone = LocalEngine().sum(sum_of_rows, BLOCKS, values)
    together = LocalEngine(workers=workers).sum(sum_of_rows, BLOCKS, values)

    np.testing.assert_array_equal(together, alone)


def test_a_sum_adds_in_block_order(rng):
    values = 10.0 ** rng.uniform(-8, 8, (100, 5))
    expected = values[BLOCKS[0]].sum(axis=0)
    for block in BLOCKS[1:]:
        expected = expected + values[block].sum(axis=0)

    np.testing.assert_array_equal(LocalEngine(workers=3).sum(sum_of_rows, BLOCKS, values), expected)


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_an_error_in_a_block_surfaces_and_stops_the_pass(workers):
    begun = []

    def fail_at_ten(block: slice) -> int:
        begun.append(block.start)
        if block.start == 10:
            raise KeyError("the tenth")
        return block.start

    taken = []
    with pytest.raises(KeyError, match="the tenth"):
        taken.extend(LocalEngine(workers=workers).map(fail_at_ten, row_blocks(1000, 1)))

    assert max(begun) <= 10 + 2 * workers


@pytest.mark.parametrize("workers", [1, 2])
def test_blas_has_its_threads_back_after_an_error(workers):
    def fail(block: slice) -> int:
        raise KeyError("no")

    with threadpool_limits(2, user_api="blas"):
        with pytest.raises(KeyError):
            list(LocalEngine(workers=workers, blas_threads=1).map(fail, BLOCKS))
        assert blas_threads() == {2}


@pytest.mark.parametrize(
    ("engine", "inside"),
    [
        (LocalEngine(workers=2), {1}),
        (LocalEngine(workers=2, blas_threads=2), {1}),
        (LocalEngine(blas_threads=1), {1}),
        (LocalEngine(), {1}),
        (LocalEngine(blas_threads=2), {2}),
    ],
    ids=["workers", "workers-whatever-asked", "one-thread", "nothing-asked", "two-threads"],
)
def test_blas_threads_are_held_inside_blocks_and_given_back(engine, inside):
    with threadpool_limits(2, user_api="blas"):
        if blas_threads() != {2}:
            pytest.skip("this BLAS cannot be given two threads")
        seen = list(engine.map(lambda block: blas_threads(), BLOCKS))
        afterwards = blas_threads()

    assert seen == [inside] * len(BLOCKS)
    assert afterwards == {2}


def test_blas_has_its_threads_back_when_nobody_takes_the_rest():
    with threadpool_limits(2, user_api="blas"):
        found = LocalEngine(workers=2).map(start_after_a_while, BLOCKS)
        next(found)
        found.close()

        assert blas_threads() == {2}


@pytest.mark.parametrize("workers", [1, 3])
def test_progress_is_reported_at_the_start_and_after_each_block(workers):
    told = []
    engine = LocalEngine(workers=workers, progress=lambda *what: told.append(what))

    list(engine.map(start_after_a_while, BLOCKS))

    done = (0, *(block.stop for block in BLOCKS))
    assert told == [("start after a while", rows, 100) for rows in done]


def test_progress_counts_only_the_rows_of_the_blocks_given():
    told = []
    engine = LocalEngine(progress=lambda what, done, total: told.append((done, total)))

    engine.sum(sum_of_rows, BLOCKS[3:5], np.ones((100, 1)))

    assert told == [(0, 14), (7, 14), (14, 14)]


@pytest.mark.parametrize(
    ("engine", "threads"),
    [
        (LocalEngine(blas_threads=1), 1),
        (LocalEngine(blas_threads=3), 3),
        (LocalEngine(workers=4, blas_threads=2), 4),
        (LocalEngine(), os.cpu_count()),
    ],
)
def test_between_passes_as_many_threads_work_as_within(engine, threads):
    assert engine.threads == threads


def test_a_pass_is_called_by_its_function_in_words():
    def _count_tags_together() -> None: ...

    assert name_of_pass(_count_tags_together) == "count tags together"


@pytest.mark.parametrize("settings", [{"workers": 0}, {"blas_threads": 0}, {"workers": -2}])
def test_an_engine_without_workers_or_threads_is_refused(settings):
    ((name, value),) = settings.items()

    with pytest.raises(SettingsError, match=f"{name} must be at least 1, not {value}"):
        LocalEngine(**settings)
