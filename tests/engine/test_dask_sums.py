"""Sums on a real cluster: the workers add, in an order that only the blocks decide."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine_contract import InOrder, Summed, sum_and_leave_a_mark, sum_of_rows
from sugartag.engine import DaskEngine, LocalEngine, row_blocks
from sugartag.engine import dask as dask_engine
from sugartag.engine.checkpoint import ResumableEngine

BLOCKS = row_blocks(410, 2)
"""Of three spans of 64 blocks, a group of eight, and one of five."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[DaskEngine]:
    with DaskEngine.local_cluster(2) as engine:
        yield engine


@pytest.fixture
def values(rng) -> np.ndarray:
    """Rows whose sum depends on the order of additions."""
    return rng.normal(size=(410, 5)) * 10.0 ** rng.integers(-8, 8, (410, 5))


@pytest.fixture
def received(cluster, monkeypatch) -> list[int]:
    """The bytes of each result that the client has asked for."""
    sizes = []
    gather = cluster.client._gather

    async def gathered(futures: Any, *others: Any, **named: Any) -> Any:
        found = await gather(futures, *others, **named)
        sizes.extend(result.nbytes for result in found)
        return found

    monkeypatch.setattr(cluster.client, "_gather", gathered)
    return sizes


def in_order(results: list[np.ndarray]) -> np.ndarray:
    """Return the sum as it is defined: of eights, of eights of these, and of those so far."""

    def of_eights(parts: list[np.ndarray]) -> list[np.ndarray]:
        return [reduce(add, parts[start : start + 8]) for start in range(0, len(parts), 8)]

    return reduce(add, of_eights(of_eights(results)))


def soon(holds: Callable[[], bool]) -> bool:
    patience = time.monotonic() + 10
    while not holds() and time.monotonic() < patience:
        time.sleep(0.02)
    return holds()


def marks(folder: Path) -> list[int]:
    return sorted(int(path.name.partition("-")[0]) for path in folder.iterdir())


def kill_whoever_holds(cluster: DaskEngine, future: Any) -> None:
    (addresses,) = cluster.client.who_has([future]).values()
    processes = cluster.client.run(os.getpid)
    for address in addresses:
        os.kill(processes[address], signal.SIGKILL)


@pytest.mark.parametrize("n_blocks", [1, 9, 65, 205])
@pytest.mark.parametrize("groups_per_thread", [0, 1000], ids=["by groups", "block by block"])
def test_the_order_of_additions_is_that_of_the_blocks_alone(
    cluster, values, n_blocks, groups_per_thread, monkeypatch
):
    monkeypatch.setattr(dask_engine, "GROUPS_PER_THREAD", groups_per_thread)
    blocks = BLOCKS[:n_blocks]

    found = cluster.sum(sum_of_rows, blocks, values)

    results = [sum_of_rows(block, values) for block in blocks]
    np.testing.assert_array_equal(found, in_order(results))
    here = LocalEngine().sum(sum_of_rows, blocks, values)
    np.testing.assert_allclose(found, here, rtol=1e-9, atol=1e-6)


def test_of_a_sum_only_the_total_comes_here(cluster, values, received, tmp_path):
    wanted = cluster.sum(sum_of_rows, BLOCKS, values)
    assert received == [wanted.nbytes]

    kept = ResumableEngine(cluster, tmp_path, 30.0).sum(sum_of_rows, BLOCKS, values)

    assert received == [wanted.nbytes] * 2
    np.testing.assert_array_equal(kept, wanted)


def test_a_total_that_takes_sums_gets_an_eighth_of_the_results(cluster, values, received):
    total = cluster.fold(sum_of_rows, BLOCKS, Summed(), values)

    assert total.times == len(received) == 26
    np.testing.assert_allclose(total.rows, values.sum(axis=0), rtol=1e-9, atol=1e-6)


def test_a_total_that_does_not_gets_each(cluster):
    total = cluster.fold(lambda block: block.start, BLOCKS[:70], InOrder())

    assert total.taken[1:] == [block.start for block in BLOCKS[:70]]


@pytest.mark.parametrize("verb", ["sums_so_far", "pieces"])
def test_blocks_are_begun_only_a_few_ahead_of_who_takes_their_sums(cluster, verb, tmp_path):
    values, start = np.ones((2000, 5)), {"sums_so_far": None, "pieces": Summed()}[verb]
    blocks = row_blocks(2000, 2)

    found = getattr(cluster, verb)(sum_and_leave_a_mark, blocks, start, tmp_path, values)
    next(found)

    first = {"sums_so_far": 64, "pieces": 8}[verb]
    assert soon(lambda: len(marks(tmp_path)) > first)
    time.sleep(0.3)
    assert len(marks(tmp_path)) <= first + 2 * 2 * 8
    found.close()


def test_what_was_added_does_not_stay_on_the_workers(cluster, values):
    def is_little() -> bool:
        # Function and values, the sum, the last group added, and those that run ahead.
        return sum(map(bool, cluster.client.who_has().values())) <= 2 + 1 + 1 + 4

    for _ in cluster.sums_so_far(sum_of_rows, BLOCKS, None, values):
        assert soon(is_little)


def test_a_worker_that_is_lost_with_the_sum_so_far_changes_nothing(cluster, values, tmp_path):
    undisturbed = cluster.sum(sum_of_rows, BLOCKS, values)

    sums = cluster.sums_so_far(sum_and_leave_a_mark, BLOCKS, None, tmp_path, values)
    next(sums)
    so_far = next(sums)
    kill_whoever_holds(cluster, so_far._future)
    (*_, whole) = sums

    np.testing.assert_array_equal(whole.value(), undisturbed)
    begun = marks(tmp_path)
    assert set(begun) == {block.start for block in BLOCKS}
    assert begun.count(0) >= 2


def test_what_was_asked_for_is_not_made_again(cluster, values, tmp_path):
    undisturbed = cluster.sum(sum_of_rows, BLOCKS, values)

    sums = cluster.sums_so_far(sum_and_leave_a_mark, BLOCKS, None, tmp_path, values)
    next(sums).value()
    so_far = next(sums)
    kill_whoever_holds(cluster, so_far._future)
    (*_, whole) = sums

    np.testing.assert_array_equal(whole.value(), undisturbed)
    begun = marks(tmp_path)
    assert [begun.count(block.start) for block in BLOCKS[:64]] == [1] * 64
    assert len(begun) > len(BLOCKS)


@pytest.mark.parametrize("spans", [2, 4])
@pytest.mark.parametrize("too_large", [False, True])
def test_a_sum_begun_again_with_what_was_asked_for_ends_with_the_same_bits(
    cluster, values, spans, too_large, monkeypatch
):
    if too_large:
        monkeypatch.setattr(DaskEngine, "_total_sent", lambda self, total: None)
    undisturbed = cluster.sum(sum_of_rows, BLOCKS, values)

    sums = cluster.sums_so_far(sum_of_rows, BLOCKS, None, values)
    so_far = [(found.blocks, found.value()) for found in sums][spans - 1]
    rest = list(cluster.sums_so_far(sum_of_rows, BLOCKS[so_far[0] :], so_far[1], values))

    assert so_far[0] == min(64 * spans, len(BLOCKS))
    found = rest[-1].value() if rest else so_far[1]
    np.testing.assert_array_equal(found, undisturbed)


def test_the_process_that_leads_has_room_in_files_that_workers_need_not_see(cluster, tmp_path):
    engine = DaskEngine(cluster.client, scratch=tmp_path)
    values = engine.room((205, 1 << 12), np.float64)
    values[:] = 3.0

    found = engine.sum(sum_of_rows, row_blocks(205, 50), values)

    assert isinstance(values, np.memmap)
    assert list(tmp_path.iterdir()) == []
    np.testing.assert_array_equal(found, np.full(1 << 12, 615.0))
    assert not isinstance(cluster.room(1 << 20, np.float64), np.memmap)


def test_a_scratch_array_that_was_changed_is_sent_anew(cluster, tmp_path):
    engine = DaskEngine(cluster.client, scratch=tmp_path)
    values = engine.room((4, 1 << 20), np.float32)

    before = engine.sum(sum_of_rows, row_blocks(4, 1), values)
    values[2] = 1.0
    after = engine.sum(sum_of_rows, row_blocks(4, 1), values)

    assert not before.any()
    assert after.all()
